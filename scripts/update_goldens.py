#!/usr/bin/env python3
"""Regenerates the expectations of text tests from what the command line prints now; review the result as a diff.

    scripts/update_goldens.py [--tokamak PATH] [FILE or FOLDER]...     (default: tests/text docs/ops.md pages and stubs)

For each line `// RUN: COMMAND | FileCheck [--check-prefix=P] %s` the command is run and the block of P's lines (CHECK by
default) is replaced: `CHECK:` for the first line printed, `CHECK-NEXT:` for those after it, `CHECK-EMPTY:` for empty
ones. docs/ops.md, which lists what can be called, is written whole; other pages are written as by
scripts/pages.py; the stub of the Python ops is copied from the build. The block stays where it was; a file without one gets it at its end. Files whose expectations are more than such
a block (CHECK-DAG, CHECK-NOT, patterns) are written by hand: they are named and left alone, as are those that say
`// GOLDEN: by hand`. Exit code 1: some command failed where it should not, or the other way round.
"""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pages  # noqa: E402  (found beside the script)

ROOT = pathlib.Path(__file__).resolve().parent.parent
WRITTEN = {ROOT / "docs" / "ops.md": ["info", "--ops", "--markdown"]}  # pages that the command line prints
# What the build writes, by its place there.
BUILT = {ROOT / "tests" / "python" / "goldens" / "_ops.pyi": "python/tokamak/_ops.pyi"}
SUFFIXES = {".fusion", ".host_ir", ".kernel", ".test"}
RUN = re.compile(r"^(?P<comment>\s*(?://|#)\s*)RUN:\s*(?P<command>.*)$")
FILECHECK = re.compile(r"^(?P<command>.*?)\|\s*FileCheck\b(?P<arguments>.*)$")


class ByHand(Exception):
    """The file's expectations are not a block that can be regenerated."""


class Failed(Exception):
    """A RUN line's command did not end as the line says."""


def run_lines(lines):
    """(comment, command) of each RUN line, with continuation lines joined."""
    result, open_line = [], None
    for line in lines:
        match = RUN.match(line)
        if not match:
            continue
        command = match["command"].rstrip()
        if open_line is not None:
            command = open_line + " " + command.lstrip()
        open_line = command[:-1].rstrip() if command.endswith("\\") else None
        if open_line is None:
            result.append((match["comment"], command))
    return result


def run(command, path, tokamak):
    """What `command` prints, run in the shell with lit's substitutions made."""
    negated = command.startswith("not ")
    command = command.removeprefix("not ")
    exits = f"{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'tests' / 'machinery' / 'expect_exit.py'))}"
    for name, value in (("%tokamak", shlex.quote(tokamak)), ("%root", shlex.quote(str(ROOT))), ("%exits", exits), ("%python", shlex.quote(sys.executable)),
                        ("%s", shlex.quote(str(path)))):
        command = re.sub(re.escape(name) + r"\b", lambda _, value=value: value, command)
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    if (done.returncode != 0) != negated:
        raise Failed(f"exit code {done.returncode}: {command}\n{done.stderr}")
    return done.stdout


def expectation(output, comment, prefix, strict, path):
    """The check lines for `output`."""
    lines = output.splitlines()
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    gap = "" if strict else " "
    result = []
    for number, line in enumerate(lines):
        if not line.strip():
            result.append(f"{comment}{prefix}-EMPTY:")
            continue
        escaped = re.sub(r"\{\{|\[\[", lambda m: "{{" + re.escape(m[0]).replace("{", "[{]").replace("\\[{]", "[{]") + "}}", line)
        escaped = escaped.replace(str(path), "{{.*}}" + path.name)
        result.append(f"{comment}{prefix}{'-NEXT' if number else ''}:{gap}{escaped if strict else escaped.rstrip()}")
    return result


def replace_block(lines, block, prefix, path):
    """`lines` with the block of `prefix` lines replaced by `block`."""
    own = re.compile(rf"^\s*(?://|#)\s*{re.escape(prefix)}(?P<kind>-[A-Z]+(?:\{{\S*\}})?)?:")
    places = [i for i, line in enumerate(lines) if own.match(line)]
    if any(own.match(lines[i])["kind"] not in (None, "-NEXT", "-EMPTY") for i in places):
        raise ByHand(f"{path}: {prefix} has lines that are neither {prefix}: nor {prefix}-NEXT:")
    if sum(own.match(lines[i])["kind"] is None for i in places) > 1:
        raise ByHand(f"{path}: {prefix}: stands more than once")
    if not places:
        gap = [""] if lines and lines[-1].strip() else []
        return lines + gap + block
    kept = [line for i, line in enumerate(lines) if i not in set(places)]
    return kept[:places[0]] + block + kept[places[0]:]


def update(path, tokamak):
    """Rewrites one file; returns whether it changed."""
    if path in pages.ALL:
        return bool(pages.update(path, argparse.Namespace(tokamak=pathlib.Path(tokamak), programs=pages.PROGRAMS, check=False)))
    before = path.read_text()
    if path in WRITTEN:
        after = subprocess.run([tokamak, *WRITTEN[path]], capture_output=True, text=True, check=True).stdout
        path.write_text(after)
        return after != before
    if path in BUILT:
        built = pathlib.Path(tokamak).resolve().parent.parent / BUILT[path]
        if not built.exists():
            raise ByHand(f"{path}: the Python package is not built")
        after = built.read_text()
        path.write_text(after)
        return after != before
    lines = before.splitlines()
    if any(re.match(r"^\s*(//|#)\s*GOLDEN: by hand", line) for line in lines):
        raise ByHand(f"{path}: says so")
    for comment, command in run_lines(lines):
        match = FILECHECK.match(command)
        if not match:
            continue
        arguments = shlex.split(match["arguments"])
        if "%s" not in arguments:
            continue  # expectations of another file
        prefixes = [a.split("=", 1)[1] for a in arguments if re.match(r"--?check-prefix(es)?=", a)] or ["CHECK"]
        if len(prefixes) > 1 or "," in prefixes[0]:
            raise ByHand(f"{path}: one RUN line checks several prefixes")
        strict = any(a.lstrip("-") == "strict-whitespace" for a in arguments)
        block = expectation(run(match["command"].strip(), path, tokamak), comment, prefixes[0], strict, path)
        lines = replace_block(lines, block, prefixes[0], path)
    after = "\n".join(lines) + "\n"
    if after != before:
        path.write_text(after)
    return after != before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokamak", default=str(ROOT / "build" / "release" / "bin" / "tokamak"))
    parser.add_argument("paths", nargs="*", type=pathlib.Path, default=[ROOT / "tests" / "text", *WRITTEN, *pages.ALL, *BUILT])
    arguments = parser.parse_args()
    files = []
    for path in arguments.paths:
        files += sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES) if path.is_dir() else [path]
    failures = 0
    for path in files:
        try:
            print(f"{'updated' if update(path.resolve(), arguments.tokamak) else 'unchanged'}: {path}")
        except ByHand as reason:
            print(f"left alone: {reason}")
        except (Failed, pages.Wrong) as reason:
            print(f"failed: {path}: {reason}", file=sys.stderr)
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
