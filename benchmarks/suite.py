"""The memory-bound suite: the cases of suite_cases.txt, and the types and shapes of the tensors that their programs take."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE.parent / "examples" / "suite"


@dataclass(frozen=True)
class Case:
    label: str
    program: str
    sizes: dict[str, int]
    bytes: int  # 0: all inputs and outputs once each
    dtype: str

    def text(self) -> str:
        return (PROGRAMS / f"{self.program}.fusion").read_text()


def suite_cases() -> list[Case]:
    cases = []
    for line in (HERE / "suite_cases.txt").read_text().splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        sizes = {name: int(value) for name, value in (word.split("=") for word in words[2:])}
        moved = sizes.pop("bytes", 0)
        cases.append(Case(words[0], words[1], sizes, moved, "f32" if words[1].endswith("_f32") else "bf16"))
    return cases


def input_types(text: str) -> list[tuple[str, list[str]]]:
    """Type and extents of the tensors that a program takes."""
    head = text[: text.index("->")]
    found = re.findall(r"T\d+: (\w+)\[([^\]]*)\]", head)
    return [(dtype, [extent.strip() for extent in extents.split(",")]) for dtype, extents in found]


def input_shapes(text: str, sizes: dict[str, int]) -> list[tuple[str, list[int]]]:
    """The same with numbers for extents."""
    values = dict(sizes)
    return [(dtype, [eval(extent, {}, values) for extent in extents]) for dtype, extents in input_types(text)]  # noqa: S307 ("32 * part", of our own texts)


def own_sizes(text: str) -> dict[str, int]:
    """The small sizes that a program itself names."""
    line = re.search(r"^sizes \{(.*)\}", text, re.MULTILINE)
    return {} if line is None else {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)", line[1])}
