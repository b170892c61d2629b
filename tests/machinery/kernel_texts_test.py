"""scripts/kernel_texts: what is stripped, which cases there are, and what a comparison says."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("kernel_texts", str(ROOT / "scripts" / "kernel_texts"))
kernel_texts = importlib.util.module_from_spec(importlib.util.spec_from_loader("kernel_texts", loader))
loader.exec_module(kernel_texts)


def compared(before, after):
    """The exit code, and the lines that are printed, of folders with these texts by name."""
    with tempfile.TemporaryDirectory() as folder:
        folders = [pathlib.Path(folder) / name for name in ("before", "after")]
        for path, texts in zip(folders, (before, after)):
            path.mkdir()
            for name, text in texts.items():
                (path / name).write_text(text, encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            code = kernel_texts.compare(*folders, shown=1)
        return code, printed.getvalue().replace(folder, "").splitlines()


class KernelTexts(unittest.TestCase):
    def test_comments_are_stripped_and_quotes_are_not(self):
        text = 'int a; // one\n/* two\n three */\nasm volatile("x; // y" ::: "memory");\n\n'
        self.assertEqual(kernel_texts.without_comments(text), 'int a;\nasm volatile("x; // y" ::: "memory");\n')

    def test_every_case_of_the_suite_is_there_at_its_size(self):
        cases = kernel_texts.suite_cases()
        lines = [line for line in kernel_texts.SUITE.read_text(encoding="utf-8").splitlines() if line[:1] not in "#"]
        self.assertEqual(cases.count("// case "), len([line for line in lines if line]))
        self.assertIn("// case softmax_fwd.16384x4096 rows=16384 columns=4096\n", cases)

    def test_equal_texts_are_counted(self):
        self.assertEqual(compared({"a.c": "x\n"}, {"a.c": "x\n"}), (0, ["1 texts, 0 differ"]))

    def test_what_differs_is_named_and_shown(self):
        code, lines = compared({"a.c": "x\n", "b.c": "x\n", "c.c": "x\n"}, {"a.c": "y\n", "c.c": "y\n"})
        self.assertEqual(code, 1)
        self.assertIn("+y", lines)
        self.assertEqual([line for line in lines if line[0] not in "+-@ "],
                         ["a.c differs", "b.c is not in /after", "c.c differs", "3 texts, 3 differ"])

    def test_nothing_compared_is_no_success(self):
        self.assertEqual(compared({}, {}), (1, ["0 texts, 0 differ"]))


if __name__ == "__main__":
    unittest.main()
