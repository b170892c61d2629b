"""The golden updater writes expectations that FileCheck would accept, and leaves alone what it cannot write."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "update_goldens.py"
# Prints what stands in quotes after "PRINTS" in the file it is given; exits with the number after "EXIT".
TOOL = """#!/bin/sh
sed -n 's/^.. PRINTS "\\(.*\\)"$/\\1/p' "$2"
test "$1" = path && echo "$2:3:1: bad"
exit "$(sed -n 's/^.. EXIT //p' "$2" | head -1 | grep . || echo 0)"
"""


def updated(text, rounds=1):
    """(exit code, output, the file's text) after updating a test with this text."""
    with tempfile.TemporaryDirectory() as folder:
        tool = pathlib.Path(folder) / "tool"
        tool.write_text(TOOL)
        tool.chmod(0o755)
        test = pathlib.Path(folder) / "a.fusion"
        test.write_text(text)
        for _ in range(rounds):
            done = subprocess.run([sys.executable, "-B", SCRIPT, "--tokamak", tool, test], check=False,
                                  capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr, test.read_text()


class UpdateGoldens(unittest.TestCase):
    def test_the_block_is_replaced_where_it_stands(self):
        head = '// RUN: %tokamak opt %s | FileCheck %s\n// PRINTS "one"\n// PRINTS ""\n// PRINTS "  two"\n'
        code, _, text = updated(head + "// CHECK: old\n// CHECK-NEXT: older\nfusion f() {}\n")
        self.assertEqual(code, 0)
        self.assertEqual(text, head + "// CHECK: one\n// CHECK-EMPTY:\n// CHECK-NEXT:   two\nfusion f() {}\n")

    def test_a_file_without_a_block_gets_it_at_its_end_and_a_second_round_changes_nothing(self):
        head = '// RUN: %tokamak opt %s | FileCheck %s\n// PRINTS "one"\n'
        code, output, text = updated(head, rounds=2)
        self.assertEqual((code, text), (0, head + "\n// CHECK: one\n"))
        self.assertIn("unchanged", output)

    def test_what_filecheck_would_read_as_a_pattern_is_escaped(self):
        _, _, text = updated('// RUN: %tokamak opt %s | FileCheck %s\n// PRINTS "axes=[[0]] {{1}}"\n')
        self.assertIn("// CHECK: axes={{\\[\\[}}0]] {{[{][{]}}1}}\n", text)

    def test_the_path_of_the_test_is_not_written_down(self):
        _, _, text = updated("// RUN: %tokamak path %s | FileCheck %s\n")
        self.assertIn("// CHECK: {{.*}}a.fusion:3:1: bad\n", text)

    def test_prefixes_and_exact_white_space_are_kept(self):
        run = "// RUN: %tokamak opt %s | FileCheck --strict-whitespace --match-full-lines --check-prefix=DUMP %s\n"
        _, _, text = updated(run + '// PRINTS "  one"\n')
        self.assertIn("// DUMP:  one\n", text)

    def test_expected_failures_are_told_from_others(self):
        body = "// EXIT 3\n"
        self.assertEqual(updated("// RUN: not %tokamak path %s | FileCheck %s\n" + body)[0], 0)
        self.assertEqual(updated("// RUN: %exits 3 %tokamak path %s | FileCheck %s\n" + body)[0], 0)
        code, output, text = updated("// RUN: %tokamak path %s | FileCheck %s\n" + body)
        self.assertEqual(code, 1)
        self.assertIn("exit code 3", output)
        self.assertNotIn("CHECK:", text)

    def test_expectations_written_by_hand_are_left_alone(self):
        text = '// RUN: %tokamak opt %s | FileCheck %s\n// PRINTS "one"\n// CHECK-NOT: two\n'
        code, output, after = updated(text)
        self.assertEqual((code, after), (0, text))
        self.assertIn("left alone", output)


if __name__ == "__main__":
    unittest.main()
