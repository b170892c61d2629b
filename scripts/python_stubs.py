#!/usr/bin/env python3
"""Writes the stub of fd.ops, for help in editors and for type checkers, from the tables of python/tokamak/_ops.py, and
says of the extension module's stub, which nanobind made, what its containers hold.

    PYTHONPATH=build/release/python scripts/python_stubs.py FOLDER
"""
import inspect
import pathlib
import re
import sys
import textwrap

from tokamak._ops import CALLABLES, ROWS, Operators

WIDTH = 120
SPACE = "\N{NO-BREAK SPACE}"
HEAD = '''"""fd.ops, as type checkers see it. Written by scripts/python_stubs.py."""
from collections.abc import Sequence
from typing import Any, SupportsIndex, overload

from ._types import DataType
from ._values import AnyValue, Number, Scalar, ScalarOrNumber, Size, Tensor, Value, Vector
from .definition import FusionDefinition

ROWS: dict[str, Any]
CALLABLES: dict[str, Any]

def signature_of(name: str) -> Any: ...

class Namespace:
    _definition: FusionDefinition
    _name: str
    _missing: dict[str, str]
    def __init__(self, definition: FusionDefinition) -> None: ...
'''
# What a parameter takes, by its kind in the library's table.
TYPES = {"tensor": "Tensor", "tensors": "Sequence[Tensor]", "value": "Value", "scalar": "ScalarOrNumber",
         "scalars": "Sequence[Size]", "integer": "SupportsIndex", "integers": "Sequence[SupportsIndex]",
         "real": "Number", "flag": "bool", "flags": "Sequence[bool]", "type": "DataType", "name": "str"}
# One result, or two if logsumexp is true.
RESULTS = {"attention": "Any"}


def type_of(parameter, place, table):
    """What the parameter of a row takes, in Python's words; `place`: which one by position it is."""
    if parameter.theirs == "":
        return type(parameter.fallback).__name__
    names = [name for name, *_ in table]
    theirs = names[place] if parameter.theirs is None else parameter.theirs
    theirs = "axes" if theirs == "axis" and theirs not in names else theirs
    kind = table[names.index(theirs)][2]
    type_name = TYPES[kind]
    if theirs == "axes" and kind == "integers":
        type_name = f"SupportsIndex | {type_name}"
    return f"{type_name} | None" if parameter.fallback is None else type_name


def result_of(name, table):
    results = CALLABLES[name]["results"]
    if name in RESULTS or len(results) == 1:
        return RESULTS.get(name, "Tensor")
    has_optional = any(kind == "tensor" and not is_required for _, is_required, kind, _ in table)
    return f"tuple[Tensor, {'...' if has_optional else ', '.join(['Tensor'] * (len(results) - 1))}]"


def kept_together(words):
    """Without a place where a line may end."""
    return words.replace(" ", SPACE)


def method(name, words, result, doc=None):
    """The method's lines."""
    head = f"    def {name}("
    receiver = ["ops", "/"] if any(each.startswith("self:") for each in words) else ["self"]
    text = f"{head}{', '.join(kept_together(each) for each in [*receiver, *words])})"
    lines = textwrap.wrap(f"{text} -> {result}:".replace(") -> ", kept_together(") -> ")), WIDTH,
                          subsequent_indent=" " * len(head), break_long_words=False, break_on_hyphens=False)
    lines = [each.replace(SPACE, " ") for each in lines]
    if doc is None:
        return [*lines[:-1], f"{lines[-1]} ..."]
    body = textwrap.wrap(f'"""{" ".join(doc.split())}"""', WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return [*lines, *body]


def elementwise(name, doc):
    """A tensor if one operand is one, else a scalar."""
    names = [each.name for each in ROWS[name]]
    if len(names) == 1:
        return method(name, [f"{names[0]}: AnyValue"], "AnyValue", doc)
    lines = []
    for tensor in names:
        words = [f"{each}: {'Tensor' if each == tensor else 'Value'}" for each in names]
        lines += ["    @overload", *method(name, words, "Tensor", doc)]
    return [*lines, "    @overload", *method(name, [f"{each}: ScalarOrNumber" for each in names], "Scalar", doc)]


def row(name, doc):
    table = CALLABLES[name]["parameters"]
    if all(kind == "value" for _, _, kind, _ in table):
        return elementwise(name, doc)
    words = []
    for place, parameter in enumerate(ROWS[name]):
        if parameter.is_named_only and "*" not in words:
            words.append("*")
        fallback = "" if parameter.fallback is inspect.Parameter.empty else f" = {parameter.fallback!r}"
        words.append(f"{parameter.name}: {type_of(parameter, place, table)}{fallback}")
    return method(name, words, result_of(name, table), doc)


def by_hand(name, call, doc):
    signature = inspect.signature(call)
    words = []
    for each in list(signature.parameters.values())[1:]:
        if each.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        fallback = "" if each.default is inspect.Parameter.empty else f" = {each.default!r}"
        words.append(f"{each.name}: {each.annotation}{fallback}")
    return method(name, words, signature.return_annotation, doc)


def stub():
    lines = [HEAD, "class Operators(Namespace):", f'    """{inspect.getdoc(Operators)}"""', ""]
    for name, call in sorted(vars(Operators).items()):
        if name.startswith("_") or not callable(call):
            continue
        doc = inspect.getdoc(call)
        lines += by_hand(name, call, doc) if call.__wrapped__.__annotations__ else row(name, doc)
    return "\n".join(lines) + "\n"


# Strict checkers refuse containers of they do not know what.
CONTAINERS = {"list": "list[Any]", "dict": "dict[str, Any]", "tuple": "tuple[Any, ...]"}


def of_known_containers(text):
    if "import Any" not in text:
        text = f"from typing import Any\n{text}"
    return re.sub(r"\b(list|dict|tuple)\b(?!\[)", lambda found: CONTAINERS[found[1]], text)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    (folder / "_ops.pyi").write_text(stub(), encoding="utf-8")
    module = folder / "_tokamak.pyi"
    module.write_text(of_known_containers(module.read_text(encoding="utf-8")), encoding="utf-8")
