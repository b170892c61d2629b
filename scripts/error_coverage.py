#!/usr/bin/env python3
"""Which error messages the tests reached: TK_REQUIRE and TK_RAISE sites of src/ against a run's list of raised ones.

    scripts/error_coverage.py SITES [--root FOLDER]

SITES is the file that TOKAMAK_ERROR_SITES named during the tests: one `file:line` per raised error. A site is every line
its macro spans, because compilers differ in which of them they call __LINE__ (gcc 12: the first, clang 19: the last).
Internal errors (TK_CHECK, TK_RAISE(Internal, ...)) are broken invariants of ours and are not expected to be reached.

tests/machinery/unreached_errors.txt lists the sites that no test reaches, one per line: `file | start of the message |
reason`. Exit code 1: a site is neither reached nor listed, or a line of the list fits no site.
"""
import argparse
import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "machinery"))
import cpp_source  # noqa: E402

ALLOW_LIST = "tests/machinery/unreached_errors.txt"


def sites_of(root):
    """Every expected site: (file, first line, last line, message)."""
    result = []
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".cpp", ".h"):
            continue
        for call in cpp_source.macro_calls(path.read_text(), ("TK_REQUIRE", "TK_RAISE")):
            code = call.arguments[1 if call.name == "TK_REQUIRE" else 0:][:1]
            if code != ["Internal"]:
                result.append((str(path.relative_to(root)), call.first_line, call.last_line, call.message))
    return result


def reached_lines(path):
    """file -> lines at which an error was raised."""
    result = collections.defaultdict(set)
    for entry in set(path.read_text().splitlines()) if path.exists() else ():
        file, _, line = entry.rpartition(":")
        match = re.search(r"(?:^|/)(src/.*)$", file)
        if match and line.isdigit():
            result[match[1]].add(int(line))
    return result


def allowed_sites(path):
    """The allow-list's (file, message start, line number)."""
    result = []
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else (), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(" | ")]
        if len(parts) != 3 or not all(parts):
            sys.exit(f"{path}:{number}: expected `file | start of the message | reason`, got: {line}")
        result.append((parts[0], parts[1], number))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()

    sites = sites_of(arguments.root)
    reached = reached_lines(arguments.sites)
    allowed = allowed_sites(arguments.root / ALLOW_LIST)
    unreached = [s for s in sites if not any(line in reached[s[0]] for line in range(s[1], s[2] + 1))]
    missing = [s for s in unreached if not any(s[0] == a[0] and s[3].startswith(a[1]) for a in allowed)]
    stale = [a for a in allowed if not any(s[0] == a[0] and s[3].startswith(a[1]) for s in sites)]

    for file, line, _, message in missing:
        print(f"{file}:{line}: no test reaches this error: {message}")
    for file, message, number in stale:
        print(f"{ALLOW_LIST}:{number}: fits no error in the source: {file} | {message}")
    print(f"error messages: {len(sites) - len(unreached)} of {len(sites)} reached, "
          f"{len(unreached) - len(missing)} listed as unreachable, {len(missing)} missing")
    return 1 if missing or stale else 0


if __name__ == "__main__":
    sys.exit(main())
