#!/usr/bin/env python3
"""Prints results of benchmarks/cpu_suite.py as the tables of docs/cpu_performance.md.

    scripts/cpu_table.py benchmarks/results/cpu_suite.json [MORE.json ...] [--into docs/cpu_performance.md]

--into writes them between the lines `<!-- cpu tables -->` and `<!-- end -->` of a page.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PEERS = {"torch": "torch", "torch_compile": "torch.compile", "jax": "jax", "numpy": "NumPy"}
GEOMEANS = {
    "times_copy": "ours over a copy",
    "best_times_copy": "of the best calls",
    "best_times_copy_without_much_arithmetic": "of the best calls of cases with little arithmetic",
    "best_torch_over_ours": "the better torch over ours",
    "torch_over_ours": "torch",
    "torch_compile_over_ours": "torch.compile",
    "jax_over_ours": "jax",
    "numpy_over_ours": "NumPy",
}
LEAST = 0.97  # of the better of torch and torch.compile
AS_A_COPY = 1.1  # a case that takes no more of a copy's time is bound by memory


def ratio(row: dict[str, Any], peer: str) -> str:
    time = row.get(f"{peer}_us")
    return "-" if time is None or math.isnan(time) else f"{time / row['latency_us']:.2f}"


def geomean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def bestTorch(row: dict[str, Any]) -> float | None:  # noqa: N802
    """The time of the better of torch and torch.compile over ours; none where neither ran."""
    value = row.get("best_torch_over_ours")
    return None if value is None or math.isnan(value) else value


def cases(rows: list[dict[str, Any]], peak: float) -> Iterator[str]:
    peers = list(PEERS)
    yield "| case | type | kernels | us | times copy (best) | GFLOP/s, of the peak | " + " | ".join(PEERS.values()) + " |"
    yield "|---" * (6 + len(peers)) + "|"
    for row in rows:
        rate = f"{row['gflops']:.0f}, {100 * row['gflops'] / peak:.0f} %" if "gflops" in row else ""
        yield (
            f"| {row['case']} | {row['dtype']} | {row['steps']} | {row['us']:.0f} | {row['times_copy']:.2f} ({row['best_times_copy']:.2f}) "
            f"| {rate} | " + " | ".join(ratio(row, peer) for peer in peers) + " |"
        )


def behind(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Cases behind the better torch: those at a copy's speed, and the others."""
    slower = sorted((row for row in rows if (bestTorch(row) or 1) < LEAST), key=lambda row: bestTorch(row) or 1)
    for title, chosen in (
        (f"at most {AS_A_COPY} of a copy's time, so that memory bounds both", [r for r in slower if r["times_copy"] <= AS_A_COPY]),
        ("slower than a copy", [r for r in slower if r["times_copy"] > AS_A_COPY]),
    ):
        said = ", ".join(f"{r['case']} {r['dtype']} {bestTorch(r):.2f} ({r['times_copy']:.2f} of a copy)" for r in chosen)
        yield f"Below {LEAST} of the better torch, {title} ({len(chosen)}): {said or 'none'}."


def page(result: dict[str, Any]) -> Iterator[str]:
    rows, peak = result["cases"], result["peak_gflops"]
    yield (
        f"Rows divided by {result['divide']}; {result['rounds']} rounds on {result['processors']} processors, load {result['load']:.1f}; "
        f"peak {peak:.0f} GFLOP/s of fused multiply-adds in registers (benchmarks/peak_flops.c). Times are medians; the columns of peers are their time over ours."
    )
    yield ""
    yield from cases(rows, peak)
    yield ""
    torch = [value for row in rows if (value := bestTorch(row)) is not None]
    yield f"The better of torch and torch.compile takes {geomean(torch):.2f} times our time on the geomean of the {len(torch)} cases that ran."
    yield ""
    yield from behind(rows)
    yield ""
    yield "Geomeans: " + ", ".join(f"{GEOMEANS[name]} {value:.2f}" for name, value in result["geomeans"].items()) + "."
    ms = result["compile"]
    yield (
        f"A pointwise fusion compiles in {ms['cold_ms']:.1f} ms (best {ms['cold_best_ms']:.1f}; "
        f"{ms['cold_processor_ms']:.1f} of processor time), and from the disk cache in {ms['disk_ms']:.1f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    pages = ["\n".join(page(json.loads(path.read_text()))) for path in options.results]
    text = "\n\n".join(pages) + "\n"
    if options.into is None:
        print(text, end="")
        return
    before, mark, rest = options.into.read_text().partition("<!-- cpu tables -->\n")
    _, end, after = rest.partition("<!-- end -->")
    if not mark or not end:
        parser.error(f"{options.into} has no lines `<!-- cpu tables -->` and `<!-- end -->`")
    options.into.write_text(before + mark + "\n" + text + "\n" + end + after)


if __name__ == "__main__":
    main()
