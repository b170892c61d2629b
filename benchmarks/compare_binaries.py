#!/usr/bin/env python3
"""Times two builds of the program on the processor, case by case, one right after the other on the same data.

The cases are those of suite_cases.txt (in their types, and the first of each bf16 program in f32) and their twins in f64, i32, i64 and bool
(benchmarks/twins). Each case is measured in turns, before and after; the ratio is that of the best times. Geomeans are by type and over all.

    python3 benchmarks/compare_binaries.py --before old/tokamak --after build/release/bin/tokamak --divide 64
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from cpu_suite import geomean, one_row_per_line, readCases

TWINS = Path(__file__).parent / "twins"
TWIN_SIZES = {"rows": 16384, "columns": 4096}


def programs(divide: int, folder: Path) -> list[tuple[str, str, Path, dict[str, int]]]:
    """Label, type, file and sizes of every case."""
    result = []
    for case in readCases(divide):
        text = case.text() if case.dtype == "bf16" else case.text().replace("bf16", "f32")
        file = folder / f"{case.program}_{case.dtype}.fusion"
        file.write_text(text)
        result.append((case.label, case.dtype, file, case.sizes))
    for file in sorted(TWINS.glob("*.fusion")):
        sizes = {**TWIN_SIZES, "rows": max(1, TWIN_SIZES["rows"] // divide)}
        result.append((file.stem, file.stem.rsplit("_", 1)[1], file, sizes))
    return result


def bestTime(tokamak: str, compiler: str, file: Path, sizes: dict[str, int], repeat: int, folder: Path) -> tuple[float, float]:  # noqa: N802
    """The best time of a run in microseconds of processors (of one, if there is one), and the milliseconds until the first run was compiled."""
    result = folder / "row.json"
    result.unlink(missing_ok=True)
    command = [tokamak, "bench", str(file), "--device", "cpu", "--repeat", str(repeat), "--json", str(result)]
    for name, value in sizes.items():
        command += ["--size", f"{name}={value}"]
    environment = {**os.environ, "TOKAMAK_CACHE_DIR": str(folder / "cache")}
    if compiler:
        environment["TOKAMAK_CC"] = compiler
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    row = json.loads(result.read_text())
    by = "best_processor_us" if len(os.sched_getaffinity(0)) == 1 else "best_us"
    return row[by], row["compile_ms"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--before-cc", default="", help="the C compiler of the first one (TOKAMAK_CC)")
    parser.add_argument("--after-cc", default="", help="the C compiler of the second one")
    parser.add_argument("--cases", default="", help="a regular expression that labels match")
    parser.add_argument("--divide", type=int, default=64, help="rows are divided by it")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--out", default="")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for label, dtype, file, sizes in programs(options.divide, folder):
            if not re.search(options.cases, label):
                continue
            times = {"before": math.inf, "after": math.inf}
            compiled = {"before": 0.0, "after": 0.0}
            for _ in range(options.rounds):
                for which in times:
                    compiler = options.before_cc if which == "before" else options.after_cc
                    us, ms = bestTime(getattr(options, which), compiler, file, sizes, options.repeat, folder)
                    times[which] = min(times[which], us)
                    compiled[which] = max(compiled[which], ms)
            rows.append({"case": label, "dtype": dtype, "before_us": times["before"], "after_us": times["after"],
                         "ratio": times["before"] / times["after"], "before_compile_ms": compiled["before"], "after_compile_ms": compiled["after"]})
            print(f"{label:48}{dtype:>6}{times['before']:10.1f}{times['after']:10.1f}{rows[-1]['ratio']:8.2f}"
                  f"{compiled['before']:9.0f}{compiled['after']:7.0f} ms", flush=True)
    summary = {dtype: geomean([row["ratio"] for row in rows if row["dtype"] == dtype]) for dtype in dict.fromkeys(row["dtype"] for row in rows)}
    summary["all"] = geomean([row["ratio"] for row in rows])
    summary["compile"] = geomean([row["before_compile_ms"] / row["after_compile_ms"] for row in rows])
    print("before / after, geomeans:", ", ".join(f"{name} {value:.3f}" for name, value in summary.items()))
    if options.out:
        result = {"processors": len(os.sched_getaffinity(0)), "rounds": options.rounds, "repeat": options.repeat, "divide": options.divide,
                  "load": os.getloadavg()[1], "geomeans": summary, "cases": rows}
        Path(options.out).write_text(one_row_per_line(result))


if __name__ == "__main__":
    main()
