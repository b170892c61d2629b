#!/usr/bin/env python3
"""torch.compile(backend="tokamak") beside torch's default backend and torch without a compiler, on the memory-bound
suite.

    python benchmarks/torch_compile.py [--device cpu|cuda] [--most-bytes N] [--rounds N] [--cases REGEX]
                                       [--output FILE.json]

The programs are those of torch_peers.py, as a user writes them. On the processor a case is made smaller along its rows
until its inputs take --most-bytes. A round times each backend once, in order: wall time on the processor, time between
events on a GPU, each after a call of the same that is not timed. Figures are medians; `compile_s` is the first call in
a process that has compiled something else before, with empty caches of its own, less a later call. Results are
compared with those of torch itself.
"""
from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

caches = tempfile.TemporaryDirectory()
os.environ.update(TOKAMAK_CACHE_DIR=f"{caches.name}/tokamak", TORCHINDUCTOR_CACHE_DIR=f"{caches.name}/inductor",
                  TORCHINDUCTOR_FX_GRAPH_CACHE="0")
sys.path.insert(0, str(Path(__file__).parent))

import torch  # noqa: E402
from suite import Case, input_shapes, suite_cases  # noqa: E402
from torch_peers import torch_peers  # noqa: E402

import tokamak.torch  # noqa: E402

BACKENDS = ("inductor", "tokamak")
TYPES = {"bf16": torch.bfloat16, "f32": torch.float32}
SIZES = {"bf16": 2, "f32": 4, "i64": 8}


def bytes_of(case: Case, sizes: dict[str, int]) -> int:
    return sum(SIZES[dtype] * math.prod(shape) for dtype, shape in input_shapes(case.text(), sizes))


def smaller(case: Case, most: int) -> dict[str, int]:
    """The sizes with fewer rows, images or tokens."""
    sizes = dict(case.sizes)
    along = [name for name in ("rows", "batch", "tokens", "words") if name in sizes]
    while bytes_of(case, sizes) > most:
        name = next((each for each in along if sizes[each] % 2 == 0 and sizes[each] > 2), None)
        if name is None:
            break
        sizes[name] //= 2
    return sizes


def inputs_of(case: Case, sizes: dict[str, int], device: str) -> list[Any]:
    limit = sizes.get("words", sizes.get("classes", 1))
    made = []
    for dtype, shape in input_shapes(case.text(), sizes):
        made.append(torch.randint(0, limit, shape, device=device) if dtype == "i64" else
                    (torch.rand(shape, device=device, dtype=torch.float32) + 0.5).to(TYPES[dtype]))
    return made


class Clock:
    def __init__(self, device: str) -> None:
        self.device = device
        if device == "cuda":
            self.flushed = torch.ones((8192, 8192), device=device)
            self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def microseconds(self, call: Any) -> float:
        if self.device == "cpu":
            started = time.perf_counter()
            call()
            return (time.perf_counter() - started) * 1e6
        self.flushed.sum()  # what the cache holds is not the case's; the call is enqueued meanwhile
        self.events[0].record()
        call()
        self.events[1].record()
        torch.cuda.synchronize()
        return self.events[0].elapsed_time(self.events[1]) * 1e3


def difference(got: Any, wanted: Any) -> float:
    """The largest relative error of an output, by norms."""
    worst = 0.0
    for a, b in zip(*(each if isinstance(each, (tuple, list)) else (each,) for each in (got, wanted)), strict=True):
        assert a.shape == b.shape, (a.shape, b.shape)
        distance, size = torch.linalg.vector_norm(a.float() - b.float()), torch.linalg.vector_norm(b.float())
        worst = max(worst, (distance / size).item() if size > 0 else distance.item())
    return worst


