"""What becomes of a call: segments, kernels, memory, and why. The records that explain() gives."""
from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping
from typing import Any

from ._html import page
from ._tables import bytes_text, count_text, seconds_text, table

WIDTH = 110  # of long reasons


@dataclasses.dataclass(frozen=True)
class Compilation:
    """Code of a kernel: what it was made for, and what differed from the nearest code that was there."""

    choice: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A kind of kernel that a segment is not, and why."""

    kind: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel at the sizes of the call. `kind` is the template, `parameters` those of its schedule on which it
    depends. `origin`: compiled, disk (where it was kept), interpreted or unknown."""

    name: str
    choice: str
    reason: str
    parameters: Mapping[str, int | bool]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    workspace_bytes: int
    origin: str
    compile_seconds: float
    compilations: tuple[Compilation, ...]  # of kernels of this structure on the device so far, oldest first


@dataclasses.dataclass(frozen=True)
class Segment:
    """A part of the definition that is one step: a kernel, a library's call or a view. Bytes count each operand of each
    launch once; `flops` counts functions of elements, steps of reductions, and 2 m n k for products (None: not
    known)."""

    number: int
    form: str
    kind: str | None  # None: it is no kernel, or scheduled by hand
    refusals: tuple[Refusal, ...]
    ops: tuple[str, ...]
    reads: tuple[str, ...]
    gives: tuple[str, ...]
    launches: int
    bytes_read: int
    bytes_written: int
    flops: float | None
    kernels: tuple[Kernel, ...]


@dataclasses.dataclass(frozen=True)
class Cut:
    """Why a segment that reads what another one gives is not part of it."""

    producer: int
    consumer: int
    reason: str


