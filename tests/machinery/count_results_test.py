"""A test that did not run is skipped only where it wished so."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "count_results.py"
CASES = {
    '<testcase name="a" status="run"/>': "1 0 0",
    '<testcase name="a" status="fail"><failure message="Failed"/></testcase>': "0 1 0",
    '<testcase name="a" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>': "0 0 1",
    '<testcase name="a" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>': "0 0 1",
    '<testcase name="a" status="notrun"><skipped message="Unable to find executable: x"/></testcase>': "0 1 0",
    '<testcase name="a" status="disabled"/>': "0 0 1",
    '<testcase name="a.test" classname="text"><skipped message="Missing required feature(s): gpu"/></testcase>': "0 0 1",
}


class CountResults(unittest.TestCase):
    def test_each_kind_of_result_counts_once(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, (case, expected) in enumerate(CASES.items()):
                paths.append(pathlib.Path(folder) / f"{number}.xml")
                paths[-1].write_text(f"<testsuites><testsuite>{case}</testsuite></testsuites>")
                self.assertEqual(self.counts(paths[-1:]), expected, case)
            self.assertEqual(self.counts(paths), "1 2 4")

    @staticmethod
    def counts(paths):
        done = subprocess.run([sys.executable, "-B", SCRIPT, *paths], check=True, capture_output=True, text=True)
        return done.stdout.strip()


if __name__ == "__main__":
    unittest.main()
