#!/usr/bin/env python3
"""Prints results of `scripts/gpu bench peers latency` as tables, or puts them between the markers of a document.

    scripts/gpu_table.py [--suite FILE] [--peers FILE] [--latency FILE] [--launch-peers FILE] [--brief] [--into DOCUMENT] [--check]

Peers are those of the same run, on the same machine; without their file the table is ours alone. --brief picks a few rows and sentences (the geomeans are always those of all cases). --into replaces what stands between `<!-- gpu table -->` and `<!-- end -->`; with
--check nothing is written, and the exit code says whether the document is up to date.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BRIEF = r"^(softmax_fwd.16384x4096|softmax_fwd.2048x131072|layer_norm_fwd.16384x4096|layer_norm_bwd.8192x18432|dropout_add.16384x4096|rope_fwd.llama3_8b.*)$"
RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results"
SHOWN = "h200"  # the GPU of the documents' tables


def geomean(values: list[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))


def suite_table(rows: list[dict[str, Any]], cases: str) -> str:
    lines = ["| case | kernels | us | of a copy |", "|---|---|---|---|"]
    lines += [
        f"| {row['case']} | {row['steps']} | {row['us']:.1f} | {row['percent_of_copy']:.0f} % |" for row in rows if re.search(cases, row["case"])
    ]
    percent = geomean([row["percent_of_copy"] for row in rows])
    return "\n".join(lines) + f"\n\nGeomean of all {len(rows)} cases: {percent:.1f} % of a copy of as many bytes ({rows[0]['device']}).\n"


@dataclass(frozen=True)
class Compared:
    """A case of ours beside its peers' times."""

    ours: dict[str, Any]
    us: dict[str, float]  # by peer
    copy_us: float

    @property
    def best(self) -> str:
        return min(self.us, key=lambda peer: self.us[peer])

    def percent(self, us: float) -> float:
        """Of the copy in the same process."""
        return 100 * self.copy_us / us

    def ratio(self, peer: str) -> float:
        """Above 1: ours is faster."""
        return self.us[peer] / self.ours["us"]

    def compiled_ratio(self) -> str:
        return f"{self.ratio('torch.compile'):.2f}" if "torch.compile" in self.us else "-"


def compared(rows: list[dict[str, Any]], peers: dict[str, Any]) -> list[Compared]:
    """The cases that both have. Errors: another device, other bytes."""
    names = {
        "eager_us": "torch",
        "compile_us": "torch.compile",
        "autotune_us": "torch.compile, max-autotune",
        "triton_us": "Triton",
        "liger_us": "Liger",
        "jax_us": "jax",
    }
    if peers["device"] != rows[0]["device"]:
        sys.exit(f"the peers ran on {peers['device']}, ours on {rows[0]['device']}")
    both = []
    for row in rows:
        peer = peers["cases"].get(row["case"], {})
        if "copy_us" not in peer:
            continue
        if abs(peer["bytes"] - row["bytes"]) > 1e-3 * row["bytes"]:
            sys.exit(f"{row['case']}: the peers move {peer['bytes']} bytes, ours {row['bytes']}")
        both.append(Compared(row, {name: peer[key] for key, name in names.items() if key in peer}, peer["copy_us"]))
    return both


def brief_sentences(rows: list[dict[str, Any]], peers: dict[str, Any], us: dict[str, float]) -> str:
    compiled = [one for one in compared(rows, peers) if "torch.compile" in one.us]
    return (
        f"Geomeans of all {len(compiled)} cases, in % of a copy of as many bytes: ours {geomean([one.ours['percent_of_copy'] for one in compiled]):.1f}, torch.compile "
        f"{geomean([one.percent(one.us['torch.compile']) for one in compiled]):.1f} ({rows[0]['device']}; torch {peers['torch']}). "
        f"A launch with 20 tensors takes {us['step 20']:.2f} us, the driver's bare one {us['bare 20']:.2f} us.\n"
    )


