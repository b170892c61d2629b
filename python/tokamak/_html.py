"""Definitions in notebooks: pictures and tables as one piece of HTML, whose styles are its own."""
from __future__ import annotations

import html
import itertools
from typing import Any

from . import _tokamak

_numbers = itertools.count()  # of pieces on one page: ids in pictures are told apart by them

_TITLES = {"fusion": "The fusion", "segments": "Segments, and why there is a cut", "host": "The host program",
           "plan": "The plan of the last call", "memory": "Memory of the last call"}
_BOX = "border:1px solid #d5dbe1;border-radius:6px;padding:8px 12px;background:#fff;color:#1d2733;max-width:100%"
_PICTURE = "overflow-x:auto;max-height:960px;overflow-y:auto;background:#fff"
_TEXT = ("margin:4px 0;padding:8px;background:#f6f8fa;color:#1d2733;overflow:auto;max-height:480px;"
         "font:12px/1.4 monospace;white-space:pre;text-align:left")
_SUMMARY = "cursor:pointer;font-weight:bold;margin:4px 0"


def _folded(title, content, is_open=False):
    state = ' open="open"' if is_open else ""
    return (f'<details{state} style="margin:2px 0"><summary style="{_SUMMARY}">{html.escape(title)}</summary>'
            f"{content}</details>")


def _text(text):
    return f'<pre style="{_TEXT}">{html.escape(text)}</pre>'


def page(heading: str, text: str, pictures: list[tuple[str, str]], explanation: Any, kernels: list[str]) -> str:
    """A piece of HTML: `text` is the definition in words, `kernels` are sources."""
    parts = [f'<div style="font-weight:bold;margin:2px 0 6px">{html.escape(heading)}</div>']
    for number, (name, svg) in enumerate(pictures):
        parts.append(_folded(_TITLES.get(name, name), f'<div style="{_PICTURE}">{svg}</div>', is_open=number == 0))
    if explanation is not None:
        parts.append(_folded("What became of the last call", _text(str(explanation))))
    for number, source in enumerate(kernels):
        parts.append(_folded(f"Source of kernel {number}", _text(source)))
    parts.append(_folded("As text", _text(text), is_open=not pictures))
    return f'<div style="{_BOX}">{"".join(parts)}</div>'


def page_of(definition: Any) -> str:
    """The piece for a FusionDefinition. What cannot be drawn is told in words: notebooks hide errors."""
    try:
        text = repr(definition)
    except Exception as error:  # of a subclass' definition()
        return page(f"{definition._name}, not defined", f"{type(error).__name__}: {error}", [], None, [])
    if not definition._is_complete:
        return page(f"{definition._name}, not finished", text, [], None, [])
    prefix = f"tokamak-{next(_numbers)}-"
    heading, pictures, explanation, kernels = definition._name, [], None, []
    try:
        has_run = definition._program is not None
        program, last = ((definition._program, definition._last) if has_run else
                         (definition._compiled_to_look((1, 0), False, []), _tokamak.LastCall()))
        pictures = program.pictures(last, prefix)
        if has_run:
            explanation = definition.explain()
            kernels = [source for _, _, source in program.last_kernel_texts(last, False) or ()]
            heading = f"{definition._name} on {explanation.device}"
    except _tokamak.Error as error:
        text = f"{error}\n\n{text}"
    return page(heading, text, pictures, explanation, kernels)
