#!/usr/bin/env python3
"""`mpirun -n N tokamak run FILE --comm mpi --check`: results, messages, and exit codes that all ranks agree on.

    mpi_programs_test.py --mpi-library FILE --tokamak FILE
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from under_mpirun import environment_with, mpirun

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RANKS = ROOT / "tests" / "text" / "ranks"
sys.path.append(str(RANKS / "overlap" / "inputs"))
from over_ranks import fusion_over  # noqa: E402
OPTIONS = argparse.Namespace()


def run(ranks, *arguments, others=()):
    """The exit code and what was printed; `others`: arguments of one more rank."""
    program = [OPTIONS.tokamak, "run"]
    command = [*mpirun(ranks), *program, *map(str, arguments), "--comm", "mpi"]
    if others:
        command += [":", "-n", "1", *program, *map(str, others), "--comm", "mpi"]
    done = subprocess.run(command, env=environment_with(OPTIONS.mpi_library), check=False, capture_output=True,
                          text=True, timeout=100)
    return done.returncode, done.stdout + done.stderr


def said(output):
    """The program's messages, without mpirun's."""
    return re.findall(r"^tokamak: (.*)$", output, re.M)


# Rank 0 computes something else than the others.
APART = """%HostIrContainer { (@T0) -> (@T1) :
  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=4, zero_init=false, resets_to_zero=false)
  IF ( rank == 0 ):
    @T1
       = -@T0;
  ELSE:
    @T1
       = sin(@T0);
} // %HostIrContainer
"""


class Programs(unittest.TestCase):
    """Each is a job of processes."""

    def test_dumps_of_all_gather_and_linear_give_the_oracles_results(self):
        for ranks in (2, 4):
            for form in ("one-loop", "two-loops"):
                dump = ROOT / "tests" / "golden" / f"ag_linear.{form}.host_ir"
                code, output = run(ranks, dump, "--check", "--repeat", 2)
                self.assertEqual(code, 0, output)
                self.assertEqual(len(re.findall(r"^check \w+: ok", output, re.M)), 1, output)
                self.assertIn(f"ranks: {ranks} processes", output)

    def test_pipelines_give_the_oracles_results(self):
        pipelines = sorted((RANKS / "overlap").glob("*.test"))
        self.assertGreater(len(pipelines), 10)
        for pipeline in pipelines:
            with self.subTest(pipeline.name), tempfile.NamedTemporaryFile("w", suffix=".fusion") as file:
                file.write(fusion_over(pipeline, 2))
                file.flush()
                code, output = run(2, file.name, "--check")
                self.assertEqual(code, 0, output)
                self.assertRegex(output, r"(?m)^check \w+: ok")

    def test_results_are_those_of_ranks_that_are_threads(self):
        for name, ranks, size in (("mean", 3, ["--size", "n=9"]), ("ring", 3, []), ("scatter_gather", 4, [])):
            code, output = run(ranks, RANKS / f"{name}.host_ir", *size, "--check")
            self.assertEqual(code, 0, output)
            threads = subprocess.run([OPTIONS.tokamak, "run", RANKS / f"{name}.host_ir", *size, "--ranks", str(ranks)],
                                     check=True, capture_output=True, text=True).stdout
            sums = re.findall("checksum .*", threads)
            self.assertTrue(sums)
            self.assertEqual(re.findall("checksum .*", output), sums)

    def test_a_wrong_program_is_refused_on_all_ranks(self):
        text = (RANKS / "mean.host_ir").read_text().replace("type=Allreduce", "type=Broadcast")
        text = text.replace("team=(0 1 2)", "team=(0 1 2), root=1")
        with tempfile.NamedTemporaryFile("w", suffix=".host_ir") as file:
            file.write(text)
            file.flush()
            code, output = run(3, file.name, "--size", "n=9", "--check")
        self.assertEqual(code, 3, output)
        self.assertEqual(said(output), ["rank 0: local program: Broadcast: what it gives of T1 is partial(sum, DIDx), and "
                                        "its output T2 is whole"])

    def test_what_differs_among_ranks_is_named_once(self):
        mean = RANKS / "mean.host_ir"
        code, output = run(2, mean, "--size", "n=9", others=[mean, "--size", "n=12"])
        self.assertEqual(code, 4, output)
        self.assertEqual(said(output), ["rank 2 has another --size than rank 0: 'n=12', not 'n=9'; all ranks have to "
                                        "have the same"])
        code, output = run(2, mean, "--size", "n=9", others=[RANKS / "ring.host_ir", "--size", "n=9"])
        self.assertEqual(code, 4, output)
        self.assertRegex(said(output)[0], r"^rank 2 has another text of the program than rank 0: \d+ bytes, not \d+ b")

    def test_what_fails_on_some_ranks_fails_on_all(self):
        mean = RANKS / "mean.host_ir"
        code, output = run(2, mean, "--size", "n=9", others=["none.host_ir", "--size", "n=9"])
        self.assertEqual((code, said(output)), (4, ["rank 2: none.host_ir: cannot be opened for reading"]), output)
        code, output = run(2, mean, "--size", "n=9")
        self.assertEqual(code, 3, output)
        self.assertEqual(len(said(output)), 1, output)
        self.assertIn("local program: T0: its mesh names rank 2, and the job has 2 rank(s): 0 to 1", said(output)[0])
        code, output = run(2, mean, "--ranks", 2)
        self.assertEqual(code, 2, output)
        self.assertIn("--ranks: it has no effect with --comm mpi", said(output)[0])

    def test_a_program_whose_ranks_would_wait_for_one_another_is_not_run(self):
        circle = RANKS / "inputs" / "circle.host_ir"
        code, output = run(2, circle)
        self.assertEqual(code, 3, output)
        self.assertEqual(len(said(output)), 1, output)
        self.assertIn("check: the host program has 1 problem over 2 ranks:", output)
        self.assertIn("1. deadlock: ranks 0 and 1 wait for one another", output)
        code, output = run(2, circle, others=[circle, "--unproved"])
        self.assertEqual(code, 4, output)
        self.assertIn("rank 2 has another --unproved than rank 0: 'given', not nothing", output)

    def test_standard_input_and_output_are_mpiruns(self):
        program = RANKS / "all_to_all.host_ir"
        for arguments, message in (
                ((program, "--input", "T0=-"), "--input T0=-: with --comm mpi every process reads its inputs, and"),
                ((program, "--output", "T2=-"), "--output T2=-: with --comm mpi standard output is mpirun's"),
                (("/dev/stdin",), "/dev/stdin: with --comm mpi every process reads the program, and mpirun gives")):
            code, output = run(2, *arguments)
            self.assertEqual(code, 2, output)
            self.assertEqual(len(said(output)), 1, output)
            self.assertIn(message, said(output)[0])

    def test_results_that_differ_on_ranks_that_have_the_same_part_are_seen(self):
        tensors = [f"T{number}_g_float[iS{number}{{4}}] (DeviceMesh{{0 1 2}})" for number in (0, 1)]
        text = APART.replace("@T0", tensors[0]).replace("@T1", tensors[1])
        with tempfile.NamedTemporaryFile("w", suffix=".host_ir") as file:
            file.write(text)
            file.flush()
            code, output = run(3, file.name)
        self.assertEqual(code, 4, output)
        self.assertEqual(said(output),
                         ["rank 0: output T1: ranks 0 and 1 have the same part, and not the same elements"])


if __name__ == "__main__":
    PARSER = argparse.ArgumentParser()
    PARSER.add_argument("--mpi-library", required=True)
    PARSER.add_argument("--tokamak", required=True)
    PARSER.parse_args(namespace=OPTIONS)
    unittest.main(argv=sys.argv[:1], verbosity=2)
