#!/usr/bin/env python3
"""Whether sources that are compiled with -O3 leave their loops alone: optimisations_off.py BUILD COMPILER   (CMake's id: GNU or Clang)

Of a release build: reads BUILD/compile_commands.json and prints each source that is compiled with -O3 and lacks one of the options that turn
off vectorisers, peeling and threading of jumps (cmake/written_vectors.cmake). Exit code 1: there is one, or nothing is compiled with -O3.
"""
import json
import pathlib
import re
import shlex
import sys

MUST_BE_OFF = {
    "GNU": ["-fno-tree-loop-vectorize", "-fno-tree-slp-vectorize", "-fno-peel-loops", "-fno-thread-jumps",
            "--param=max-completely-peel-times=0", "--param=max-jump-thread-duplication-stmts=0"],
    "Clang": ["-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops", "-unroll-allow-peeling=false",
              "-jump-threading-threshold=0"],
}


def is_off(option, options):
    """Whether it is among the options, and nothing behind it turns on what it turns off."""
    if option not in options:
        return False
    place = options.index(option)
    return not option.startswith("-fno-") or option.replace("-fno-", "-f", 1) not in options[place:]


def main():
    build, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    optimised = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        options = shlex.split(entry["command"])
        levels = [option for option in options if re.fullmatch(r"-O\w*", option)]
        if levels and levels[-1] in ("-O3", "-Ofast"):
            optimised[entry["file"]] = [off for off in MUST_BE_OFF[compiler] if not is_off(off, options)]
    if not optimised:
        print("nothing is compiled with -O3")
    for file, lacks in sorted(optimised.items()):
        if lacks:
            print(f"{file}: -O3 without {' '.join(lacks)}")
    return 1 if not optimised or any(optimised.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
