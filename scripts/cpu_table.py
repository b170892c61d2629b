#!/usr/bin/env python3
"""Prints benchmarks/results/cpu_suite.json as the tables of docs/cpu_performance.md."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any


def ratio(row: dict[str, Any], peer: str) -> str:
    return f"{row[f'{peer}_us'] / row['latency_us']:.1f}" if f"{peer}_us" in row else "-"


def geomean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def main() -> None:
    result = json.loads(Path(sys.argv[1]).read_text())
    peak = result["peak_gflops"]
    plain = [row for row in result["cases"] if "gflops" not in row]
    heavy = [row for row in result["cases"] if "gflops" in row]
    print("| case | type | kernels | best us | best copy us | times copy (median) | jax / ours | numpy / ours |\n|---|---|---|---|---|---|---|---|")
    for row in plain:
        print(
            f"| {row['case']} | {row['dtype']} | {row['steps']} | {row['best_us']:.0f} | {row['best_copy_us']:.0f} "
            f"| {row['best_times_copy']:.2f} ({row['times_copy']:.2f}) | {ratio(row, 'jax')} | {ratio(row, 'numpy')} |"
        )
    within = sum(row["best_times_copy"] <= 1.3 for row in plain)
    print(f"\n{within} of {len(plain)} within 1.3 times the copy (best of each); geomean {geomean([r['best_times_copy'] for r in plain]):.2f}.\n")
    print("| case | type | flops per element | best us | times copy (median) | GFLOP/s | of the peak | jax / ours | numpy / ours |\n|---|---|---|---|---|---|---|---|---|")
    for row in heavy:
        print(
            f"| {row['case']} | {row['dtype']} | {row['flops_per_element']} | {row['best_us']:.0f} "
            f"| {row['best_times_copy']:.2f} ({row['times_copy']:.2f}) | {row['gflops']:.0f} | {100 * row['gflops'] / peak:.0f} % "
            f"| {ratio(row, 'jax')} | {ratio(row, 'numpy')} |"
        )
    print(f"\nThe peak: {peak:.0f} GFLOP/s of fused multiply-adds in registers on {result['processors']} processors (benchmarks/peak_flops.c).")
    print("Geomeans over all cases:", ", ".join(f"{name} {value:.2f}" for name, value in result["geomeans"].items()))
    print("A pointwise fusion:", ", ".join(f"{name} {value:.1f}" for name, value in result["compile"].items()))


if __name__ == "__main__":
    main()
