"""tokamak.profile(): what kernels and calls take."""
from __future__ import annotations

import dataclasses
import html
import itertools
import os
import types

from . import _tokamak
from ._arguments import integer
from ._tables import bytes_text, seconds_text, table

_numbers = itertools.count()  # of pictures on one page


@dataclasses.dataclass(frozen=True)
class KernelProfile:
    """The launches of a kernel, or of a copy, at one size of its operands. `bytes` are those of one launch, each
    operand once; times are in seconds."""

    name: str
    calls: int
    total_seconds: float
    least_seconds: float
    most_seconds: float
    bytes: int

    @property
    def mean_seconds(self) -> float:
        """Of one launch."""
        return self.total_seconds / self.calls

    @property
    def bytes_per_second(self) -> float:
        """The bandwidth that the launches reached together."""
        return self.bytes * self.calls / self.total_seconds if self.total_seconds > 0 else 0.0

    @property
    def time_ms(self) -> float:
        """total_seconds, as older scripts ask for it."""
        return self.total_seconds * 1e3

    @property
    def effective_bandwidth_gbs(self) -> float:
        """bytes_per_second, as older scripts ask for it."""
        return self.bytes_per_second / 1e9


@dataclasses.dataclass(frozen=True)
class CallProfile:
    """The calls of a program: their time, and how much of it was work of a processor. The rest is the host's: the
    package, the library, and compilations. On a GPU calls do not wait for their work, so that all is the host's."""

    name: str
    number: int  # of programs that have this name
    calls: int
    total_seconds: float
    work_seconds: float

    @property
    def host_seconds(self) -> float:
        """total_seconds without the work; parts of it that ran side by side count once each."""
        return max(0.0, self.total_seconds - self.work_seconds)


class Profile:
    """What happened while it was on; see profile(). Any thread may read it, also meanwhile."""

    def __init__(self, most_events: int = 1_000_000) -> None:
        most_events = integer("profile: most_events", most_events)
        if most_events < 0:
            raise ValueError(f"profile: most_events is {most_events}; legal are 0 and more")
        self._native = _tokamak.Profile(most_events)
        self._is_on = self._was_on = False

    def __enter__(self) -> Profile:
        if self._was_on:
            raise RuntimeError("a profile is on once: make another one by tokamak.profile()")
        self._is_on = self._was_on = True
        self._native.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> None:
        self._native.stop()
        self._is_on = False

    @property
    def kernels(self) -> list[KernelProfile]:
        """Kernels, copies and fills on the processor, those that took longest first."""
        rows = [KernelProfile(name, calls, total / 1e9, least / 1e9, most / 1e9, size)
                for name, calls, total, least, most, size in self._native.works()]
        return sorted(rows, key=lambda each: -each.total_seconds)

    @property
    def calls(self) -> list[CallProfile]:
        """The calls of each program, those that took longest first."""
        rows = [CallProfile(name, number, calls, total / 1e9, work / 1e9)
                for name, number, calls, total, work in self._native.calls()]
        return sorted(rows, key=lambda each: -each.total_seconds)

    @property
    def total_seconds(self) -> float:
        """Of all calls, those of several threads added."""
        return sum(each.total_seconds for each in self.calls)

    @property
    def kernel_seconds(self) -> float:
        """Of all kernels."""
        return sum(each.total_seconds for each in self.kernels)

    @property
    def host_seconds(self) -> float:
        """What calls took besides."""
        return sum(each.host_seconds for each in self.calls)

    # As older scripts ask for them.

    @property
    def kernel_profiles(self) -> list[KernelProfile]:
        """kernels."""
        return self.kernels

    @property
    def kernel_time_ms(self) -> float:
        """kernel_seconds."""
        return self.kernel_seconds * 1e3

    @property
    def host_time_ms(self) -> float:
        """host_seconds."""
        return self.host_seconds * 1e3

    @property
    def effective_bandwidth_gbs(self) -> float:
        """Of all kernels together."""
        moved = sum(each.bytes * each.calls for each in self.kernels)
        return moved / self.kernel_seconds / 1e9 if self.kernel_seconds > 0 else 0.0

    def table(self) -> str:
        """Calls and kernels, in words."""
        calls, kernels = self.calls, self.kernels
        if not calls and not kernels:
            return "no calls"
        parts = [_calls_table(calls), _kernels_table(kernels) if kernels else
                 "no kernels on the processor (of a GPU's work only the host's side is seen)"]
        if self._native.dropped:
            parts.append(f"{self._native.dropped} events are not in the trace, which has as many as it may")
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return f"<profile, on>\n{self.table()}" if self._is_on else self.table()

    def chrome_trace(self, path: str) -> None:
        """Writes what ran when as a JSON file of trace events, which ui.perfetto.dev and chrome://tracing open. Raises
        OSError where that cannot be, TypeError for what is no path."""
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            file.write(self._native.trace_json())

    def _repr_html_(self) -> str:
        picture = self._native.picture("profile", f"tokamak-profile-{next(_numbers)}-") if self.kernels else ""
        return (f'<pre style="line-height:1.3">{html.escape(self.table())}</pre>'
                f'<div style="overflow-x:auto">{picture}</div>')


def _calls_table(calls):
    rows = [["program", "calls", "total", "mean", "kernels", "host", "host / call"]]
    many = {each.name for each in calls if sum(other.name == each.name for other in calls) > 1}
    for each in calls:
        name = f"{each.name} #{each.number}" if each.name in many else each.name
        rows.append([name, str(each.calls), seconds_text(each.total_seconds),
                     seconds_text(each.total_seconds / each.calls), seconds_text(each.work_seconds),
                     seconds_text(each.host_seconds), seconds_text(each.host_seconds / each.calls)])
    return table(rows, numbers=range(1, 7))


def _kernels_table(kernels):
    rows = [["kernel", "launches", "total", "mean", "least", "most", "bytes", "bandwidth"]]
    for each in kernels:
        rows.append([each.name, str(each.calls), seconds_text(each.total_seconds), seconds_text(each.mean_seconds),
                     seconds_text(each.least_seconds), seconds_text(each.most_seconds), bytes_text(each.bytes),
                     f"{each.effective_bandwidth_gbs:.3g} GB/s"])
    return table(rows, numbers=range(1, 8))


def profile(most_events: int = 1_000_000) -> Profile:
    """Measures kernels and calls, of all threads, while a block runs.

        with tokamak.profile() as p:
            fd.execute(inputs)
        print(p.table())

    Profiles nest: each has what happened while it was on. Calls through tokamak.fuse and torch.compile count, too. The
    trace keeps the first `most_events` events; totals have all. Where no profile is on it costs nothing.
    """
    return Profile(most_events)


os.register_at_fork(after_in_child=_tokamak.forget_profiles_of_parent)
