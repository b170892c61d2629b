#!/usr/bin/env python3
"""What one call of a small kernel costs the host in PyTorch, Triton and CuPy, for comparison with bench_launch_latency in the same run.

    python3 benchmarks/launch_peers.py [--json FILE] [--rounds N]

Each adds 1 to 32 floats on a GPU, as the one-kernel program of bench_launch_latency does, called from Python, which is their only surface. The rule is
that benchmark's: the variants take turns in every round; a round is 200 calls, after which the device is waited for; medians over rounds, in microseconds
per call. Every result is checked once. Libraries that are not installed are left out, and named.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CALLS = 200
WARM = 5
ELEMENTS = 32

Call = Callable[[], Any]
CUPY_SOURCE = """
extern "C" __global__ void add_one(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + 1.0f;
}
"""


def torch_calls() -> dict[str, Call]:
    import torch

    values = torch.zeros(ELEMENTS, device="cuda")
    out = torch.empty_like(values)
    compiled = torch.compile(lambda x: x + 1.0)
    torch.testing.assert_close(compiled(values), values + 1.0)
    return {
        "torch: x + 1": lambda: values + 1.0,
        "torch: add(x, 1, out=y)": lambda: torch.add(values, 1.0, out=out),
        "torch.compile: x + 1": lambda: compiled(values),
    }


def triton_calls() -> dict[str, Call]:
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def add_one(source, target, n, BLOCK: tl.constexpr):  # noqa: N803
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(target + at, tl.load(source + at, mask=at < n) + 1.0, mask=at < n)

    values = torch.zeros(ELEMENTS, device="cuda")
    out = torch.empty_like(values)

    def call() -> None:
        add_one[(1,)](values, out, ELEMENTS, BLOCK=ELEMENTS)

    call()
    torch.testing.assert_close(out, values + 1.0)
    return {"triton: kernel[grid](x, y, n)": call}


def cupy_calls() -> dict[str, Call]:
    import cupy

    values = cupy.zeros(ELEMENTS, dtype=cupy.float32)
    out = cupy.empty_like(values)
    kernel = cupy.RawKernel(CUPY_SOURCE, "add_one")
    count = cupy.int32(ELEMENTS)

    def call() -> None:
        kernel((1,), (ELEMENTS,), (values, out, count))

    call()
    cupy.testing.assert_array_equal(out, values + 1)
    return {"cupy: RawKernel": call, "cupy: add(x, 1, out=y)": lambda: cupy.add(values, 1.0, out=out)}


def waiting() -> Call:
    """Waits for the device, whoever made the work: both libraries work on the primary context."""
    try:
        import torch
    except ImportError:
        import cupy

        return cupy.cuda.Device().synchronize
    return torch.cuda.synchronize


def measured(calls: dict[str, Call], rounds: int) -> dict[str, float]:
    wait = waiting()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + WARM):
        for name, call in calls.items():
            wait()
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            if turn >= WARM:
                times[name].append(1e6 * (time.perf_counter() - start) / CALLS)
    return {name: round(statistics.median(of_one), 3) for name, of_one in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=51)
    options = parser.parse_args()
    calls: dict[str, Call] = {}
    missing = []
    for library, made in (("torch", torch_calls), ("triton", triton_calls), ("cupy", cupy_calls)):
        try:
            calls.update(made())
        except ImportError:
            missing.append(library)
    if not calls:
        raise SystemExit(f"none of them is here: {', '.join(missing)}")
    result = {"missing": missing, "microseconds": measured(calls, options.rounds)}
    for name, us in result["microseconds"].items():
        print(f"  {name:<32} {us:8.3f}")
    if missing:
        print(f"  not here: {', '.join(missing)}")
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
