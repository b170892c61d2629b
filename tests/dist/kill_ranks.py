#!/usr/bin/env python3
"""Kills a rank of a job of mpirun, or stops it, again and again.

    kill_ranks.py --tokamak FILE --mpi-library FILE [--stop] [--times N] [--ranks N]

Each job communicates for minutes if nobody ends it. A rank is killed (SIGKILL) after a random time, from the start of
its process on, or stopped (SIGSTOP). The job has to end within LIMIT seconds, where a rank is stopped behind the
time-out, with a failure that names the rank, and leaves no process behind. Survivors that say why they end name it, and
one that was in an operation, as its log of the last operations says, names that too. Every fourth death comes after
the results, while the ranks leave MPI: then the job ends, well or not. Exit code 1: something was not so; 77: there is
no mpirun.

mpirun itself waits for ever for a lock that it holds, in PMIx_server_finalize of PMIx 4.2, where a process dies while
it connects to it (1 of 130 deaths at the start). Its ranks are gone then, and it has said which one died: such ends
are counted, and are none of Tokamak's.
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
    """Hits the rank's process, if it is there; whether the job ended, what it printed from then on, and the seconds."""
    try:
        os.kill(pid, signal.SIGSTOP if options.stop else signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has ended by itself
    hit = time.monotonic()
    try:
        output, _ = process.communicate(timeout=LIMIT + (TIMEOUT if options.stop else 0))
    except subprocess.TimeoutExpired:
        return False, "", 0
    return True, output, time.monotonic() - hit


def end_of_hanging(process, job):
    """Ends a job that hangs; which of its ranks did, and what it printed."""
    left = ranks_of(job)
    for pid in left.values():
        os.kill(pid, signal.SIGKILL)
    process.kill()
    output, _ = process.communicate()
    return left, output


def has_only_mpirun_hung(left, output):
    return not left and "mpirun noticed that process rank" in output


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


def wrong_names(output, victim):
    """Lines of survivors that end because of another rank. (One that was stopped goes on when mpirun ends the job.
    mpirun kills ranks, too: those say nothing, and have died.)"""
    said = re.findall(r"^(?:\[[^]]*\][^:]*:)?tokamak: rank (\d+): (.*)", output, re.M)
    left = {int(rank) for rank, _ in said}

    def is_named(why):
        return re.search(rf"rank {victim}\b", why) or any(
            int(rank) not in left for rank in re.findall(r"rank (\d+) died", why))

    return [f"rank {rank}: {why}" for rank, why in said if int(rank) != victim and not is_named(why)]


def run_once(options, number, folder):
    """What is wrong, or "", and what is counted: "named" where a survivor named the operation, "mpirun" where that
    alone did not end."""
    job = f"{os.getpid()}-{number}"
    environment = environment_with(options.mpi_library) | {"TOKAMAK_TEST_JOB": job}
    at_end = not options.stop and number % 4 == 3
    command = [*mpirun(options.ranks), options.tokamak, "run", str(PROGRAM), "--comm", "mpi", "--repeat",
               "1" if at_end else "1000000", "--operations", str(folder / "ops"),
               "--timeout", str(TIMEOUT if options.stop else 600)]
    output_of = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    victim = number % options.ranks
    with subprocess.Popen(command, env=environment, **output_of) as process:
        try:
            if not wait_for(lambda: len(ranks_of(job)) == options.ranks, LIMIT):
                left, output = end_of_hanging(process, job)
                return f"the ranks did not start; there are {sorted(left)}:\n{output}", ""
            pid = ranks_of(job).get(victim)
            if at_end:
                process.stdout.readline()  # the first result of rank 0
            # One that is stopped before MPI has started is nobody's rank yet.
            longest = 0.1 if at_end else 2.5 if options.stop else 1.5
            time.sleep(random.Random(number).uniform(1.5 if options.stop else 0, longest))
            if pid is None or (not at_end and victim not in ranks_of(job)):
                return "the rank ended before it was hit", ""
            has_ended, output, seconds = end_of(process, pid, options)
            if not has_ended:
                left, output = end_of_hanging(process, job)
                if not has_only_mpirun_hung(left, output):
                    return f"the job hangs after the end of rank {victim}; there are {sorted(left)}:\n{output}", ""
                print(f"{number}: rank {victim} of {options.ranks}: mpirun alone did not end")
                return "", "mpirun"
        finally:
            process.kill()
    code = process.returncode
    when = " among the last" if at_end else ""
    print(f"{number}: rank {victim} of {options.ranks}{when}: the job ended after {seconds:.2f} s, exit code {code}")
    if options.verbose:
        print(output)
    if not wait_for(lambda: not ranks_of(job), 3):
        return f"processes are left: {ranks_of(job)}", ""
    if wrong := wrong_names(output, victim):
        return f"a survivor does not name rank {victim}: {wrong[0]}", ""
    if at_end:
        return "", ""
    if code == 0:
        return "the job succeeded", ""
    if not re.search(rf"rank {victim}\b", output):
        return f"nobody names rank {victim}:\n{output}", ""
    last = logged_operations(folder, options.ranks, victim)
    what = "did not come to" if options.stop else "died( in| before|; the last)"
    is_named = bool(re.search(rf"rank {victim} {what}.*(Allgather|Broadcast|transfer|Allreduce)", output)) or (
        options.stop and bool(re.search(rf'exchange ".*" of ranks .*: rank {victim} did not come', output)))
    if last is not None and not is_named:
        return f"the survivor was in an operation, and names none:\n{last}\n{output}", ""
    if options.stop and is_named and "is stopped" not in output:
        return f"nobody says that the process is stopped:\n{output}", ""
    return "", "named" if is_named else ""


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
    counts = {"named": 0, "mpirun": 0, "": 0}
    for number in range(options.times):
        with tempfile.TemporaryDirectory() as folder:
            problem, counted = run_once(options, number, pathlib.Path(folder))
        counts[counted] += 1
        if problem:
            print(f"{number}: {problem}")
            return 1
    print(f"{options.times} {'stops' if options.stop else 'deaths'}, 0 hangs, 0 processes left; survivors named the "
          f"operation in {counts['named']}; mpirun alone did not end in {counts['mpirun']}")
    # Not where the rank died before the first one, or the survivor was computing until mpirun ended it.
    return 0 if counts["named"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
