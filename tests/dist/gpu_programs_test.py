#!/usr/bin/env python3
"""`tokamak run FILE --comm nccl` and `--comm peer` in processes that meet by the environment, on GPUs of a fake driver:
how they start, and what all of them say. (The fake NCCL knows one process alone: its programs of several send nothing.)

    gpu_programs_test.py --tokamak FILE --fake-driver FILE
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from free_port import free_port

OPTIONS = argparse.Namespace()
LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "TOKAMAK_BOOTSTRAP_PORT",
             "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")

# Each rank has all of x, in memory of the host. (Without NVRTC the driver's copies are all that there is.)
COPY = """fusion f(x: f32[4, 3] mesh(0, 1) in host) -> y {
  here: f32[4, 3] mesh(0, 1) in device = set(x)
  y: f32[4, 3] mesh(0, 1) in host = set(here)
}
"""

# Each rank has half of x, and gets all of it.
GATHER = """fusion f(x: f32[8, 3] mesh(0, 1) in MEMORY) -> y {
  y: f32[8, 3] mesh(0, 1) in MEMORY = set(x)
}
schedule {
  split(x, axis=0, factor=2, inner_split=false)
  parallelize(x, axis=0, type=DIDx)
}
"""

# The number of chunks is nobody's: the machine's model chooses it, for the transport of the engine.
CHUNKS = """fusion f(x: f32[8, 4] mesh(0, 1) in device, w: f32[4, 4] mesh(0, 1) in device) -> y {
  symbol chunks: i64
  y: f32[8, 4] mesh(0, 1) in device = matmul(x, w)
}
schedule {
  split(y, axis=0, factor=chunks, inner_split=false)
  parallelize(y, axis=0, type=Stream)
}
"""
MACHINE = pathlib.Path(__file__).parents[2] / "examples" / "machines" / "h200.json"

BROADCAST = """%HostIrContainer { (@T0) -> (@T1) :
  Communication 0 (type=Broadcast, team=(0), root=0, input=@T0, output=@T1, backend=NCCL)
  Wait Communication 0
} // %HostIrContainer
""".replace("@T0", "T0_g_float[iS0{4}, iS1{5}] (DeviceMesh{0})").replace(
    "@T1", "T1_g_float[iS2{4}, iS3{5}] (DeviceMesh{0})")


def environment(**given):
    known = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
    return {**known, "TOKAMAK_CUDA_DRIVER": OPTIONS.fake_driver, "TOKAMAK_NCCL": OPTIONS.fake_driver,
            "TOKAMAK_FAKE_CUDA": "devices=2", "TOKAMAK_NVRTC": "/nowhere/nvrtc.so", **given}


def as_of_torchrun(rank, ranks, port):
    return {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port}


def as_of_mpirun(rank, ranks, port):
    return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(ranks), "MASTER_PORT": port,
            "OMPI_COMM_WORLD_LOCAL_RANK": str(rank), "OMPI_COMM_WORLD_LOCAL_SIZE": str(ranks)}


def run(comm, text, *jobs, **variables):
    """A process for each (environment, options); per process its exit code and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / ("f.host_ir" if text.startswith("%") else "f.fusion")
        path.write_text(text)
        started = [subprocess.Popen([OPTIONS.tokamak, "run", path, "--comm", comm, *options], text=True,
                                    env=environment(**job, **variables), stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT) for job, options in jobs]
        printed = [each.communicate(timeout=100)[0] for each in started]
    return [(each.returncode, text) for each, text in zip(started, printed)]


def job(launcher, *options, others=None):
    """Two ranks; `others`: the options of rank 1, if they are not the same."""
    port = str(free_port())
    return [(launcher(0, 2, port), options), (launcher(1, 2, port), options if others is None else others)]


