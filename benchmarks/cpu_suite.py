#!/usr/bin/env python3
"""Times the memory-bound suite on the processor: ours, PyTorch (eager, and torch.compile), jax.jit, NumPy in chunks, and a plain copy
of as many bytes.

A round measures each of them once, one after the other. Figures are medians over rounds, `best` are the best of all. Short programs are
enqueued many at a time, like the copies between them; peers are compared with the time of one run until its result is there. Peers have
an allocator that keeps its memory, in large pages where the system gives them: what is compared is not page faults. A peer whose package
is missing is named and left out; scripts/setup_peers installs them all.

    "$(scripts/setup_peers)" benchmarks/cpu_suite.py --tokamak build/release/bin/tokamak --out benchmarks/results/cpu_suite.json
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from cpu_peers import jaxFunction, numpyFunction, peerOf
from suite import Case, input_shapes, suite_cases
from torch_peers import torch_peers

try:
    import ml_dtypes
    import numpy as np
except ImportError:
    np = None
try:
    import jax
except ImportError:
    jax = None
try:
    import torch
except ImportError:
    torch = None

PEERS = ("torch", "torch_compile", "jax", "numpy")
# Of glibc's malloc: memory is neither mapped for one call nor given back, and asked for in large pages.
KEEPING_MALLOC = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(1 << 28),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
HERE = Path(__file__).parent
ROW_NAMES = ("rows", "tokens", "batch")  # the first that a program has is divided
# f32 operations per element of the first input, for programs that compute much: a fused multiply-add is 2, a division
# 1; conversions, choices and the arithmetic on bits are not counted. exp has 26, tanh 29, sigmoid 38, silu 40; a random
# word has 15 integer operations, which are.
FLOPS = {
    "bias_gelu_fwd": 38,
    "gelu_bwd": 45,
    "gelu_bwd_sum_outer": 47,
    "silu_mul_fwd": 41,
    "silu_mul_bwd": 46,
    "dropout_add": 20,
    "dropout_layer_norm": 28,
    "softmax_fwd": 30,
    "softmax_channels": 30,
    "cross_entropy_fwd": 29,
    "cross_entropy_bwd": 29,
}
POINTWISE = "fusion f(T0: f32[n], T1: f32[n]) -> T2 {{ T2 = add(mul(sigmoid(T0), {0}.5), T1) }}\nsizes {{ n = 65536 }}\n"


def readCases(divide: int) -> list[Case]:  # noqa: N802
    """The cases of suite_cases.txt with fewer rows, then the first one of each bf16 program in f32."""
    cases = []
    for case in suite_cases():
        sizes = dict(case.sizes)
        rows = "tokens" if case.program.startswith("rope") else next(name for name in ROW_NAMES if name in sizes)
        sizes[rows] = max(1, sizes[rows] // divide)
        cases.append(Case(case.label, case.program, sizes, case.bytes // divide, case.dtype))
    known = {case.program for case in cases}
    seen = set()
    for case in list(cases):
        if case.dtype == "f32" or case.program + "_f32" in known or case.program in seen:
            continue
        seen.add(case.program)
        cases.append(Case(case.label + "(f32)", case.program, case.sizes, 2 * case.bytes, "f32"))
    return cases


def makeInputs(text: str, sizes: dict[str, int]) -> list[Any]:  # noqa: N802
    types = {"bf16": ml_dtypes.bfloat16, "f32": np.float32, "i64": np.int64}
    random = np.random.default_rng(0)
    limit = sizes.get("words", sizes.get("classes", 1))
    inputs = []
    for dtype, shape in input_shapes(text, sizes):
        if dtype == "i64":
            inputs.append(random.integers(0, limit, shape, dtype=np.int64))
        else:
            block = random.random(1 << 20, dtype=np.float32) + np.float32(0.5)
            inputs.append(np.resize(block, shape).astype(types[dtype]))
    return inputs


def timed(call: Callable[[], Any], seconds: float) -> float:
    """The median time of a call in microseconds; at least three are made."""
    times = []
    start = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - start < seconds and len(times) < 50):
        before = time.perf_counter()
        call()
        times.append(1e6 * (time.perf_counter() - before))
    return statistics.median(times)


def processorSeconds() -> float:  # noqa: N802
    """What finished children of this process, and theirs, have taken."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Ours:
    """Runs `tokamak bench` in processes of its own."""

    def __init__(self, tokamak: str, folder: Path) -> None:
        self.tokamak = tokamak
        self.folder = folder

    def bench(self, file: Path, sizes: dict[str, int], *, moved: int = 0, repeat: int = 11, cache: str = "cache", more: tuple[str, ...] = ()) -> Any:
        result = self.folder / "row.json"
        result.unlink(missing_ok=True)
        command = [self.tokamak, "bench", str(file), "--device", "cpu", "--repeat", str(repeat), "--json", str(result), *more]
        for name, value in sizes.items():
            command += ["--size", f"{name}={value}"]
        if moved:
            command += ["--bytes", str(moved)]
        environment = {name: value for name, value in os.environ.items() if name not in KEEPING_MALLOC}
        environment["TOKAMAK_CACHE_DIR"] = str(self.folder / cache)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(result.read_text())

    def compileTimes(self, count: int) -> dict[str, float]:  # noqa: N802
        """Of fresh pointwise fusions: from nothing, and from the disk cache in another process. On a busy machine the best time, and that of
        the processors (of both processes, the cache's subtracted), say more than the median."""
        cold, warm, processor = [], [], []

        def run(file: Path) -> tuple[float, float]:
            before = processorSeconds()
            compile_ms = self.bench(file, {}, repeat=1, cache="pointwise")["compile_ms"]
            return compile_ms, 1e3 * (processorSeconds() - before)

        for i in range(count):
            file = self.folder / "pointwise.fusion"
            file.write_text(POINTWISE.format(i))
            first, again = run(file), run(file)
            cold.append(first[0])
            warm.append(again[0])
            processor.append(first[1] - again[1])
        return {
            "cold_ms": statistics.median(cold),
            "cold_best_ms": min(cold),
            "cold_processor_ms": statistics.median(processor),
            "disk_ms": statistics.median(warm),
        }