def measure(case: Case, clock: Clock, options: argparse.Namespace) -> dict[str, Any]:
    sizes = smaller(case, options.most_bytes) if options.device == "cpu" else case.sizes
    peer = torch_peers(torch, sizes)[case.program.removesuffix("_f32")]
    inputs = inputs_of(case, sizes, options.device)
    row: dict[str, Any] = {"case": case.label, "sizes": sizes}
    calls: dict[str, Any] = {}
    try:
        wanted = peer.compiled(*inputs)
        calls["eager"] = lambda: peer.compiled(*inputs)
    except Exception as error:  # noqa: BLE001 (torch has not got that kernel for these types)
        row["eager_failed"] = str(error)[:200]
        wanted = None
    for name in BACKENDS:
        torch._dynamo.reset()
        tokamak.torch.reports.clear()
        compiled = torch.compile(peer.compiled, backend=name, dynamic=False)
        started = time.perf_counter()
        try:
            got = compiled(*inputs)
            clock.wait()
            row[f"{name}_compile_s"] = time.perf_counter() - started
        except Exception as error:  # noqa: BLE001 (the other one is measured all the same)
            row[f"{name}_failed"] = str(error)[:300]
            continue
        if wanted is not None and not peer.is_random:
            row[f"{name}_error"] = difference(got, wanted)
        calls[name] = lambda compiled=compiled: compiled(*inputs)
        if name == "tokamak":
            row["left_in_torch"] = sorted({each for report in tokamak.torch.reports for each, _ in report.left})
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(options.rounds + 3):
        for name, call in calls.items():
            call()  # what another backend's threads do still, or its data in the caches, is not this one's
            clock.wait()
            taken = clock.microseconds(call)
            if turn >= 3:
                times[name].append(taken)
    row.update({f"{name}_us": statistics.median(each) for name, each in times.items()})
    for name in BACKENDS:
        if f"{name}_us" in row:
            row[f"{name}_compile_s"] -= row[f"{name}_us"] / 1e6
    if all(f"{name}_us" in row for name in BACKENDS):
        row["time_ratio"] = row["inductor_us"] / row["tokamak_us"]
        row["compile_ratio"] = row["tokamak_compile_s"] / row["inductor_compile_s"]
    return row


def geomean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--most-bytes", type=int, default=32 << 20)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cases", default="")
    parser.add_argument("--seconds", type=float, default=1e9, help="no case begins later than that")
    parser.add_argument("--output")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    clock = Clock(options.device)
    for name in BACKENDS:  # what a process does once
        torch.compile(lambda x: x.sin() * 2 + x.cos(), backend=name)(torch.ones(64, device=options.device))
    began = time.perf_counter()
    rows = []
    for case in suite_cases():
        if not re.search(options.cases, case.label) or time.perf_counter() - began > options.seconds:
            continue
        row = measure(case, clock, options)
        rows.append(row)
        eager, default, ours, ratio = (row.get(each, math.nan)
                                       for each in ("eager_us", "inductor_us", "tokamak_us", "time_ratio"))
        print(f"{row['case']:45} eager {eager:9.1f}  inductor {default:9.1f}  tokamak {ours:9.1f} us  "
              f"ratio {ratio:5.2f}  compile "
              f"{row.get('inductor_compile_s', math.nan):5.2f} {row.get('tokamak_compile_s', math.nan):5.2f} s  "
              f"error {row.get('tokamak_error', math.nan):.1e}  {' '.join(row.get('left_in_torch', []))}"
              f"{row.get('tokamak_failed', '')}", flush=True)
        if options.device == "cuda":
            torch.cuda.empty_cache()
    summary = {"command": " ".join(sys.argv),
               "device": torch.cuda.get_device_name() if options.device == "cuda" else platform.machine(),
               "threads": torch.get_num_threads(), "torch": torch.__version__, "cases": len(rows),
               "inductor_over_tokamak": geomean([row["time_ratio"] for row in rows if "time_ratio" in row]),
               "cold_compile_tokamak_over_inductor":
                   geomean([row["compile_ratio"] for row in rows if "compile_ratio" in row]),
               "largest_error": max((row["tokamak_error"] for row in rows if "tokamak_error" in row), default=None)}
    print(json.dumps(summary, indent=1))
    if options.output:
        lines = ",\n  ".join(map(json.dumps, rows))
        head = json.dumps(summary, indent=1).removesuffix("\n}")
        Path(options.output).write_text(f'{head},\n "rows": [\n  {lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