def peers_table(rows: list[dict[str, Any]], peers: dict[str, Any], cases: str) -> str:
    both = compared(rows, peers)
    known = {one.ours["case"]: one for one in both}
    lines = ["| case | kernels | us | of a copy | best peer, us | ours, times torch.compile |", "|---|---|---|---|---|---|"]
    for row in rows:
        if re.search(cases, row["case"]):
            one = known.get(row["case"])
            peer = f"{one.us[one.best]:.1f} ({one.best}) | {one.compiled_ratio()}" if one is not None else "- | -"
            lines.append(f"| {row['case']} | {row['steps']} | {row['us']:.1f} | {row['percent_of_copy']:.0f} % | {peer} |")
    if cases:
        return "\n".join(lines) + "\n"
    compiled = [one for one in both if "torch.compile" in one.us]
    slower = sorted((one.ratio("torch.compile"), one.ours["case"]) for one in compiled if one.ratio("torch.compile") < 0.95)
    behind = sorted((one.ratio(one.best), one.ours["case"], one.best) for one in both if one.ratio(one.best) < 0.985)
    missing = [row["case"] for row in rows if row["case"] not in known]
    versions = ", ".join(f"{name} {peers[name]}" for name in ("torch", "triton", "liger", "jax") if name in peers)
    means = [
        f"Geomeans, in % of a copy of as many bytes ({rows[0]['device']}; {versions}):",
        "",
        "| cases | number | ours | theirs |",
        "|---|---|---|---|",
        f"| all | {len(rows)} | {geomean([row['percent_of_copy'] for row in rows]):.1f} | |",
        f"| with peers, the best of each case | {len(both)} | {geomean([one.ours['percent_of_copy'] for one in both]):.1f} "
        f"| {geomean([one.percent(one.us[one.best]) for one in both]):.1f} |",
        f"| with torch.compile | {len(compiled)} | {geomean([one.ours['percent_of_copy'] for one in compiled]):.1f} "
        f"| {geomean([one.percent(one.us['torch.compile']) for one in compiled]):.1f} |",
    ]
    said = [
        f"The same copies took {geomean([one.copy_us / one.ours['copy_us'] for one in both]):.3f} times as long among the peers.",
        f"Below 0.95 of torch.compile: {', '.join(f'{case} ({ratio:.2f})' for ratio, case in slower) or 'none'}.",
        f"More than 1.5 % behind the best peer: {', '.join(f'{case} ({ratio:.2f} of {peer})' for ratio, case, peer in behind) or 'none'}.",
    ]
    said += [f"Without peers: {', '.join(missing)}."] if missing else []
    return "\n".join(means) + "\n\n" + "\n".join(lines) + "\n\n" + "\n\n".join(said) + "\n"


def latency_table(result: dict[str, Any], peers: dict[str, Any] | None) -> str:
    us = result["microseconds"]
    lines = ["| tensor arguments | the driver's bare launch, us | a plan's step | with changed addresses |", "|---|---|---|---|"]
    lines += [f"| {n} | {us[f'bare {n}']:.2f} | {us[f'step {n}']:.2f} | {us[f'patched {n}']:.2f} |" for n in (0, 4, 20, 64)]
    return "\n".join(lines) + (
        f"\n\nA call from C++ takes {us['one-kernel program']:.2f} us for a program of one kernel, and {us['100 kernels, same pointers']:.2f} us for one of 100 "
        f"(the bare launch of such a graph: {us['bare graph']:.2f} us), {us['100 kernels, other pointers']:.1f} us if every address changes.\n"
    ) + ("" if peers is None else launch_peers(peers["microseconds"]))


def launch_peers(us: dict[str, float]) -> str:
    return "\nA call of such a kernel from Python, in the same run: " + ", ".join(f"`{name}` {value:.1f} us" for name, value in us.items()) + ".\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, default=RESULTS / f"suite_{SHOWN}.json")
    parser.add_argument("--peers", type=Path, default=RESULTS / f"peers_{SHOWN}.json")
    parser.add_argument("--latency", type=Path, default=RESULTS / f"launch_latency_{SHOWN}.json")
    parser.add_argument("--launch-peers", type=Path, default=RESULTS / f"launch_peers_{SHOWN}.json")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--into", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.suite.read_text().splitlines() if line.strip()]
    cases = BRIEF if options.brief else ""
    has_peers = options.peers.exists()
    suite = peers_table(rows, json.loads(options.peers.read_text()), cases) if has_peers else suite_table(rows, cases)
    called = json.loads(options.launch_peers.read_text()) if options.launch_peers.exists() else None
    latency = json.loads(options.latency.read_text())
    if options.brief and has_peers:
        text = suite + "\n" + brief_sentences(rows, json.loads(options.peers.read_text()), latency["microseconds"])
    else:
        text = suite + "\n" + latency_table(latency, called)
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
