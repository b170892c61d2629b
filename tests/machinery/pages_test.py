"""Pages show what their programs are and what their commands print, and --check fails where they do not."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "pages.py"
# Says its arguments, writes the picture that --svg names, and fails at `fail`.
TOOL = """#!/bin/sh
echo "said: $*"
case "$*" in *=*.svg) echo "<svg/>" > "${2#*=}" ;; *fail*) echo "bad" >&2; exit 3 ;; esac
"""


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tool = self.folder / "tool"
        self.tool.write_text(TOOL)
        self.tool.chmod(0o755)
        self.page = self.folder / "page.md"

    def pages(self, *options):
        """(Exit code, output)."""
        done = subprocess.run([sys.executable, "-B", SCRIPT, "--tokamak", self.tool, "--programs", self.folder, *options, self.page],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def written(self, text):
        self.page.write_text(text)
        self.assertEqual(self.pages()[0], 0)
        self.assertEqual(self.pages("--check")[0], 0)
        return self.page.read_text()

    def test_outputs_are_written_below_their_commands(self):
        text = self.written("```console\n$ tokamak one\nold\n$ tokamak two \\\n  three\n```\nold\n")
        self.assertEqual(text, "```console\n$ tokamak one\nsaid: one\n$ tokamak two \\\n  three\nsaid: two three\n```\nold\n")

    def test_a_failing_command_shows_its_exit_code_and_its_message(self):
        self.assertIn("said: fail\nbad\n(exit code 3)\n", self.written("```console\n$ tokamak fail\n```\n"))

    def test_an_output_out_of_date_is_found(self):
        self.page.write_text("```console\n$ tokamak one\nsaid: two\n```\n")
        code, output = self.pages("--check")
        self.assertEqual(code, 1)
        self.assertIn("-said: two\n+said: one\n", output)
        self.assertIn("said: two", self.page.read_text())

    def test_a_command_that_is_not_there_is_refused(self):
        self.page.write_text("```console\n$ build/lessons/none\n```\n")
        code, output = self.pages()
        self.assertEqual(code, 1)
        self.assertIn("build/lessons/none", output)
        self.assertNotIn("exit code", self.page.read_text())

    def test_a_file_of_the_tree_is_shown_whole(self):
        text = self.written("```python scripts/pages.py\nold\n```\n")
        self.assertEqual(text, f"```python scripts/pages.py\n{SCRIPT.read_text()}```\n")

    def test_a_file_that_is_not_there_is_refused(self):
        self.page.write_text("```fusion examples/none.fusion\n```\n")
        code, output = self.pages("--check")
        self.assertEqual(code, 1)
        self.assertIn("there is no file examples/none.fusion", output)

    def test_figures_that_differ_between_machines_are_not_shown(self):
        text = self.written("```console\n$ echo 'y: f32[2] checksum 0123456789abcdef'\n$ echo 'time: compile 1.50 ms, first run 2 ms'\n"
                            "$ echo 'max error 1.5e+07 ulp, 0.1 of the bound'\n```\n")
        for shown in ("checksum _\n", "\ntime: compile _ ms, first run _ ms\n", "\nmax error _ ulp, _ of the bound\n"):
            self.assertIn(shown, text)

    def test_pictures_are_put_beside_the_page_and_checked(self):
        self.written("```console\n$ tokamak --svg plan=a.svg\n```\n![a plan](a.svg)\n")
        picture = self.folder / "a.svg"
        self.assertEqual(picture.read_text(), "<svg/>\n")
        picture.write_text("<svg>old</svg>\n")
        self.assertEqual(self.pages("--check")[0], 1)

    def test_a_picture_that_the_page_does_not_show_is_refused(self):
        self.page.write_text("```console\n$ tokamak --svg plan=a.svg\n```\n")
        code, output = self.pages()
        self.assertEqual(code, 1)
        self.assertIn("a.svg is written and not shown", output)

    def test_the_tree_is_not_written_to(self):
        self.written("```console\n$ touch README.md.new && ls README.md\n```\n")
        self.assertFalse((SCRIPT.parents[1] / "README.md.new").exists())


if __name__ == "__main__":
    unittest.main()
