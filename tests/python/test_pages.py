"""The Python of README.md and of the documentation runs, page by page, and prints what the pages show."""
import importlib.util
import pathlib
import re

import pytest

import tokamak
from tokamak._ops import Operators

ROOT = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("python_pages", ROOT / "scripts" / "python_pages.py")
python_pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(python_pages)
PAGES = python_pages.pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_runs(page):
    missing = python_pages.missing_for(page)
    if missing:
        pytest.skip(f"the page needs {', '.join(missing)}")
    python_pages.check(page)


def written(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    return page


def test_outputs_are_written_below_their_blocks(tmp_path):
    page = written(tmp_path, "```python\nx = 1\n```\n\n```python\nprint(x)\n```\nsome prose\n")
    shown = "```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n```text\n1\n```\nsome prose\n"
    assert python_pages.renewed(page) == shown
    python_pages.check(written(tmp_path, shown))
    with pytest.raises(python_pages.Wrong, match="page.md:6.*something else"):
        python_pages.check(written(tmp_path, shown.replace("text\n1", "text\n2")))


def test_an_output_that_is_not_shown_is_wrong(tmp_path):
    with pytest.raises(python_pages.Wrong, match="something else"):
        python_pages.check(written(tmp_path, "```python\nprint(1)\n```\n"))


def test_dots_stand_for_anything(tmp_path):
    page = written(tmp_path, "```python\nprint('took 3 s', end='')\n```\n\n```text\ntook ... s\n```\n")
    python_pages.check(page)
    assert python_pages.renewed(page) == page.read_text()


def test_a_block_that_fails_is_named(tmp_path):
    with pytest.raises(python_pages.Wrong, match=r"line 3 fails(.|\n)*ZeroDivisionError"):
        python_pages.check(written(tmp_path, "\n```python\n1 / 0\n```\n"))


def test_needs_are_told(tmp_path):
    page = written(tmp_path, "<!-- needs: json, no_such_package -->\n")
    assert python_pages.missing_for(page) == ["no_such_package"]


def test_the_page_of_errors_has_all_codes_and_classes():
    page = (ROOT / "docs" / "site" / "errors.md").read_text()
    codes = re.findall(r'return "([a-z ]+)";', (ROOT / "src" / "base" / "error.cpp").read_text())
    assert len(codes) > 10
    assert [code for code in codes if f"\n### {code}\n" not in page and code != "unknown"] == []
    classes = [name for name in tokamak.__all__ if name.endswith("Error")]
    assert [name for name in classes if f"| `tokamak.{name}` |" not in page] == []


def test_every_op_is_on_one_page():
    pages = (ROOT / "docs" / "site" / "ops").glob("*.md")
    named = [name for page in pages for block in re.findall(r"```{ops}\n(.*?)```", page.read_text(), re.S)
             for name in block.split()]
    ops = {name for name, value in vars(Operators).items() if not name.startswith("_") and callable(value)}
    assert sorted(named) == sorted(ops), "docs/site/ops has each op of fd.ops, once"
