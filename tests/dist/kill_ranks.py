#!/usr/bin/env python3
"""Kills a rank of a job of mpirun, or stops it, again and again.

    kill_ranks.py --tokamak FILE --mpi-library FILE [--stop] [--times N] [--ranks N]

Each job communicates for minutes if nobody ends it. A rank is killed (SIGKILL) after a random time, from the start of
its process on, or stopped (SIGSTOP). The job has to end within LIMIT seconds, where a rank is stopped behind the
time-out, with a failure that names the rank, and leaves no process behind. A survivor that was in an operation, as its
log of the last operations says, names it. Exit code 1: something was not so; 77: there is no mpirun.
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
import tempfile
import time

from under_mpirun import environment_with, mpirun

LIMIT = 10
TIMEOUT = 2  # of the ranks' waits, where one is stopped
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


def end_of(process, pid, options):
    """Hits the rank's process; the output of the job and the seconds until its end, or None where it hangs."""
    os.kill(pid, signal.SIGSTOP if options.stop else signal.SIGKILL)
    hit = time.monotonic()
    try:
        output, _ = process.communicate(timeout=LIMIT + (TIMEOUT if options.stop else 0))
    except subprocess.TimeoutExpired:
        return None, 0
    return output, time.monotonic() - hit


def logged_operations(folder, ranks, victim):
    """What the logs of the survivors have: the operation of one that was in it, or None."""
    for rank in range(ranks):
        path = folder / f"ops.{rank}"
        if rank != victim and path.exists():
            lines = path.read_text().splitlines()
            if not re.search(rf"^error: .*rank {victim}\b", "\n".join(lines), re.M):
                return f"{path.name} has no error of rank {victim}"
            if " failed " in lines[-1]:
                return lines[-1]
    return None


def run_once(options, number, folder):
    """What is wrong, or "", and whether a survivor named the operation."""
    job = f"{os.getpid()}-{number}"
    environment = environment_with(options.mpi_library) | {"TOKAMAK_TEST_JOB": job}
    command = [*mpirun(options.ranks), options.tokamak, "run", str(PROGRAM), "--comm", "mpi", "--repeat", "1000000",
               "--operations", str(folder / "ops"), "--timeout", str(TIMEOUT if options.stop else 600)]
    output_of = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    victim = number % options.ranks
    with subprocess.Popen(command, env=environment, **output_of) as process:
        try:
            if not wait_for(lambda: len(ranks_of(job)) == options.ranks, LIMIT):
                return "the ranks did not start", False
            # One that is stopped before MPI has started is nobody's rank yet.
            time.sleep(random.Random(number).uniform(1.5 if options.stop else 0, 2.5 if options.stop else 1.5))
            pid = ranks_of(job).get(victim)
            if pid is None:
                return "the rank ended before it was hit", False
            output, seconds = end_of(process, pid, options)
        finally:
            process.kill()
    if output is None:
        left = ranks_of(job)
        for pid in left.values():
            os.kill(pid, signal.SIGKILL)
        who = f"ranks {sorted(left)}" if left else "mpirun alone"
        return f"the job hangs after the end of rank {victim}: {who} did not end", False
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
    last = logged_operations(folder, options.ranks, victim)
    what = "did not come to" if options.stop else "died( in| before|; the last)"
    is_named = bool(re.search(rf"rank {victim} {what}.*(Allgather|Broadcast|transfer|Allreduce)", output)) or (
        options.stop and bool(re.search(rf'exchange ".*" of ranks .*: rank {victim} did not come', output)))
    if last is not None and not is_named:
        return f"the survivor was in an operation, and names none:\n{last}\n{output}", False
    if options.stop and is_named and "is stopped" not in output:
        return f"nobody says that the process is stopped:\n{output}", False
    return "", is_named


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokamak", required=True)
    parser.add_argument("--mpi-library", required=True)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--stop", action="store_true", help="SIGSTOP instead of SIGKILL")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if shutil.which("mpirun") is None:
        print("left out: mpirun was not found")
        return 77
    named = 0
    for number in range(options.times):
        with tempfile.TemporaryDirectory() as folder:
            problem, is_named = run_once(options, number, pathlib.Path(folder))
        named += is_named
        if problem:
            print(f"{number}: {problem}")
            return 1
    print(f"{options.times} {'stops' if options.stop else 'deaths'}, 0 hangs, 0 processes left; survivors named the "
          f"operation in {named}")
    # Not where the rank died before the first one, or the survivor was computing until mpirun ended it.
    return 0 if named > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
