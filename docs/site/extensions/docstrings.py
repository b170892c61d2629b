"""Docstrings of the package are prose with indented code: what Sphinx would read otherwise is told it so."""
import re


def in_its_terms(lines):
    """The lines of a docstring as reStructuredText."""
    result, is_code = [], False
    for i, line in enumerate(lines):
        begins = line.startswith("    ") and not is_code and (i == 0 or not lines[i - 1].strip())
        if begins:
            result += [".. code-block:: python", ""]
        is_code = begins or (is_code and (line.startswith("    ") or not line.strip()))
        result.append(line if is_code else re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", _escaped(line)))
    return result


def _escaped(line):
    """Stars and final underscores mean themselves, but for those in backticks."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else re.sub(r"\*|\w_(?=\W|$)|\._(?=\w)|\|",
                                                           lambda match: match[0][:-1] + "\\" + match[0][-1], part)
                   for part in parts)


def _process(app, what, name, found, options, lines):
    lines[:] = in_its_terms(lines)


def setup(app):
    """Tells Sphinx."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True}
