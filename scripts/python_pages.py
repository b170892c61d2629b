#!/usr/bin/env python3
"""Runs the Python of pages and writes below each block what it prints; review the result as a diff.

    PYTHONPATH=build/release/python scripts/python_pages.py [--check] [PAGE]...    (default: all pages with such blocks)

A page is Markdown, or a notebook. Its ```python blocks are one script, which runs from top to bottom in a folder of its
own. A ```text block right behind one holds all that the block prints; `...` in it stands for anything. A block that
prints nothing has none. `<!-- needs: torch, jax -->` names the packages that a page needs besides NumPy: without them
it is left out. Python that is not run stands in a block with another name, and says so.

--check   changes nothing; exit code 1 if some page fails or shows other outputs
"""
import argparse
import contextlib
import dataclasses
import difflib
import importlib.util
import io
import json
import os
import pathlib
import re
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```$(?P<shown>\n\n```text\n(?P<output>.*?)^```$)?", re.M | re.S)
NEEDS = re.compile(r"<!-- needs: ([\w, ]+) -->")


class Wrong(Exception):
    """A page that does not do what it shows."""


@dataclasses.dataclass
class Block:
    code: str
    line: int  # of its first line in the page
    output: str | None  # that is shown, or None


def pages():
    """The pages of this tree that have Python, the notebook included."""
    found = [ROOT / "README.md", DOCS / "devices.md", DOCS / "index.md", *sorted(DOCS.glob("lessons/*.md")),
             *sorted(DOCS.glob("site/**/*.md")), *sorted(DOCS.glob("site/**/*.ipynb"))]
    return [page for page in found if blocks_of(page)]


def blocks_of(page):
    """The blocks of a page, in order. A notebook's outputs are not compared."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        return [Block("".join(cell["source"]), 1, None) for cell in cells]
    return [Block(match["code"], text.count("\n", 0, match.start("code")) + 1, match["output"])
            for match in BLOCK.finditer(text)]


def missing_for(page):
    """The packages that a page needs and that are not there."""
    named = NEEDS.search(page.read_text(encoding="utf-8"))
    names = re.findall(r"\w+", named[1]) if named else []
    return [name for name in names if importlib.util.find_spec(name) is None]


def outputs_of(page):
    """What each block of a page prints. Raises Wrong where one fails, with its place."""
    names, printed = {"__name__": "__page__"}, []
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="page_") as folder:
        os.chdir(folder)
        try:
            for block in blocks_of(page):
                printed.append(_printed(block, page, names))
        finally:
            os.chdir(before)
    return printed


def _printed(block, page, names):
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), names)
    except Exception:
        raise Wrong(f"{page}: the block at line {block.line} fails:\n{block.code}{traceback.format_exc()}") from None
    return "".join(f"{line.rstrip()}\n" for line in said.getvalue().rstrip("\n").splitlines())


def fits(shown, printed):
    """Whether an output is the one that is shown, in which `...` stands for anything."""
    return re.fullmatch(".*?".join(map(re.escape, shown.split("..."))), printed, re.S) is not None


def check(page):
    """Raises Wrong where a page shows something else than what its blocks print."""
    for block, printed in zip(blocks_of(page), outputs_of(page), strict=True):
        if page.suffix != ".ipynb" and not fits(block.output or "", printed):
            difference = difflib.unified_diff((block.output or "").splitlines(True), printed.splitlines(True),
                                              "shown", "printed")
            raise Wrong(f"{page}:{block.line}: the block prints something else than what is shown below it\n"
                        f"{''.join(difference)}update it by scripts/python_pages.py {page.name}")


def renewed(page):
    """The text of a page with its outputs written anew, where they differ from those that are shown."""
    printed = iter(outputs_of(page))

    def written(match):
        output = next(printed)
        if fits(match["output"] or "", output):
            return match[0]
        code = f"```python\n{match['code']}```"
        return f"{code}\n\n```text\n{output}```" if output else code

    return BLOCK.sub(written, page.read_text(encoding="utf-8"))


def _update(page, is_check):
    if is_check or page.suffix == ".ipynb":
        check(page)
        return
    text = renewed(page)
    if text != page.read_text(encoding="utf-8"):
        page.write_text(text, encoding="utf-8")
        print(f"updated: {page.relative_to(ROOT)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    failures = 0
    for page in [page.resolve() for page in options.pages] or pages():
        if missing_for(page):
            print(f"left out: {page.relative_to(ROOT)} needs {', '.join(missing_for(page))}")
            continue
        try:
            _update(page, options.check)
        except Wrong as reason:
            print(reason, file=sys.stderr)
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
