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

    def test_results_are_those_of_ranks_that_are_threads(self):
        for name, ranks, size in (("mean", 3, ["--size", "n=9"]), ("ring", 3, []), ("scatter_gather", 4, [])):
            code, output = run(ranks, RANKS / f"{name}.host_ir", *size, "--check")
            self.assertEqual(code, 0, output)
            threads = subprocess.run([OPTIONS.tokamak, "run", RANKS / f"{name}.host_ir", *size, "--ranks", str(ranks)],
                                     check=True, capture_output=True, text=True).stdout
            sums = re.findall("checksum .*", threads)
            self.assertTrue(sums)
            self.assertEqual(re.findall("checksum .*", output), sums)

    def test_a_wrong_program_is_a_mismatch_on_all_ranks(self):
        text = (RANKS / "mean.host_ir").read_text().replace("type=Allreduce", "type=Broadcast")
        text = text.replace("team=(0 1 2)", "team=(0 1 2), root=1")
        with tempfile.NamedTemporaryFile("w", suffix=".host_ir") as file:
            file.write(text)
            file.flush()
            code, output = run(3, file.name, "--size", "n=9", "--check")
        self.assertEqual(code, 1, output)
        self.assertEqual(output.count("MISMATCH"), 1, output)

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

    def test_a_partial_result_that_is_given_out_is_seen(self):
        edit = "s/-> (T3_g_float.iS6{4}./-> (T1_g_float[rS3{n}, iS4{4}]/; /Communication/d; /T3_g_float.*)$/,/f32(n)/d"
        with tempfile.NamedTemporaryFile("w", suffix=".host_ir") as file:
            subprocess.run(["sed", edit, RANKS / "mean.host_ir"], check=True, stdout=file)
            code, output = run(3, file.name, "--size", "n=9")
        self.assertEqual(code, 4, output)
        self.assertEqual(said(output),
                         ["rank 0: output T1: ranks 0 and 1 have the same part, and not the same elements"])


if __name__ == "__main__":
    PARSER = argparse.ArgumentParser()
    PARSER.add_argument("--mpi-library", required=True)
    PARSER.add_argument("--tokamak", required=True)
    PARSER.parse_args(namespace=OPTIONS)
    unittest.main(argv=sys.argv[:1], verbosity=2)
