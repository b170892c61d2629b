#!/usr/bin/env python3
"""Kills a rank of a job of mpirun, again and again.

    kill_ranks.py --tokamak FILE --mpi-library FILE [--times N] [--ranks N]

Each job communicates for minutes if nobody ends it. A rank is killed (SIGKILL) after a random time, from the start of
its process on. The job has to end within LIMIT seconds with a failure that names the rank, and leaves no process
behind; in some the survivors name the operation, too. Exit code 1: something was not so; 77: there is no mpirun.
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from under_mpirun import environment_with, mpirun

LIMIT = 10
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "tests" / "golden" / "ag_linear.two-loops.host_ir"


def ranks_of(job):
    """The processes of the job by rank."""
    ranks = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            environment = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if f"TOKAMAK_TEST_JOB={job}".encode() not in environment:
            continue
        for entry in environment:
            if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                ranks[int(entry.split(b"=")[1])] = int(path.parent.name)
    return ranks


def wait_for(condition, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def run_once(options, number):
    """What is wrong, or "", and whether a survivor named the operation."""
    job = f"{os.getpid()}-{number}"
    environment = environment_with(options.mpi_library) | {"TOKAMAK_TEST_JOB": job}
    command = [*mpirun(options.ranks), options.tokamak, "run", str(PROGRAM), "--comm", "mpi", "--repeat", "1000000"]
    output_of = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, env=environment, **output_of) as process:
        try:
            if not wait_for(lambda: len(ranks_of(job)) == options.ranks, LIMIT):
                return "the ranks did not start", False
            time.sleep(random.Random(number).uniform(0, 1.5))
            victim = number % options.ranks
            pid = ranks_of(job).get(victim)
            if pid is None:
                return "the rank ended before it was killed", False
            os.kill(pid, signal.SIGKILL)
            killed = time.monotonic()
            try:
                output, _ = process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                return f"the job hangs {LIMIT} s after the death of rank {victim}", False
            seconds = time.monotonic() - killed
        finally:
            process.kill()
    code = process.returncode
    print(f"{number}: rank {victim} of {options.ranks}: the job ended after {seconds:.2f} s, exit code {code}")
    if options.verbose:
        print(output)
    if code == 0:
        return "the job succeeded", False
    if not re.search(rf"rank {victim}\b", output):
        return f"nobody names rank {victim}:\n{output}", False
    if not wait_for(lambda: not ranks_of(job), 3):
        return f"processes are left: {ranks_of(job)}", False
    named = rf"rank {victim} died( in| before|; the last).*(Allgather|Broadcast|transfer|Allreduce)"
    return "", bool(re.search(named, output))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokamak", required=True)
    parser.add_argument("--mpi-library", required=True)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if shutil.which("mpirun") is None:
        print("left out: mpirun was not found")
        return 77
    named = 0
    for number in range(options.times):
        problem, is_named = run_once(options, number)
        named += is_named
        if problem:
            print(f"{number}: {problem}")
            return 1
    print(f"{options.times} deaths; survivors named the operation in {named}")
    # Not where the rank died before the first one, or the survivor was computing until mpirun ended it.
    return 0 if named > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
