"""Tests that share a process have the verdicts that they would have alone; who ends the process badly is found."""
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNT = ROOT / "scripts" / "count_results.py"
SCRIPT = ROOT / "scripts" / "run_tests.py"

# Says what GoogleTest says, of tests that are named by what they do; notes each process in a file.
PROGRAM = """
import os, sys
names = next(word for word in sys.argv if word.startswith("--gtest_filter=")).split("=", 1)[1].split(":")
open("processes", "a").write(" ".join(names) + "\\n")
code = passed = 0
for name in names:
    what = name.split(".")[1]
    if what == "Unknown":
        continue
    print(f"[ RUN      ] {name}", flush=True)
    print(f"said by {name}")
    if what == "Crashes":
        sys.stdout.flush()
        os.abort()
    if what.startswith("Leaks"):
        code = 23
    if what == "LeaksBehindOthers" and len(names) == 1:
        code = 0
    verdict = {"Fails": "  FAILED ", "Skips": "  SKIPPED"}.get(what, "       OK")
    passed += verdict == "       OK"
    code = 1 if what == "Fails" else code
    print(f"[{verdict} ] {name}{', where GetParam() = 3' * (what == 'Fails')} (0 ms)", flush=True)
print(f"[  PASSED  ] {passed} test{'s' * (passed != 1)}.")
sys.exit(code)
"""


class RunTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        (self.path / "program.py").write_text(PROGRAM)

    def tearDown(self):
        self.folder.cleanup()

    def run_tests(self, *names, others=""):
        """{name: status}, and what the script printed."""
        python = sys.executable
        text = "".join(
            f'add_test("unit.{name}" "{python}" program.py "--gtest_filter={name}")\n'
            f'set_tests_properties("unit.{name}" PROPERTIES SKIP_REGULAR_EXPRESSION "\\\\[  SKIPPED \\\\]" LABELS unit '
            f'WORKING_DIRECTORY "{self.path}" ENVIRONMENT "A=1;B=2" TIMEOUT 20)\n' for name in names)
        (self.path / "CTestTestfile.cmake").write_text(text + textwrap.dedent(others))
        result = self.path / "result.xml"
        done = subprocess.run([sys.executable, "-B", SCRIPT, "--build", self.path, "--output", result, "-L", "unit", "-j", "1"],
                              check=False, capture_output=True, text=True)
        cases = {case.get("name").removeprefix("unit."): case for case in xml.parse(result).iter("testcase")}
        self.assertEqual(done.returncode != 0, not cases or any(case.get("status") == "fail" for case in cases.values()), done)
        self.counts = subprocess.run([sys.executable, "-B", COUNT, result], check=True, capture_output=True, text=True).stdout.strip()
        self.output = {name: case.findtext("system-out") for name, case in cases.items()}
        return {name: case.get("status") for name, case in cases.items()}, done.stdout + done.stderr

    def processes(self):
        return (self.path / "processes").read_text().splitlines()

    def test_short_tests_share_a_process(self):
        statuses, _ = self.run_tests("A.One", "A.Two", "A.Skips", "A.Fails", "A.Three")
        self.assertEqual(statuses, {"A.One": "run", "A.Two": "run", "A.Skips": "notrun", "A.Fails": "fail", "A.Three": "run"})
        self.assertEqual(self.counts, "3 1 1")
        self.assertEqual(self.processes(), ["A.One A.Two A.Skips A.Fails A.Three"])
        self.assertIn("said by A.Two", self.output["A.Two"])
        self.assertNotIn("A.One", self.output["A.Two"])

    def test_one_that_ends_the_process_has_failed_and_the_others_run(self):
        statuses, printed = self.run_tests("A.One", "A.Crashes", "A.Two", "A.Three")
        self.assertEqual(statuses, {"A.One": "run", "A.Crashes": "fail", "A.Two": "run", "A.Three": "run"})
        self.assertEqual(self.processes()[1:], ["A.Two:A.Three".replace(":", " ")])
        self.assertRegex(printed, r"failed: unit\.A\.Crashes: ended by signal 6\n")

    def test_a_process_that_ends_badly_is_somebodys_failure(self):
        statuses, _ = self.run_tests("A.One", "A.Leaks", "A.Two")
        self.assertEqual(statuses, {"A.One": "run", "A.Leaks": "fail", "A.Two": "run"})
        statuses, printed = self.run_tests("A.One", "A.LeaksBehindOthers", "A.Two")
        self.assertEqual(statuses, {"A.One": "run", "A.LeaksBehindOthers": "run", "A.Two": "fail"})
        self.assertRegex(printed, r"one of the 2 before it in its process: exit code 23")

    def test_one_that_the_program_does_not_have_has_failed(self):
        self.assertEqual(self.run_tests("A.One", "A.Unknown")[0], {"A.One": "run", "A.Unknown": "fail"})
        self.assertEqual(self.run_tests("A.Unknown")[0], {"A.Unknown": "fail"})

    def test_disabled_ones_and_others_of_ctest_are_as_there(self):
        statuses, _ = self.run_tests("A.One", "A.Two", others="""
            add_test("unit.off" false)
            set_tests_properties("unit.off" PROPERTIES LABELS unit DISABLED TRUE)
            add_test("unit.skips" sh -c "exit 77")
            set_tests_properties("unit.skips" PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
            add_test("unit.hangs" sleep 100)
            set_tests_properties("unit.hangs" PROPERTIES LABELS unit TIMEOUT 0.1)
            add_test("unit.is_not_built" is_not_built)
            set_tests_properties("unit.is_not_built" PROPERTIES LABELS unit)
            add_test("other" false)
            set_tests_properties("other" PROPERTIES LABELS other)
            """)
        self.assertEqual(statuses, {"A.One": "run", "A.Two": "run", "off": "disabled", "skips": "notrun", "hangs": "fail",
                                    "is_not_built": "fail"})
        self.assertEqual(self.counts, "2 2 2")

    def test_no_test_is_a_failure(self):
        self.assertEqual(self.run_tests()[0], {})

    def test_long_tests_are_in_the_tree(self):
        text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("*.cpp")))
        suites = set(re.findall(r"^TEST(?:_F|_P)?\((\w+), *(\w+)\)", text, re.M))
        for line in (ROOT / "tests" / "long_tests.txt").read_text(encoding="utf-8").splitlines():
            if found := re.fullmatch(r"\w+\.(?:\*/)?([A-Z]\w*)\.(\w+)(?:/\*)?", line):
                self.assertIn(found.groups(), suites, line)


if __name__ == "__main__":
    unittest.main()