@dataclasses.dataclass(frozen=True)
class NewCall:
    """A call that had to make a plan: its inputs, what differed from the nearest call before, and how long it took,
    compilers included."""

    inputs: str
    reason: str
    seconds: float


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What becomes of a call. Printed as a table; to_dict() and to_json() are for programs."""

    name: str
    device: str
    sizes: Mapping[str, int]
    segments: tuple[Segment, ...]
    cuts: tuple[Cut, ...]
    intermediate_bytes: int  # held as long as the plan
    output_bytes: int
    steps: int
    streams: int
    waits_written: int
    waits: tuple[str, ...]  # that are left
    notes: tuple[str, ...]  # on outputs that are views, or could have been
    lower_seconds: float  # what does not depend on sizes: once
    new_calls: tuple[NewCall, ...]  # of the program so far, oldest first, up to 64
    known_calls: int  # whose plan was there
    other_programs: tuple[str, ...] = ()  # of a fused function, or for other devices: what they are for

    @property
    def peak_bytes(self) -> int:
        """Of intermediates and of outputs that the call makes."""
        return self.intermediate_bytes + self.output_bytes

    @property
    def bytes_read(self) -> int:
        """Of all segments."""
        return sum(each.bytes_read for each in self.segments)

    @property
    def bytes_written(self) -> int:
        """Of all segments."""
        return sum(each.bytes_written for each in self.segments)

    @property
    def flops(self) -> float | None:
        """Of all segments; None where one is not known."""
        known = [each.flops for each in self.segments if each.launches]
        return None if any(each is None for each in known) else sum(each or 0 for each in known)

    @property
    def compile_seconds(self) -> float:
        """What compilers took for the kernels of this call, those that ran side by side added; 0 for what was kept."""
        return sum(kernel.compile_seconds for segment in self.segments for kernel in segment.kernels)

    def to_dict(self) -> dict[str, Any]:
        """The same as dictionaries, lists, texts and numbers, with what is computed from them."""
        told = dataclasses.asdict(self)
        for name in ("peak_bytes", "bytes_read", "bytes_written", "flops", "compile_seconds"):
            told[name] = getattr(self, name)
        return _plain(told)

    def to_json(self, indent: int | None = 2) -> str:
        """to_dict() as a text."""
        import json

        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        parts = [self._head(), self._segments_table()]
        parts += [self._kernel_text(segment, kernel) for segment in self.segments for kernel in segment.kernels]
        refused = [[str(segment.number), each.kind, each.reason] for segment in self.segments
                   for each in segment.refusals]
        parts.append(_wrapped_table([["segment", "is no", "because"], *refused]))
        parts.append(_wrapped_table([["from", "to", "why they are apart"],
                                     *([str(each.producer), str(each.consumer), each.reason] for each in self.cuts)]))
        parts.append("\n".join(f"wait: {each}" for each in self.waits))
        parts.append("\n".join(self.notes))
        calls = [[each.inputs, seconds_text(each.seconds), each.reason] for each in self.new_calls]
        parts.append(_wrapped_table([["calls that made a plan", "took", "what was new"], *calls]))
        parts.append("\n".join(["other programs:", *(f"  {each}" for each in self.other_programs)])
                     if self.other_programs else "")
        return "\n\n".join(each for each in parts if each)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return page(f"{self.name} on {self.device}", str(self), [], None, [])

    def _head(self):
        sizes = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        kept = len(self.waits)
        flops = "" if self.flops is None else f", {count_text(self.flops)} flops"
        return (f"{self.name} on {self.device}{' with ' + sizes if sizes else ''}\n"
                f"{_counted(len(self.segments), 'segment')}, {_counted(self.steps, 'step')} on "
                f"{_counted(self.streams, 'stream')}, "
                f"{kept} of {self.waits_written} waits kept\n"
                f"reads {bytes_text(self.bytes_read)}, writes {bytes_text(self.bytes_written)}{flops}\n"
                f"memory: {bytes_text(self.peak_bytes)} ({bytes_text(self.intermediate_bytes)} of intermediates, "
                f"{bytes_text(self.output_bytes)} of outputs)\n"
                f"compiled in {seconds_text(self.lower_seconds)} + {seconds_text(self.compile_seconds)} of compilers; "
                f"{_counted(self.known_calls, 'call')} found "
                f"{'its' if self.known_calls == 1 else 'their'} plan")

    def _segments_table(self):
        rows = [["segment", "what", "kind", "reads", "gives", "read", "written", "flops", "code"]]
        for each in self.segments:
            code = ", ".join(sorted({kernel.origin for kernel in each.kernels})) or (
                "of the library" if each.launches else "")
            rows.append([str(each.number), each.form, each.kind or "", _names(each.reads), _names(each.gives),
                         bytes_text(each.bytes_read), bytes_text(each.bytes_written),
                         "" if each.flops is None else count_text(each.flops), code])
        return table(rows, numbers=(5, 6, 7))

    def _kernel_text(self, segment, kernel):
        shown = ", ".join(f"{name}={value}" for name, value in kernel.parameters.items())
        blocks = (" x ".join(map(str, _used(kernel.grid))) + " blocks of " + " x ".join(map(str, _used(kernel.block)))
                  + " threads")
        lines = [f"kernel of segment {segment.number}: {blocks}"
                 f"{f', {bytes_text(kernel.shared_bytes)} of shared memory' if kernel.shared_bytes else ''}, "
                 f"{kernel.origin}{f' in {seconds_text(kernel.compile_seconds)}' if kernel.compile_seconds else ''}"]
        if shown:
            lines.append(f"parameters: {shown}")
        for each in kernel.compilations:
            mark = " (this call's)" if each.choice == kernel.choice else ""
            lines.append(f"made because: {each.reason}{mark}; for {each.choice}")
        return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="    ", initial_indent="  " if i else "",
                                       break_long_words=False) for i, line in enumerate(lines))


def _counted(count, word):
    return f"{count} {word}{'' if count == 1 else 's'}"


def _names(names):
    return ", ".join(names[:4]) + (f", ... {len(names)} in all" if len(names) > 4 else "")


def _used(extents):
    """Without the trailing ones."""
    kept = list(extents)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return kept


def _wrapped_table(rows):
    """A table whose last column is wrapped; nothing for a head alone."""
    if len(rows) == 1:
        return ""
    before = sum(max(len(row[column]) for row in rows) + 2 for column in range(len(rows[0]) - 1))
    wrapped = [rows[0]]
    for row in rows[1:]:
        lines = textwrap.wrap(row[-1], max(40, WIDTH - before), break_long_words=False) or [""]
        wrapped.append([*row[:-1], lines[0]])
        wrapped += [[*[""] * (len(row) - 1), line] for line in lines[1:]]
    return table(wrapped)


def _plain(value):
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def explanation_of(told: Mapping[str, Any], device: str, program: Any,
                   other_programs: tuple[str, ...] = ()) -> Explanation:
    """The record of what the library tells of a call of a native program."""
    segments = tuple(_segment(number, each) for number, each in enumerate(told["segments"]))
    return Explanation(
        name=told["name"], device=device, sizes=told["sizes"], segments=segments,
        cuts=tuple(Cut(*each) for each in told["cuts"]), intermediate_bytes=told["intermediate_bytes"],
        output_bytes=told["output_bytes"], steps=told["steps"], streams=told["streams"],
        waits_written=told["waits_written"], waits=tuple(told["waits"]), notes=tuple(told["notes"]),
        lower_seconds=program.seconds_to_lower, new_calls=tuple(NewCall(*each) for each in program.new_calls()),
        known_calls=program.statistics()["known_calls"], other_programs=other_programs)


def _segment(number, told):
    verdicts = told["kinds"]
    return Segment(
        number=number, form=told["form"], kind=next((kind for kind, reason in verdicts if reason is None), None),
        refusals=tuple(Refusal(kind, reason) for kind, reason in verdicts if reason is not None),
        ops=tuple(told["ops"]), reads=tuple(told["reads"]), gives=tuple(told["gives"]), launches=told["launches"],
        bytes_read=told["bytes_read"], bytes_written=told["bytes_written"], flops=told["flops"],
        kernels=tuple(map(_kernel, told["kernels"])))


def _kernel(told):
    return Kernel(**{name: told[name] for name in ("name", "choice", "reason", "parameters", "shared_bytes",
                                                   "workspace_bytes", "origin", "compile_seconds")},
                  grid=tuple(told["grid"]), block=tuple(told["block"]),
                  compilations=tuple(Compilation(each["choice"], each["reason"]) for each in told["codes"]))
