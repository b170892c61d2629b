#!/usr/bin/env python3
"""Runs a program as the ranks of a job over peer copies: as_processes.py -n N [--driver FILE] [--killed] PROGRAM ...

Each process has RANK, WORLD_SIZE and where rank 0 listens. `--driver`: a CUDA driver without a GPU. `--killed`: the
last rank has to end by SIGKILL, the others well. What ranks print that fail is printed; exit code 124 after LIMIT
seconds.
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


def start(options, rank, port, output):
    environment = dict(os.environ, TOKAMAK_TEST_PEER="processes", RANK=str(rank), WORLD_SIZE=str(options.ranks),
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    if options.driver:
        environment |= KERNELS_OF_FAKE | {"TOKAMAK_CUDA_DRIVER": options.driver}
    return subprocess.Popen(options.command, env=environment, stdout=output, stderr=subprocess.STDOUT)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", dest="ranks", type=int, required=True)
    parser.add_argument("--driver")
    parser.add_argument("--killed", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    port = free_port()
    outputs = [tempfile.TemporaryFile() for _ in range(options.ranks)]
    processes = [start(options, rank, port, outputs[rank]) for rank in range(options.ranks)]
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
        if ended != expected:
            code = code or 1
            print(f"rank {rank}: exit code {ended}, not {expected}\n{text[-6000:]}")
        else:
            print(f"rank {rank}: exit code {ended}; " + " ".join(text.split("\n")[-3:]).strip())
    return code


if __name__ == "__main__":
    sys.exit(main())
