#!/usr/bin/env python3
"""A fusion over ranks, for several numbers of them: what it is lowered to, that it is proved, that its values are right.

    over_ranks.py TOKAMAK FILE [RANKS]...

FILE has a fusion behind its RUN and CHECK lines. In it @D is the number of ranks (2, 3, 4 and 8 unless they are given)
and @RANKS their numbers. Printed are the statements of the top level and of loops, for each number of ranks once if
they differ, then what `check` and `run --check` say of each number of ranks, in both forms of loops and op by op.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

PASSES = "propagate-shardings,make-reshardings,lower-to-host,lower-streams,lower-reshardings"
NAMES = {"ALLOCATE": "Allocate", "FOR": "ForLoop", "IF": "IfThenElse", "ELSE:": "Else"}


def name_of(line, following):
    """Of the statement that begins with the line."""
    communication = re.match(r"Communication \d+ \(type=(\w+), team=\([\d ]*\)(?:, root=(.*?), (?:input|reduction|axis)=)?", line)
    if communication:
        kind, root = communication.groups()
        return f"{kind}({root})" if root else kind
    if line.startswith("T") and " = " not in line:
        word = re.match(r"= (-|\w+)?", following).group(1) or "op"
        return "pointwise" if re.match(r"-|T\d", word) else word
    word = line.split()[0]
    return NAMES["ALLOCATE"] if " = ALLOCATE(" in line else NAMES.get(word, word)


def statements_of(text):
    """The statements' names, with bodies of loops in braces."""
    lines = text.split("\n")
    lines = lines[1:lines.index("} // %HostIrContainer")]
    names, depth = [], 1
    for i, line in enumerate(lines):
        body = line.lstrip(" ")
        indentation = len(line) - len(body)
        if indentation // 2 > 3 or not re.match("[A-Z]", body):
            continue  # another line of a statement
        names += ["}"] * (depth - indentation // 2)
        depth = indentation // 2
        names.append(name_of(body, "".join(lines[i + 1:i + 2]).strip()))
        if body.endswith(":"):
            names.append("{")
            depth += 1
    return " ".join(names + ["}"] * (depth - 1))


def fusion_over(file, ranks):
    """The text of the file's fusion over so many ranks."""
    text = pathlib.Path(file).read_text()
    template = text[re.search("^fusion ", text, re.M).start():]
    sized = re.sub(r"@D\*(\d+)", lambda found: str(ranks * int(found.group(1))), template)
    return sized.replace("@RANKS", ", ".join(map(str, range(ranks)))).replace("@D", str(ranks))


def main():
    tokamak, file, *given = sys.argv[1:]
    shown = ""
    said = []

    def call(*arguments):
        done = subprocess.run([tokamak, *arguments], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    for ranks in map(int, given or ("2", "3", "4", "8")):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "ranks.fusion"
            program.write_text(fusion_over(file, ranks))
            code, lowered = call("opt", str(program), "--passes", PASSES)
            if code != 0:
                sys.exit(f"{ranks} ranks: {lowered}")
            statements = statements_of(lowered)
            if statements != shown:
                print(f"{ranks} ranks: {statements}")
            shown = statements
            host = pathlib.Path(folder) / "ranks.host_ir"
            host.write_text(lowered)
            for how in ([], ["--each-rank"]):
                code, output = call("check", str(host), "--ranks", str(ranks), *how)
                if code != 0:
                    sys.exit(f"{ranks} ranks: {output}")
                said.append(f"{ranks} ranks: {output.splitlines()[0]}")
            for how in ([], ["--stream-sync", "in-loop", "--grouping", "single"], ["--repeat", "3"]):
                code, output = call("run", str(program), "--ranks", str(ranks), "--check", *how)
                checks = re.findall("^check .*", output, re.M)
                is_right = code == 0 and checks and all(": ok" in line for line in checks)
                if not is_right:
                    sys.exit(f"{ranks} ranks {how}: {output}")
                said.append(f"{ranks} ranks: values are right")
    print("\n".join(said))


if __name__ == "__main__":
    main()
