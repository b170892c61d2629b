"""Programs that follow each other in several languages become tabs; files that blocks come from become captions.

On a page, a block of fusion, python or cpp and the console or text block right behind it are one program with its
output. Two programs with nothing in between that are in different languages say the same. What Python prints is marked
as such, and has the colours of fusions where it is one.
"""
import dataclasses
import pathlib
import re

TITLES = {"python": "Python", "fusion": "Text", "cpp": "C++"}  # in the order of tabs
OUTPUTS = ("console", "text")
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$\n?", re.M | re.S)


@dataclasses.dataclass
class Program:
    language: str
    text: str  # its blocks


def with_outputs_marked(text):
    """The text blocks behind Python with the class "output"."""

    def marked(match):
        language = "fusion" if re.match(r"(fusion|kernel) ", match[2]) else "text"
        return f"{match[1]}```{{code-block}} {language}\n:class: output\n\n{match[2]}```\n"

    return re.sub(r"(^```python\n(?:(?!^```).*\n)*^```\n\n)```text\n((?:(?!^```).*\n)*)```\n", marked, text, flags=re.M)


def with_captions(text):
    """The blocks with the names of their files above them."""

    def captioned(match):
        language, source, body = match.groups()
        if source is None:
            return match[0]
        return f"```{{code-block}} {language}\n:caption: {source}\n\n{body}```\n"

    return FENCE.sub(captioned, text)


def _runs(text):
    """The runs of programs, as (start, end, programs)."""
    runs, end = [], None
    for match in FENCE.finditer(text):
        language = match[1]
        follows = end is not None and not text[end:match.start()].strip()
        end = match.end()
        if language in TITLES and follows and runs:
            runs[-1][2].append(Program(language, match[0]))
        elif language in TITLES:
            runs.append([match.start(), end, [Program(language, match[0])]])
        elif language in OUTPUTS and follows and runs:
            runs[-1][2][-1].text += f"\n{match[0]}"
        else:
            end = None
            continue
        runs[-1][1] = end
    return runs


def with_tabs(text):
    """The text of a page with its programs as tabs."""
    result, done = [], 0
    for start, end, programs in _runs(text):
        by_language = {each.language: each.text for each in programs}
        result.append(text[done:start])
        done = end
        if not 1 < len(by_language) == len(programs):
            result.append(with_captions(with_outputs_marked(text[start:end])))
            continue
        items = []
        for language, title in TITLES.items():
            if language in by_language:
                shown = with_captions(with_outputs_marked(by_language[language]))
                items.append(f":::{{tab-item}} {title}\n:sync: {language}\n\n{shown}:::\n")
        result.append("::::{tab-set}\n" + "\n".join(items) + "::::\n")
    return "".join(result) + with_captions(text[done:])


def _read(app, docname, source):
    if pathlib.Path(app.env.doc2path(docname)).suffix == ".md":
        source[0] = with_tabs(source[0])


def setup(app):
    """Tells Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}
