#!/usr/bin/env python3
"""Runs a command and demands its exit code: expect_exit.py 3 tokamak run bad.fusion"""
import subprocess
import sys


def main():
    expected, command = int(sys.argv[1]), sys.argv[2:]
    code = subprocess.run(command, check=False).returncode
    if code != expected:
        sys.stdout.flush()
        print(f"exit code {code} where {expected} was expected: {' '.join(command)}", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
