#!/usr/bin/env python3
"""Runs a program as the ranks of a job: under_mpirun.py --mpi-library FILE -n N PROGRAM ARGUMENT...

More ranks than processors are welcome. What each prints has its rank before it; the exit code is mpirun's, 124 after
LIMIT seconds.
"""
import argparse
import os
import subprocess
import sys

LIMIT = 240


def environment_with(library):
    """Root may run jobs: containers of CI know nobody else."""
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", TOKAMAK_MPI=library,
                TOKAMAK_TEST_UNDER_MPIRUN="1")


def mpirun(ranks, *options):
    return ["mpirun", "-n", str(ranks), "--oversubscribe", *options]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpi-library", required=True)
    parser.add_argument("-n", dest="ranks", type=int, required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    command = [*mpirun(options.ranks, "--tag-output"), *options.command]
    try:
        return subprocess.run(command, env=environment_with(options.mpi_library), check=False, timeout=LIMIT).returncode
    except subprocess.TimeoutExpired:
        print(f"the job did not end within {LIMIT} s")
        return 124


if __name__ == "__main__":
    sys.exit(main())