def peakFlops(folder: Path) -> float:  # noqa: N802
    """GFLOP/s of fused multiply-adds in registers, on all processors at once."""
    program = folder / "peak_flops"
    source = str(HERE / "peak_flops.c")
    subprocess.run(["cc", "-O2", "-march=native", source, "-o", str(program)], check=True)  # noqa: S603, S607
    count = len(os.sched_getaffinity(0))
    running = [subprocess.Popen([program], stdout=subprocess.PIPE, text=True) for _ in range(count)]  # noqa: S603
    return sum(float(process.communicate()[0]) for process in running)


def elementsOf(text: str, sizes: dict[str, int]) -> int:  # noqa: N802
    """Of the largest input."""
    return max(math.prod(shape) for _, shape in input_shapes(text, sizes))


def torchCalls(case: Case, inputs: list[Any]) -> dict[str, Callable[[], Any]]:  # noqa: N802
    """Eager and compiled; what torch cannot do with these types is left out."""
    tensors = [torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if x.dtype == ml_dtypes.bfloat16 else torch.from_numpy(x) for x in inputs]
    peer = torch_peers(torch, case.sizes)[case.program.removesuffix("_f32")]
    torch._dynamo.reset()  # noqa: SLF001
    calls = {}
    for name, function in (("torch_us", peer.eager), ("torch_compile_us", torch.compile(peer.compiled, dynamic=False))):
        try:
            function(*tensors)
        except Exception as error:  # noqa: BLE001 (the other one is measured all the same)
            print(f"{case.label}: {name.removesuffix('_us')} fails: {str(error).splitlines()[0][:120]}")
            continue
        calls[name] = lambda function=function: function(*tensors)
    return calls


def measure(case: Case, ours: Ours, rounds: int, repeat: int) -> dict[str, Any]:
    text = case.text()
    if case.dtype == "f32":
        text = text.replace("bf16", "f32")
    file = ours.folder / f"{case.program}_{case.dtype}.fusion"
    file.write_text(text)
    peers: dict[str, Callable[[], Any]] = {}
    if np is not None:
        inputs = makeInputs(text, case.sizes)
        peer = peerOf(case.program, case.sizes)
        peers["numpy_us"] = numpyFunction(peer, inputs)
        if jax is not None:
            compiled = jaxFunction(peer, ml_dtypes.bfloat16 if case.dtype == "bf16" else np.float32)
            arrays = [jax.numpy.asarray(x) for x in inputs]
            peers["jax_us"] = lambda: compiled(*arrays)
        if torch is not None:
            peers.update(torchCalls(case, inputs))
        for call in peers.values():
            call()
    figures: dict[str, list[float]] = {}
    row = {}
    for _ in range(rounds):
        row = ours.bench(file, case.sizes, moved=case.bytes, repeat=repeat)
        for name in ("us", "latency_us", "copy_us", "best_us", "best_copy_us", "best_processor_us", "best_copy_processor_us"):
            figures.setdefault(name, []).append(row[name])
        for name, call in peers.items():
            figures.setdefault(name, []).append(timed(call, 0.15))
    result = {"case": case.label, "dtype": case.dtype, "steps": row["steps"], "bytes": row["bytes"]}
    # The time that passed holds other people's work, too; what one processor took does not. Of several it is the sum of
    # their times.
    by = "best_{}processor_us" if len(os.sched_getaffinity(0)) == 1 else "best_{}us"
    best = min(figures[by.format("")]), min(figures[by.format("copy_")])
    for name in [name for name in figures if name.startswith("best_")]:
        del figures[name]
    result.update({name: statistics.median(values) for name, values in figures.items()})
    of_torch = [name for name in ("torch_us", "torch_compile_us") if name in figures]
    if of_torch:
        best_of_torch = [min(times) for times in zip(*(figures[name] for name in of_torch), strict=True)]
        result["best_torch_over_ours"] = statistics.median(a / b for a, b in zip(best_of_torch, figures["latency_us"], strict=True))
    result["times_copy"] = statistics.median(a / b for a, b in zip(figures["us"], figures["copy_us"], strict=True))
    result["best_us"], result["best_copy_us"] = best
    result["best_times_copy"] = best[0] / best[1]
    flops = FLOPS.get(case.program.removesuffix("_f32"))
    if flops is not None:
        result["flops_per_element"] = flops
        result["gflops"] = flops * elementsOf(text, case.sizes) / best[0] / 1e3
    return result


