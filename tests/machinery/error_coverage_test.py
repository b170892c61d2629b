"""The coverage of error messages: sites are found in the source, matched by line range, and excused only by the list."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "error_coverage.py"
SOURCE = """// TK_REQUIRE(in, Bind, "a comment is no site");
#define TK_REQUIRE(condition, code, ...) TK_RAISE(code, __VA_ARGS__)
void f() {
  TK_REQUIRE(g(1, "a, b"), Bind,
             "add: rank {}, "
             "expected {}",
             1, 2);
  TK_CHECK(x, "the list is sorted");
  TK_RAISE(Internal, "cannot be here");
  TK_RAISE(Parse, "an operand is missing");
}
"""


def coverage(sites, allow_list=""):
    """Exit code and output for a tree of one source with `sites` reached."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "src" / "ir").mkdir(parents=True)
        (root / "tests" / "machinery").mkdir(parents=True)
        (root / "src" / "ir" / "a.cpp").write_text(SOURCE)
        (root / "tests" / "machinery" / "unreached_errors.txt").write_text(allow_list)
        (root / "sites").write_text("".join(f"{site}\n" for site in sites))
        done = subprocess.run([sys.executable, "-B", SCRIPT, root / "sites", "--root", folder], check=False,
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class ErrorCoverage(unittest.TestCase):
    def test_unreached_sites_are_named_and_fail(self):
        code, output = coverage([])
        self.assertEqual(code, 1)
        self.assertIn("src/ir/a.cpp:4: no test reaches this error: add: rank {}, expected {}", output)
        self.assertIn("src/ir/a.cpp:10: no test reaches this error: an operand is missing", output)
        self.assertIn("0 of 2 reached", output)

    def test_any_line_of_a_macro_reaches_it(self):
        for line in (4, 7):
            code, output = coverage([f"/somewhere/src/ir/a.cpp:{line}", "src/ir/a.cpp:10"])
            self.assertEqual(code, 0, output)
            self.assertIn("2 of 2 reached", output)

    def test_a_listed_site_is_excused_and_a_stale_line_is_not(self):
        row = "src/ir/a.cpp | an operand | needs a device that fails\n"
        code, output = coverage(["src/ir/a.cpp:4"], row)
        self.assertEqual(code, 0, output)
        self.assertIn("1 listed as unreachable", output)
        code, output = coverage(["src/ir/a.cpp:4"], row + "src/ir/a.cpp | gone | once needed\n")
        self.assertEqual(code, 1)
        self.assertIn("unreached_errors.txt:2: fits no error in the source", output)

    def test_a_line_without_a_reason_is_refused(self):
        code, output = coverage([], "src/ir/a.cpp | an operand\n")
        self.assertEqual(code, 1)
        self.assertIn("expected `file | start of the message | reason`", output)


if __name__ == "__main__":
    unittest.main()
