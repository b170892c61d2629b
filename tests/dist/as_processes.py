#!/usr/bin/env python3
"""Runs a program as the ranks of a job over peer copies:

    as_processes.py -n N [--driver FILE] [--killed [--times T]] PROGRAM ...

Each process has RANK, WORLD_SIZE and where rank 0 listens. `--driver`: a CUDA driver without a GPU. `--killed`: the
last rank has to end by SIGKILL, the others well. `--times`: so many jobs, with TOKAMAK_DEATH_SEED=1, 2, ... What ranks
print that fail is printed; exit code 124 after LIMIT seconds.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

from free_port import free_port

LIMIT = 240
KERNELS_OF_FAKE = {"TOKAMAK_TEST_PEER_FAKE": "1", "TOKAMAK_FAKE_CUDA": "devices=2 memory=4000000000"}


def start(options, rank, variables, output):
    environment = dict(os.environ, TOKAMAK_TEST_PEER="processes", RANK=str(rank), WORLD_SIZE=str(options.ranks),
                       MASTER_ADDR="127.0.0.1", **variables)
    if options.driver:
        environment |= KERNELS_OF_FAKE | {"TOKAMAK_CUDA_DRIVER": options.driver}
    return subprocess.Popen(options.command, env=environment, stdout=output, stderr=subprocess.STDOUT)


def run(options, variables, says_all):
    variables = {"MASTER_PORT": str(free_port()), **variables}
    outputs = [tempfile.TemporaryFile() for _ in range(options.ranks)]
    processes = [start(options, rank, variables, outputs[rank]) for rank in range(options.ranks)]
    deadline = time.monotonic() + LIMIT
    code = 0
    for rank, process in enumerate(processes):
        expected = -signal.SIGKILL if options.killed and rank == options.ranks - 1 else 0
        try:
            ended = process.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            print(f"rank {rank} did not end within {LIMIT} s")
            process.kill()
            process.wait()
            ended = code = 124
        outputs[rank].seek(0)
        text = outputs[rank].read().decode(errors="replace")
        outputs[rank].close()
        if ended != expected:
            code = code or 1
            print(f"rank {rank}: exit code {ended}, not {expected}\n{text[-6000:]}")
        elif says_all:
            print(f"rank {rank}: exit code {ended}; " + " ".join(text.split("\n")[-3:]).strip())
    return code


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", dest="ranks", type=int, required=True)
    parser.add_argument("--driver")
    parser.add_argument("--killed", action="store_true")
    parser.add_argument("--times", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.times is None:
        return run(options, {}, says_all=True)
    for number in range(1, options.times + 1):
        if code := run(options, {"TOKAMAK_DEATH_SEED": str(number)}, says_all=False):
            print(f"death {number}")
            return code
    print(f"{options.times} deaths among {options.ranks} ranks, 0 hangs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
