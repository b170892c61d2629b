"""Runs the programs that stand beside a case, in its comments: siblings.py CASE WORK_FILE [--seeds N] COMMAND...

    // SIBLING rank 3, an axis more        a name; `exits 3` behind a colon demands another exit code than 0
    //   fusion f(T0: f32[4]) -> T1 { ... }
    // SAYS check T1: ok                    what the output must hold, in this order

Each runs as COMMAND WORK_FILE, within 20 seconds; with --seeds also the case itself, from seed 0 to N - 1. Prints what
is wrong and exits 1 then.
"""

import re
import subprocess
import sys

LIMIT_S = 20


def siblings_of(text):
    """(name, exit code, program, sentences) of each."""
    found = []
    for line in text.splitlines():
        if line.startswith("// SIBLING "):
            name, _, code = line.removeprefix("// SIBLING ").partition(": exits ")
            found.append((name, int(code or 0), [], []))
        elif line.startswith("// SAYS "):
            found[-1][3].append(line.removeprefix("// SAYS "))
        elif found and line.startswith("//   "):
            found[-1][2].append(line.removeprefix("//   "))
    assert found, "no line begins with '// SIBLING'"
    return found


def complaint(command, file, code, sentences):
    try:
        done = subprocess.run([*command, file], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"it runs for more than {LIMIT_S} s"
    output = done.stdout + done.stderr
    if done.returncode != code:
        return f"exit code {done.returncode} instead of {code}\n{output}"
    pattern = ".*".join(re.escape(sentence) for sentence in sentences)
    if re.search(pattern, output, re.DOTALL):
        return None
    return f"it does not say {sentences}, one after the other\n{output}"


def main():
    case, file, *command = sys.argv[1:]
    seeds = 0
    if command[0] == "--seeds":
        seeds, command = int(command[1]), command[2:]
    with open(case, encoding="utf-8") as text:
        siblings = siblings_of(text.read())
    complaints = []
    for seed in range(seeds):
        wrong = complaint([*command, "--seed", str(seed)], case, 0, [])
        complaints += [f"seed {seed}: {wrong}"] if wrong else []
    for name, code, lines, sentences in siblings:
        with open(file, "w", encoding="utf-8") as program:
            program.write("\n".join(lines) + "\n")
        wrong = complaint(command, file, code, sentences)
        complaints += [f"{name}: {wrong}"] if wrong else []
    print(*complaints, f"{len(siblings)} siblings, {len(complaints)} complaints", sep="\n")
    sys.exit(1 if complaints else 0)


main()
