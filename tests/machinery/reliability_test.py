"""scripts/reliability: the tests of a tree, what is read from a run and from results, and when a page is wrong."""
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
loader = importlib.machinery.SourceFileLoader("reliability", str(ROOT / "scripts" / "reliability"))
reliability = importlib.util.module_from_spec(importlib.util.spec_from_loader("reliability", loader))
loader.exec_module(reliability)
from reliability_rows import Kept, Ran, Row  # noqa: E402  (found beside the script)

SUITE = """<testsuite><testcase name="fuzz.Kinds/Kernels.Agree/small"><system-out>7 kernels</system-out></testcase>
<testcase name="fuzz.Kinds/Kernels.Agree/large"><system-out>5 kernels</system-out></testcase>
<testcase name="fuzz.Kernels.Last"/>
<testcase name="fuzz.Kernels.OnAGpu" status="notrun"/>
<testcase name="fuzz.Kernels.Wrong" status="fail"/></testsuite>"""
PAGE = f"before\n{reliability.BEGIN}\n\n{reliability.END}\nafter\n"
ROW = Row("R1", "kernels are right", "10 kernels",
          [Ran("fuzz.Kernels.Agree", r"(?P<kernels>\d+) kernels", lambda n: f"{n.kernels} kernels in {n.tests} ways"),
           Ran("fuzz.Kernels.Last"), Ran("fuzz.Kernels.OnA*")],
          "100 kernels", (Kept("results.json", lambda d: f"{d['kernels']:,} kernels"),))


class Reliability(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.page = self.write("page.md", PAGE)
        self.write("tests/fuzz/kernels_test.cpp", "TEST_P(Kernels, Agree) {}\nTEST(Kernels, Last) {}\n"
                                                  "TEST(Kernels, OnAGpu) {}\nTEST(Kernels, Wrong) {}\n")
        self.write("tests/text/run/case.test", "")
        self.write("tests/machinery/CMakeLists.txt",
                   "foreach(check a b)\n  add_test(NAME machinery.${check}\n)\nendforeach()\n")
        self.write("results.json", '{"kernels": 1234}')
        for name in ("release.ctest.xml", "asan.ctest.xml", "release.lit.xml"):
            self.write(f"build/{name}", SUITE if name == "release.ctest.xml" else "<testsuites/>")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def written(self, row=ROW):
        reliability.write(self.root, [row], self.root / "build", self.page)
        return self.page.read_text(encoding="utf-8")

    def complaints(self, row=ROW):
        return list(reliability.complaints(self.root, [row], self.root / "build", self.page))

    def test_tests_are_found_in_the_tree(self):
        self.assertLess({"fuzz.Kernels.Agree", "fuzz.Kernels.Last", "text.run.case.test", "machinery.a", "machinery.b"},
                        reliability.tests_in_tree(self.root))

    def test_numbers_of_a_run_and_of_results_stand_on_the_page(self):
        text = self.written()
        self.assertIn("| 12 kernels in 2 ways; 1 more test passed; 1 skipped |", text)
        self.assertIn("| 1,234 kernels (`results.json`) |", text)
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"))
        self.assertEqual(self.complaints(), [])

    def test_a_run_that_says_something_else_is_an_error(self):
        for tests, pattern, sentence in (("fuzz.Kernels.Agree", r"(?P<kernels>\d+) cores", "printed nothing like"),
                                         ("fuzz.Kernels.None", "", "no test of the tree"),
                                         ("fuzz.Kernels.Wrong", "", "failed")):
            with self.assertRaisesRegex(reliability.Problem, sentence):
                self.written(Row("R1", "", "", [Ran(tests, pattern)]))
        self.write("build/release.ctest.xml",
                   SUITE.replace("7 kernels", "the test output was removed since it exceeds"))
        with self.assertRaisesRegex(reliability.Problem, "no whole run"):
            self.written()

    def test_a_page_that_is_behind_is_an_error(self):
        self.assertIn("does not say what its row", self.complaints()[0])
        self.written()
        self.write("results.json", '{"kernels": 2}')
        self.assertIn("does not say what its row", self.complaints()[0])
        self.written()
        for name in ("release.ctest.xml", "asan.ctest.xml", "release.lit.xml"):
            path = self.root / "build" / name
            path.write_text(path.read_text(encoding="utf-8").replace("7 kernels", "8 kernels"), encoding="utf-8")
            os.utime(path, (2**33, 2**33))
        self.assertIn("the last run printed something else", self.complaints()[0])

    def test_results_without_what_is_read_are_an_error(self):
        self.write("results.json", "{}")
        with self.assertRaisesRegex(reliability.Problem, "does not hold what its row reads"):
            self.written()


if __name__ == "__main__":
    unittest.main()