def geomean(values: list[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values)) if values else math.nan


def report(rows: list[dict[str, Any]]) -> dict[str, float]:
    summary = {name: geomean([row[name] for row in rows]) for name in ("times_copy", "best_times_copy")}
    plain = [row["best_times_copy"] for row in rows if "gflops" not in row]
    if plain:
        summary["best_times_copy_without_much_arithmetic"] = geomean(plain)
    both = [row["best_torch_over_ours"] for row in rows if "best_torch_over_ours" in row]
    if both:
        summary["best_torch_over_ours"] = geomean(both)
    for peer in PEERS:
        both = [row[f"{peer}_us"] / row["latency_us"] for row in rows if f"{peer}_us" in row]
        if both:
            summary[f"{peer}_over_ours"] = geomean(both)
    return summary


def one_row_per_line(result):
    """JSON with every case (and every other field) on a line of its own."""
    def field(name, value):
        if isinstance(value, list):
            rows = ",\n".join("  " + json.dumps(row) for row in value)
            return f"{json.dumps(name)}: [\n{rows}\n]"
        return f"{json.dumps(name)}: {json.dumps(value)}"

    return "{\n" + ",\n".join(field(*item) for item in result.items()) + "\n}\n"


def commitHere() -> str:
    git = subprocess.run(["git", "-C", str(HERE), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return git.stdout.strip()


def processorName() -> str:
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return names[0] if names else "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokamak", default=str(HERE.parent / "build" / "release" / "bin" / "tokamak"))
    parser.add_argument("--cases", default="", help="a regular expression that labels match")
    parser.add_argument("--divide", type=int, default=8, help="rows are divided by it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=11, help="runs of ours and of the copy per round; the best of many is right on a busy machine, too")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--out", default="")
    parser.add_argument("--commit", default="", help="of the tree that was measured, where there is no git")
    options = parser.parse_args()
    global np, jax, torch
    if options.no_peers:
        np = jax = torch = None
    elif missing := [name for name, module in (("numpy and ml_dtypes", np), ("jax", jax), ("torch", torch)) if module is None]:
        print(f"{', '.join(missing)}: cannot be imported by {sys.executable}, left out (scripts/setup_peers installs them)")
    if not options.no_peers and any(os.environ.get(name) != value for name, value in KEEPING_MALLOC.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEPING_MALLOC})
    if torch is not None:
        torch.set_grad_enabled(False)
        torch.set_num_threads(len(os.sched_getaffinity(0)))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(options.tokamak, Path(folder))
        compile_times = ours.compileTimes(9)
        peak = peakFlops(Path(folder))
        print(f"fused multiply-adds: {peak:.0f} GFLOP/s")
        print("pointwise fusion:", ", ".join(f"{name} {value:.1f}" for name, value in compile_times.items()))
        print(f"{'case':44}{'ours us':>10}{'copy us':>10}{'/copy':>8}{'best':>8}" + "".join(f"{peer + ' /':>16}" for peer in PEERS))
        for case in readCases(options.divide):
            if not re.search(options.cases, case.label):
                continue
            row = measure(case, ours, options.rounds, options.repeat)
            rows.append(row)
            peers = "".join(f"{row.get(f'{peer}_us', math.nan) / row['latency_us']:16.2f}" for peer in PEERS)
            print(f"{case.label:44}{row['us']:10.0f}{row['copy_us']:10.0f}{row['times_copy']:8.2f}{row['best_times_copy']:8.2f}{peers}", flush=True)
    summary = report(rows)
    print("geomeans:", ", ".join(f"{name} {value:.2f}" for name, value in summary.items()))
    if options.out:
        result = {
            "commit": options.commit or commitHere(),
            "processor": processorName(),
            "processors": len(os.sched_getaffinity(0)),
            "rounds": options.rounds,
            "repeat": options.repeat,
            "load": os.getloadavg()[1],
            "divide": options.divide,
            "numpy": getattr(np, "__version__", None),
            "jax": getattr(jax, "__version__", None),
            "torch": getattr(torch, "__version__", None),
            "compile": compile_times,
            "peak_gflops": peak,
            "geomeans": summary,
            "cases": rows,
        }
        Path(options.out).write_text(one_row_per_line(result))


if __name__ == "__main__":
    main()
