#!/usr/bin/env python3
"""Times the memory-bound suite on the processor with and without kernels: compiled, and op by op as where there is no C compiler.

A round measures both, one right after the other; figures are the best of all runs and the medians over rounds.

    python3 benchmarks/op_by_op.py --out benchmarks/results/op_by_op.json
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from cpu_suite import HERE, Ours, geomean, one_row_per_line, readCases
from suite import Case


def measure(case: Case, ours: Ours, rounds: int, repeat: int) -> dict[str, Any]:
    file = ours.folder / f"{case.program}_{case.dtype}.fusion"
    file.write_text(case.text().replace("bf16", "f32") if case.dtype == "f32" else case.text())
    row: dict[str, Any] = {"case": case.label, "dtype": case.dtype}
    medians: dict[str, list[float]] = {"compiled": [], "op-by-op": []}
    best = dict.fromkeys(medians, math.inf)
    for _ in range(rounds):
        for way, times in medians.items():
            figures = ours.bench(file, case.sizes, moved=case.bytes, repeat=repeat, more=("--kernels", way))
            times.append(figures["us"])
            best[way] = min(best[way], figures["best_us"])
            row[f"{way} steps"] = figures["steps"]
    for way, times in medians.items():
        row[f"{way} us"] = statistics.median(times)
        row[f"{way} best us"] = best[way]
    row["times"] = row["op-by-op us"] / row["compiled us"]
    row["best times"] = best["op-by-op"] / best["compiled"]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokamak", default=str(HERE.parent / "build" / "release" / "bin" / "tokamak"))
    parser.add_argument("--cases", default="", help="a regular expression that labels match")
    parser.add_argument("--divide", type=int, default=64, help="rows are divided by it")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", default="")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(options.tokamak, Path(folder))
        for case in readCases(options.divide):
            if not re.search(options.cases, case.label):
                continue
            row = measure(case, ours, options.rounds, options.repeat)
            rows.append(row)
            print(f"{case.label:44}{row['compiled us']:10.0f}{row['op-by-op us']:10.0f}{row['times']:8.2f}{row['best times']:8.2f}", flush=True)
    geomeans = {name: geomean([row[name] for row in rows]) for name in ("times", "best times")}
    worst = max(rows, key=lambda row: row["best times"])
    print("op by op over compiled, geomeans:", geomeans, "worst:", worst["case"], worst["best times"])
    if options.out:
        result = {
            "processors": len(os.sched_getaffinity(0)),
            "load": os.getloadavg()[1],
            **{name: getattr(options, name) for name in ("divide", "rounds", "repeat")},
            "geomeans": geomeans,
            "cases": rows,
        }
        Path(options.out).write_text(one_row_per_line(result))


if __name__ == "__main__":
    main()