class Programs:
    """What both engines do alike; `comm` is the engine, `transport` its name in machines."""

    def run_jobs(self, text, *jobs, **variables):
        return run(self.comm, text, *jobs, **variables)

    def test_processes_meet_by_what_their_launcher_sets(self):
        for launcher in (as_of_torchrun, as_of_mpirun):
            (first, printed), (second, silent) = self.run_jobs(COPY, *job(launcher, "--check"))
            self.assertEqual((first, second), (0, 0), printed + silent)
            self.assertIn("check y: ok", printed)
            self.assertIn("ranks: 2 processes", printed)
            self.assertEqual(silent, "")

    def test_what_differs_is_told_once(self):
        (first, printed), (second, silent) = self.run_jobs(
            COPY, *job(as_of_torchrun, "--seed", "1", others=("--seed", "2")))
        self.assertEqual((first, second), (4, 4), printed + silent)
        self.assertEqual(printed, "tokamak: rank 1 has another --seed than rank 0: '2', not '1'; all ranks have to "
                                  "have the same\n")
        self.assertEqual(silent, "")

    def test_all_ranks_hear_of_one_without_a_gpu(self):
        (first, printed), (second, silent) = self.run_jobs(
            COPY, *job(as_of_torchrun), TOKAMAK_CUDA_DRIVER="/nowhere/libcuda.so")
        self.assertEqual((first, second), (4, 4), printed + silent)
        self.assertIn("tokamak: rank 0: no CUDA device: ", printed)
        self.assertEqual(silent, "")

    def test_one_rank_communicates_with_itself(self):
        ((code, printed),) = self.run_jobs(BROADCAST, (as_of_torchrun(0, 1, "1"), ("--check", "--repeat", "3")))
        self.assertEqual(code, 0, printed)
        self.assertIn("check T1: ok", printed)

    def test_a_launcher_that_says_nothing(self):
        ((code, printed),) = self.run_jobs(COPY, ({}, ()))
        self.assertEqual(code, 2, printed)
        self.assertIn("bootstrap: $RANK is not set", printed)

    def test_chunks_are_chosen_for_the_transport_of_the_engine(self):
        (first, printed), (second, silent) = self.run_jobs(
            CHUNKS, *job(as_of_torchrun, "--machine", MACHINE, "--check"), TOKAMAK_CUBLASLT=OPTIONS.fake_driver)
        self.assertEqual((first, second), (0, 0), printed + silent)
        self.assertIn(f"chosen: chunks = 1, by {self.transport}, ", printed)
        self.assertEqual(printed.count("  by "), 1, printed)

    def test_options_without_effect(self):
        ((code, printed),) = self.run_jobs(COPY, ({}, ("--device", "cpu")))
        self.assertEqual(code, 2, printed)
        self.assertIn(f"--comm {self.comm} --device cpu: its ranks have a GPU each; leave --device out", printed)
        (_, printed), _ = self.run_jobs(COPY, *job(as_of_torchrun, "--ranks", "2"))
        self.assertIn(f"--ranks: it has no effect with --comm {self.comm}, whose ranks are the processes that the environment "
                      "tells of; leave one of them out", printed)


class NcclPrograms(Programs, unittest.TestCase):
    comm, transport = "nccl", "nccl"

    def test_all_ranks_hear_of_one_without_nccl(self):
        (first, printed), (second, silent) = self.run_jobs(COPY, *job(as_of_torchrun), TOKAMAK_NCCL="/nowhere/nccl.so")
        self.assertEqual((first, second), (4, 4), printed + silent)
        self.assertIn("tokamak: rank 0: NCCL: no library that communicates between GPUs was found", printed)
        self.assertEqual(silent, "")


class PeerPrograms(Programs, unittest.TestCase):
    comm, transport = "peer", "copy"

    def test_ranks_copy_from_one_another(self):
        (first, printed), (second, silent) = self.run_jobs(
            GATHER.replace("MEMORY", "device"), *job(as_of_torchrun, "--check", "--repeat", "3"), TOKAMAK_NCCL="/nowhere")
        self.assertEqual((first, second), (0, 0), printed + silent)
        self.assertIn("check y: ok", printed)

    def test_memory_of_the_host_is_refused(self):
        (first, printed), (second, silent) = self.run_jobs(GATHER.replace("MEMORY", "host"), *job(as_of_torchrun))
        self.assertEqual((first, second), (4, 4), printed + silent)
        self.assertIn("is none of the GPU's, and processes copy from memory of GPUs alone; communicate tensors that are "
                      "`in device`", printed)

    def test_a_time_out_is_positive(self):
        ((code, printed),) = self.run_jobs(COPY, (as_of_torchrun(0, 1, "1"), ("--timeout", "0")))
        self.assertEqual(code, 2, printed)
        self.assertIn("peer-copy communicator: a time-out of 0 ms was asked for; it has to be positive", printed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokamak", required=True)
    parser.add_argument("--fake-driver", required=True)
    parser.parse_known_args(namespace=OPTIONS)
    unittest.main(argv=sys.argv[:1])
