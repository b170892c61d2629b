#!/usr/bin/env python3
"""Measures how long after its start a process without compilers has run a program.

    first_result.py MILLISECONDS COMMAND [ARGUMENT]...

The command runs 15 times with an empty PATH and no cache. Exit code 1 if it fails, or if even its shortest run took
longer than MILLISECONDS: of the many runs on a busy machine one has the processor to itself.
"""
import subprocess
import sys
import tempfile
import time

RUNS = 15


def main():
    most = float(sys.argv[1])
    command = sys.argv[2:]
    times = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": folder, "HOME": folder}
        for _ in range(RUNS):
            start = time.perf_counter()
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            times.append(1000 * (time.perf_counter() - start))
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    times.sort()
    print(f"{' '.join(command)}: {times[0]:.1f} ms, median {times[RUNS // 2]:.1f} ms, from start to end")
    if times[0] > most:
        sys.exit(f"at most {most:g} ms are allowed")


if __name__ == "__main__":
    main()
