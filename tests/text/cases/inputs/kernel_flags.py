"""Compiles C files with the very flags that kernels are compiled with, by each C compiler that is here, and runs them:
kernel_flags.py WORK_FOLDER [--all-flags FLAGS] FILE[,MACRO=VALUE...]... -- COMMAND, which compiles one kernel.

A compiler that notes its calls, given by TOKAMAK_CC, tells the flags. With other FLAGS the files may be wrong.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys

COMPILERS = [name for name in ("gcc-12", "gcc-13", "clang-19") if shutil.which(name)] or ["cc"]


def flags_of(compiler, folder, command):
    """The options of the call that compiles the kernel: all but the files and what makes a shared object."""
    notes = folder / f"{compiler}.calls"
    notes.write_text("")
    noting = folder / f"{compiler}.sh"
    noting.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {shlex.quote(str(notes))}\nexec {compiler} "$@"\n')
    noting.chmod(0o700)
    cache = folder / f"{compiler}.cache"
    shutil.rmtree(cache, ignore_errors=True)
    environment = {**os.environ, "TOKAMAK_CC": str(noting), "TOKAMAK_CACHE_DIR": str(cache)}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    calls = [line.split() for line in notes.read_text().splitlines() if " -o " in line]
    assert len(calls) == 1, f"one call that makes a file was expected: {notes.read_text()}"
    return [flag for flag in calls[0][: calls[0].index("-o")] if flag not in ("-shared", "-nostdlib")]


def main():
    separator = sys.argv.index("--")
    folder, *files = sys.argv[1:separator]
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True, parents=True)
    others = files[1].split() if files[0] == "--all-flags" else None
    for compiler in COMPILERS:
        flags = others or flags_of(compiler, folder, sys.argv[separator + 1 :])
        print(f"{compiler} with {' '.join(flags)}")
        for file in files if others is None else files[2:]:
            path, *macros = file.split(",")
            program = folder / "program"
            subprocess.run([compiler, *flags, *(f"-D{macro}" for macro in macros), "-o", program, path], check=True)
            said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()
            print(f"  {os.path.basename(path)} {' '.join(macros)}: {said}")
    print("done")


main()
