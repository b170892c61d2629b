#!/usr/bin/env python3
"""Prints what `tokamak simulate` predicts for all-gather and matmul on GPUs of one host, beside what was measured.

    benchmarks/simulated_overlap.py [--tokamak build/release/bin/tokamak] [--into FILE] [--check docs/simulate.md]

--into writes the tables between the lines `<!-- simulated overlap -->` and `<!-- end -->` of a page; --check exits 1
where the page holds others. Every rank has M / D rows of A[M, K] and all of B[K, N], all of bf16; all rows of A are
gathered and multiplied by B. The programs are host programs that this script writes.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MACHINE = ROOT / "examples" / "machines" / "h200.json"
BEGIN, END = "<!-- simulated overlap -->", "<!-- end -->"
# Measured on H200s of one host, NVLink multicast off, in microseconds: medians of 21, the slowest rank's.
SEQUENCE, WHOLE_STREAMS = "in sequence", "NCCL, 8 chunks, 8 streams"
BEST, COPY = "NCCL, best of 11", "copy engine, 4 chunks"


@dataclass
class Case:
    ranks: int
    sizes: tuple[int, int, int]  # M, K, N
    measured: dict[str, float] = field(default_factory=dict)


def case(ranks: int, m: int, k: int, n: int, sequence: float, streams: float | None, best: float, copy: float) -> Case:
    measured = {SEQUENCE: sequence, BEST: best, COPY: copy}
    if streams is not None:
        measured[WHOLE_STREAMS] = streams
    return Case(ranks, (m, k, n), measured)


CASES = [
    case(2, 8192, 8192, 8192, 1725, 2009, 1785, 1430),
    case(2, 16384, 4096, 8192, 1783, 1938, 1772, 1490),
    case(2, 8192, 14336, 4096, 1727, 1920, 1743, 1277),
    case(2, 65536, 4096, 1024, 1777, 1889, 1679, 972),
    case(2, 32768, 16384, 8192, 14769, 14866, 14243, 13512),
    case(4, 65536, 4096, 1024, 1990, None, 1999, 1364),
    case(4, 8192, 8192, 8192, 1939, None, 1759, 1528),
    case(4, 16384, 4096, 8192, 1853, None, 1836, 1527),
    case(4, 32768, 16384, 8192, 15188, None, 14917, 13380),
]


def tensor(number: int, sizes: list[str], mesh: str, scope: str = "g") -> str:
    kinds = ["deviceIdx.x" if size.startswith("D") else "S" for size in sizes]
    axes = ", ".join(f"i{kinds[i]}{100 * number + i}{{{size.lstrip('D')}}}" for i, size in enumerate(sizes))
    return f"T{number}_{scope}___bfloat[{axes}] (DeviceMesh{{{mesh}}})"


def allocate(name: str) -> str:
    elements = math.prod(int(extent) for extent in re.findall(r"\bi[\w.]+\{(\d+)\}", name))  # without reduction axes
    return f"  {name} = ALLOCATE(buffer={name}, mem_type=global, size={elements}, zero_init=false, resets_to_zero=false)\n"


def gathered(ranks: int, sizes: tuple[int, int, int], chunks: int) -> str:
    """A loop over chunks on streams, each with an all-gather and a product; one chunk: no loop."""
    k, n = str(sizes[1]), str(sizes[2])
    rows, mesh = str(sizes[0] // (ranks * chunks)), " ".join(map(str, range(ranks)))
    d = str(ranks)
    weights = tensor(1, [n, k], mesh)
    if chunks == 1:
        own, all_rows = tensor(0, ["D" + d, rows, k], mesh), tensor(4, [d, rows, k], mesh)
        suffix = f" (DeviceMesh{{{mesh}}})"
        result = tensor(3, [d, rows, n], mesh)[: -len(suffix)].rstrip("]") + f", rS399{{{k}}}]{suffix}"
        return (
            f"%HostIrContainer {{ ({own}, {weights}) -> ({result}) :\n"
            f"  Communication 0 (type=Allgather, team=({mesh}), input={own}, output={all_rows}, backend=NCCL)\n"
            f"  Wait Communication 0\n  {result}\n     = linear({all_rows},\n                {weights}      )\n"
            "} // %HostIrContainer\n"
        )
    s = str(chunks)
    own, all_rows = tensor(0, [s, "D" + d, rows, k], mesh), tensor(4, [s, d, rows, k], mesh)
    suffix = f" (DeviceMesh{{{mesh}}})"
    result = f"T3_g___bfloat[iStreamIdx300{{{s}}}, iS301{{{d}}}, iS302{{{rows}}}, iS303{{{n}}}, rS304{{{k}}}]{suffix}"
    own_chunk, chunk = tensor(5, ["D" + d, rows, k], mesh, "l"), tensor(6, [d, rows, k], mesh, "l")
    result_chunk = f"T7_l___bfloat[iS700{{{d}}}, iS701{{{rows}}}, iS702{{{n}}}, rS703{{{k}}}]{suffix}"
    return (
        f"%HostIrContainer {{ ({own}, {weights}) -> ({result}) :\n  GetCurrentStream into Stream 0\n"
        + allocate(all_rows)
        + allocate(result)
        + f"  FOR StreamIdx in iS0{{{s}}}:\n    SetCurrentStream to Stream ( StreamIdx % numberOfStreams )\n"
        + "    Synchronize Stream 0\n"
        f"  FOR StreamIdx in iS0{{{s}}}:\n    SetCurrentStream to Stream ( StreamIdx % numberOfStreams )\n"
        f"    {own_chunk}\n       = HirAliasSelect( {own}, axis = iS0{{{s}}}, index = StreamIdx )\n"
        f"    {chunk}\n       = HirAliasSelect( {all_rows}, axis = iS400{{{s}}}, index = StreamIdx )\n"
        f"    Communication 0 (type=Allgather, team=({mesh}), input={own_chunk}, output={chunk}, backend=NCCL)\n"
        f"    Wait Communication 0\n"
        f"    {result_chunk}\n       = HirAliasSelect( {result}, axis = iStreamIdx300{{{s}}}, index = StreamIdx )\n"
        f"    {result_chunk}\n       = linear({chunk},\n                {weights}      )\n"
        "    SetCurrentStream to Stream 0\n    Synchronize Stream ( StreamIdx % numberOfStreams )\n"
        "} // %HostIrContainer\n"
    )


def copied(ranks: int, sizes: tuple[int, int, int], chunks: int) -> str:
    """Own rows are multiplied first; meanwhile each chunk of the others' rows is sent, and then multiplied."""
    k, n = str(sizes[1]), str(sizes[2])
    rows = sizes[0] // ranks
    part = str(rows // chunks)
    everyone = range(ranks)
    inputs, outputs, allocations, posts, waits = [], [], "", "", ""
    number, posted = 0, 0

    def fresh(shape: list[str], rank: int) -> str:
        nonlocal number
        number += 1
        return tensor(number - 1, shape, str(rank))

    own = {(r, c): fresh([part, k], r) for r in everyone for c in range(chunks)}
    weights = {r: fresh([n, k], r) for r in everyone}
    inputs = [*own.values(), *weights.values()]

    def product(rank: int, rows_of: str) -> str:
        nonlocal number
        number += 1
        at = number - 1
        axes = f"iS{100 * at}{{{part}}}, iS{100 * at + 1}{{{n}}}, rS{100 * at + 2}{{{k}}}"
        result = f"T{at}_g___bfloat[{axes}] (DeviceMesh{{{rank}}})"
        outputs.append(result)
        return f"  {result}\n     = linear({rows_of},\n                {weights[rank]}      )\n"

    for c in range(chunks):
        for step in range(1, ranks):
            for r in everyone:
                to, buffer = (r + step) % ranks, fresh([part, k], (r + step) % ranks)
                allocations += allocate(buffer)
                posts += f"  P2PCommunication {posted} (type=send, buffer={own[r, c]}, peer={to}, backend=CUDA)\n"
                posts += f"  P2PCommunication {posted + 1} (type=recv, buffer={buffer}, peer={r}, backend=CUDA)\n"
                waits += f"  Wait Communication {posted + 1}\n" + product(to, buffer)
                posted += 2
    firsts = "".join(product(r, own[r, c]) for c in range(chunks) for r in everyone)
    ends = "".join(f"  Wait Communication {i}\n" for i in range(0, posted, 2))
    body = f"{allocations}{posts}{firsts}{waits}{ends}"
    return f"%HostIrContainer {{ ({', '.join(inputs)}) -> ({', '.join(outputs)}) :\n{body}}} // %HostIrContainer\n"


class Simulator:
    def __init__(self, tokamak: str, folder: Path) -> None:
        self.tokamak, self.folder = tokamak, folder

    def predicted(self, case: Case, text: str, transport: str, streams: int) -> float:
        program = self.folder / "program.host_ir"
        program.write_text(text)
        command = [self.tokamak, "simulate", str(program), "--ranks", str(case.ranks), "--machine", str(MACHINE)]
        command += ["--transport", transport, "--streams", str(streams), "--json"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr}")
        return float(json.loads(done.stdout)["us"])

    def all_forms(self, case: Case) -> dict[str, float]:
        pipelines = [self.predicted(case, gathered(case.ranks, case.sizes, c), "nccl", c) for c in (2, 4, 8, 16)]
        return {
            SEQUENCE: self.predicted(case, gathered(case.ranks, case.sizes, 1), "nccl", 1),
            WHOLE_STREAMS: pipelines[2],
            BEST: min(pipelines),
            COPY: self.predicted(case, copied(case.ranks, case.sizes, 4), "copy", 1),
        }


def tables(simulator: Simulator) -> Iterator[str]:
    yield "| GPUs | M, K, N | form | predicted us | measured us | error |"
    yield "|---|---|---|---|---|---|"
    errors: dict[tuple[int, str], list[float]] = {}
    for one in CASES:
        predicted = simulator.all_forms(one)
        for form in (SEQUENCE, WHOLE_STREAMS, BEST, COPY):
            if form not in one.measured:
                continue
            error = predicted[form] / one.measured[form] - 1
            errors.setdefault((one.ranks, form), []).append(abs(error))
            sizes = ", ".join(map(str, one.sizes))
            both = f"{predicted[form]:.0f} | {one.measured[form]:.0f}"
            yield f"| {one.ranks} | {sizes} | {form} | {both} | {100 * error:+.0f} % |"
    yield ""
    yield "| GPUs | form | mean error | largest |"
    yield "|---|---|---|---|"
    for (ranks, form), all_of in errors.items():
        yield f"| {ranks} | {form} | {100 * statistics.mean(all_of):.0f} % | {100 * max(all_of):.0f} % |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokamak", default=str(ROOT / "build" / "release" / "bin" / "tokamak"))
    parser.add_argument("--into", type=Path)
    parser.add_argument("--check", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(tables(Simulator(options.tokamak, Path(folder))))
    page = options.into or options.check
    if page is None:
        print(text)
        return 0
    old = page.read_text()
    before, rest = old.split(BEGIN, 1)
    new = f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}"
    if options.into:
        page.write_text(new)
    elif new != old:
        print(f"{page}: the tables are not those of the model; write them with --into {page}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
