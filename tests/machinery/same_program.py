#!/usr/bin/env python3
"""Demands that the first host program in standard input is, byte for byte, what a file holds.

    tokamak run FILE --dump host_ir | same_program.py GOLDEN
"""
import pathlib
import sys


def program_of(text):
    """From the line that opens a host program to the line that closes it."""
    begin = text.find(b"%HostIrContainer {")
    end = text.find(b"\n} // %HostIrContainer\n", begin)
    if begin < 0 or end < 0:
        return b""
    return text[begin:end + len(b"\n} // %HostIrContainer\n")]


def main():
    golden = pathlib.Path(sys.argv[1]).read_bytes()
    printed = program_of(sys.stdin.buffer.read())
    if not printed:
        print("no host program was printed", file=sys.stderr)
        return 1
    if printed == golden:
        return 0
    lines, wanted = printed.splitlines(), golden.splitlines()
    for number, (line, want) in enumerate(zip(lines, wanted), 1):
        if line != want:
            print(f"{sys.argv[1]}:{number}:\n  is     {line.decode()}\n  golden {want.decode()}", file=sys.stderr)
            return 1
    print(f"{sys.argv[1]}: {len(lines)} lines are printed, {len(wanted)} are wanted", file=sys.stderr)
    return 1


sys.exit(main())
