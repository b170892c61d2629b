#!/usr/bin/env python3
"""Prints results of `scripts/gpu bench latency` as tables, or puts them between the markers of a document.

    scripts/gpu_table.py [--suite FILE] [--latency FILE] [--brief] [--into DOCUMENT] [--check]

--brief picks a dozen rows (the geomean is always that of all cases). --into replaces what stands between `<!-- gpu table -->` and `<!-- end -->`; with
--check nothing is written, and the exit code says whether the document is up to date.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

BRIEF = r"^(pointwise_mul|softmax_..d|layer_norm_..d|dropout_add|cross_entropy_bwd|rope_..d|transpose_add_relu)\."
RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results"


def suite_table(rows: list[dict[str, Any]], cases: str) -> str:
    lines = ["| case | kernels | us | of a copy |", "|---|---|---|---|"]
    lines += [
        f"| {row['case']} | {row['steps']} | {row['us']:.1f} | {row['percent_of_copy']:.0f} % |" for row in rows if re.search(cases, row["case"])
    ]
    geomean = math.exp(sum(math.log(row["percent_of_copy"]) for row in rows) / len(rows))
    return "\n".join(lines) + f"\n\nGeomean of all {len(rows)} cases: {geomean:.1f} % of a copy of as many bytes ({rows[0]['device']}).\n"


def latency_table(result: dict[str, Any]) -> str:
    us = result["microseconds"]
    lines = ["| tensor arguments | the driver's bare launch, us | a plan's step | with changed addresses |", "|---|---|---|---|"]
    lines += [f"| {n} | {us[f'bare {n}']:.2f} | {us[f'step {n}']:.2f} | {us[f'patched {n}']:.2f} |" for n in (0, 4, 20, 64)]
    return "\n".join(lines) + (
        f"\n\nA program of one kernel, called from C++: {us['one-kernel program']:.2f} us; one of 100 kernels: {us['100 kernels, same pointers']:.2f} us "
        f"(the bare launch of such a graph: {us['bare graph']:.2f} us), {us['100 kernels, other pointers']:.1f} us where every address is another one.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, default=RESULTS / "suite_h200.json")
    parser.add_argument("--latency", type=Path, default=RESULTS / "launch_latency_h200.json")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--into", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.suite.read_text().splitlines() if line.strip()]
    text = suite_table(rows, BRIEF if options.brief else "") + "\n" + latency_table(json.loads(options.latency.read_text()))
    if options.into is None:
        print(text, end="")
        return
    before = options.into.read_text()
    after = re.sub(r"(<!-- gpu table -->\n).*?(<!-- end -->)", lambda found: f"{found[1]}\n{text}\n{found[2]}", before, flags=re.DOTALL)
    if options.check:
        sys.exit(0 if after == before else f"{options.into}: its table is not that of the results; run the command beside it")
    options.into.write_text(after)


if __name__ == "__main__":
    main()
