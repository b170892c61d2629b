#!/usr/bin/env python3
"""What the GPU's counters say of some kernels of the memory-bound suite: profile.json, a line per kernel.

    scripts/gpu_profile.py --tokamak build/gpu/bin/tokamak --json profile.json [--cases REGEX]

Each case of benchmarks/suite_cases.txt that matches runs under Nsight Compute (ncu), which measures the first launch of each of its kernels, with the clocks
left alone. `stalls`: for what a warp waited, in warps per instruction that was issued, the largest first.
"""

import argparse
import csv
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys

STALLS = ("barrier branch_resolving dispatch_stall drain imc_miss lg_throttle long_scoreboard math_pipe_throttle membar mio_throttle "
          "no_instruction not_selected short_scoreboard sleeping tex_throttle wait").split()
FIGURES = {
    "us": "gpu__time_duration.sum",
    "of memory's throughput, %": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "issue slots used, %": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "warps of those that fit, %": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
    "threads": "launch__block_size",
    "blocks": "launch__grid_size",
}


def stall_metric(name):
    return f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio"


def profiled(tokamak, program, sizes, kernels):
    """The rows of ncu's table, one for each kernel."""
    metrics = ",".join([*FIGURES.values(), *map(stall_metric, STALLS)])
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--metrics", metrics, "-k", "regex:^tokamak_", "-c", str(kernels),
               tokamak, "bench", f"examples/suite/{program}.fusion", "--device", "cuda"]
    for size in sizes:
        command += ["--size", size]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120)
    lines = [line for line in said.stdout.splitlines() if line.startswith('"')]
    if len(lines) < 3:
        raise RuntimeError((said.stdout + said.stderr).strip()[-300:])
    table = list(csv.reader(io.StringIO("\n".join(lines))))
    units = dict(zip(table[0], table[1]))
    return [(dict(zip(table[0], row)), units) for row in table[2:]]


def number(row, units, metric):
    value = float(row[metric].replace(",", ""))
    return value / 1000 if units[metric] in ("ns", "nsecond") else value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokamak", required=True)
    parser.add_argument("--json", required=True, type=pathlib.Path)
    parser.add_argument("--cases", default=".")
    parser.add_argument("--suite", default="benchmarks/suite_cases.txt", type=pathlib.Path)
    arguments = parser.parse_args()
    if shutil.which("ncu") is None:
        sys.exit("profile: ncu is not here: not run")
    arguments.json.write_text("")
    failed = 0
    for line in arguments.suite.read_text().splitlines():
        words = line.split()
        if not words or line.startswith("#") or not re.search(arguments.cases, words[0]):
            continue
        sizes = [word for word in words[2:] if not word.startswith("bytes=")]
        try:
            rows = profiled(arguments.tokamak, words[1], sizes, kernels=2)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{words[0]}: {error}")
            failed += 1
            continue
        seen = set()
        for row, units in rows:
            figures = {name: round(number(row, units, metric), 2) for name, metric in FIGURES.items()}
            shape = (figures["blocks"], figures["threads"], figures["registers"])
            if shape in seen:  # the next run of a program with one kernel
                continue
            seen.add(shape)
            stalls = sorted(((round(number(row, units, stall_metric(name)), 2), name) for name in STALLS), reverse=True)
            result = {"case": words[0], "kernel": len(seen) - 1, **figures, "stalls": {name: value for value, name in stalls[:5]}}
            with arguments.json.open("a") as out:
                out.write(json.dumps(result) + "\n")
            print(json.dumps(result))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
