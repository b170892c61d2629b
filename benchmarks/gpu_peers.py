#!/usr/bin/env python3
"""Times the memory-bound suite of a peer on a GPU, for comparison with `tokamak bench` in the same run.

    python3 benchmarks/gpu_peers.py --peer torch --json FILE [--cases REGEX] [--budget SECONDS]     eager, and torch.compile in its default mode
    python3 benchmarks/gpu_peers.py --peer autotune --json FILE      torch.compile in mode max-autotune-no-cudagraphs
    python3 benchmarks/gpu_peers.py --peer triton|liger --json FILE  kernels by hand (kernel_peers.py)
    python3 benchmarks/gpu_peers.py --peer jax --json FILE
    python3 benchmarks/gpu_peers.py --peer torch --check

Cases, shapes, types and bytes are those of suite_cases.txt. PyTorch's times follow the rule of `tokamak bench`: per turn and peer a gibibyte is read,
then one call between two events; the peers and a copy of as many bytes take turns; medians. JAX owns its streams, so its times are by the clock: that
of many calls in a row on inputs that take turns, until the last result is there, per call; below 50 us that is mostly dispatch. Results of
torch.compile and of kernels by hand are compared with eager ones.

FILE holds one object: what ran, and per case what each peer took in microseconds. It is written after every case, and cases that it has are not
measured again. --check instead compares every definition with that of cpu_peers.py, on the processor and at the programs' own small sizes.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import json
import math
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from cpu_peers import jaxProgram, peerOf
from kernel_peers import liger_peers, triton_peers
from suite import Case, input_shapes, own_sizes, suite_cases
from torch_peers import torch_peers

print = functools.partial(print, flush=True)  # noqa: A001
WARM = 3
TOLERANCE = 0.02  # of the norm of what bf16 programs give; both round on the way, and not in the same places


def as_tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, tuple | list) else (results,)


class Results:
    """What has been measured, in a file."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        known = file is not None and file.exists()
        self.content: dict[str, Any] = json.loads(file.read_text()) if known else {"cases": {}}

    def case(self, label: str) -> dict[str, Any]:
        return self.content["cases"].setdefault(label, {})

    def save(self) -> None:
        if self.file is None:
            return
        rows = ",\n".join(f"  {json.dumps(label)}: {json.dumps(row)}" for label, row in self.content["cases"].items())
        head = "".join(f"{json.dumps(name)}: {json.dumps(value)},\n" for name, value in self.content.items() if name != "cases")
        beside = self.file.with_suffix(".part")
        beside.write_text(f'{{\n{head}"cases": {{\n{rows}\n}}\n}}\n')
        beside.replace(self.file)


class TorchSuite:
    def __init__(self, torch: Any, device: str, repeat: int) -> None:
        self.torch = torch
        self.device = device
        self.repeat = repeat
        if device == "cuda":
            self.flushed = torch.ones((16384, 16384), device=device)
            self.sums = torch.empty(16384, device=device)

    def inputs(self, case: Case, sizes: dict[str, int]) -> list[Any]:
        torch = self.torch
        types = {"bf16": torch.bfloat16, "f32": torch.float32}
        limit = sizes.get("words", sizes.get("classes", 1))
        made = []
        for dtype, shape in input_shapes(case.text(), sizes):
            if dtype == "i64":
                made.append(torch.randint(0, limit, shape, device=self.device))
            else:
                made.append(torch.rand(shape, device=self.device, dtype=types[dtype]) + 0.5)
        return made

    def median_times(self, calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
        """Of calls that take turns, in microseconds."""
        torch = self.torch
        times: dict[str, list[float]] = {name: [] for name in calls}
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for turn in range(WARM + self.repeat):
            for name, call in calls.items():
                torch.sum(self.flushed, dim=1, out=self.sums)
                start.record()
                call()
                stop.record()
                torch.cuda.synchronize()
                if turn >= WARM:
                    times[name].append(1e3 * start.elapsed_time(stop))
        return {name: statistics.median(values) for name, values in times.items()}

    def error(self, got: Any, expected: Any) -> float:
        """The largest relative error of an output, by norms."""
        norm = self.torch.linalg.vector_norm
        worst = 0.0
        for a, b in zip(as_tuple(got), as_tuple(expected), strict=True):
            if a.shape != b.shape or a.dtype != b.dtype:
                raise ValueError(f"{a.dtype}{list(a.shape)} where {b.dtype}{list(b.shape)} is expected")
            # A compiler may choose another order in memory. Row by row, in f32: copies of the largest outputs in f64
            # would not be small.
            rows = zip(a.reshape(-1).split(1 << 26), b.reshape(-1).split(1 << 26), strict=True)
            parts = [(norm(x.float() - y.float()).item(), norm(y.float()).item()) for x, y in rows]
            difference, size = (math.hypot(*values) for values in zip(*parts, strict=True))
            worst = max(worst, difference / size if size > 0 else difference)
        return worst

    def measure(self, case: Case, row: dict[str, Any]) -> None:
        torch = self.torch
        peer = torch_peers(torch, case.sizes)[case.program.removesuffix("_f32")]
        inputs = self.inputs(case, case.sizes)
        calls: dict[str, Callable[[], Any]] = {}
        expected: tuple[Any, ...] | None = None
        for function in dict.fromkeys((peer.eager, peer.compiled)):
            try:
                expected = as_tuple(function(*inputs))
                calls["eager"] = functools.partial(function, *inputs)
                break
            except Exception as error:  # noqa: BLE001 (torch has not got that kernel for these types)
                row["eager_failed"] = repr(error)[:300]
        torch._dynamo.reset()
        before = time.perf_counter()
        try:
            compiled = functools.partial(torch.compile(peer.compiled, dynamic=False), *inputs)
            got = as_tuple(compiled())
            torch.cuda.synchronize()
            row["compile_seconds"] = round(time.perf_counter() - before, 3)
            if expected is not None and not peer.is_random:
                row["error"] = self.error(got, expected)
                if not row["error"] <= TOLERANCE:
                    raise ValueError(f"torch.compile and eager differ by {row['error']:.2g} of the norm")
            calls["compile"] = compiled
            expected = expected or got
            del got
        except Exception as error:  # noqa: BLE001 (eager's figure is still one)
            row["compile_failed"] = repr(error)[:300]
        if expected is None:
            return
        row["bytes"] = case.bytes or sum(x.numel() * x.element_size() for x in [*inputs, *expected])
        del expected
        half = max(1, row["bytes"] // 2)
        source, target = (torch.ones(half, device=self.device, dtype=torch.uint8) for _ in range(2))
        calls["copy"] = lambda: target.copy_(source)
        row.update({f"{name}_us": value for name, value in self.median_times(calls).items()})


    def measure_other(self, case: Case, row: dict[str, Any], name: str, function: Callable[..., Any]) -> None:
        """Another way to compute a case, beside a copy; it is compared with torch's own."""
        torch = self.torch
        inputs = self.inputs(case, case.sizes)
        peer = torch_peers(torch, case.sizes)[case.program.removesuffix("_f32")]
        before = time.perf_counter()
        got = as_tuple(function(*inputs))
        torch.cuda.synchronize()
        row[f"{name}_compile_seconds"] = round(time.perf_counter() - before, 3)
        if not peer.is_random:
            try:
                expected = as_tuple(peer.eager(*inputs))
            except Exception:  # noqa: BLE001 (torch has not got that kernel for these types)
                expected = as_tuple(peer.compiled(*inputs))
            error = self.error(got, expected)
            if not error <= TOLERANCE:
                raise ValueError(f"{name} and eager differ by {error:.2g} of the norm")
            del expected
        moved = case.bytes or sum(x.numel() * x.element_size() for x in [*inputs, *got])
        del got
        source, target = (torch.ones(max(1, moved // 2), device=self.device, dtype=torch.uint8) for _ in range(2))
        times = self.median_times({name: lambda: function(*inputs), "copy": lambda: target.copy_(source)})
        row[f"{name}_us"], row[f"{name}_copy_us"] = times[name], times["copy"]


class AutotunedSuite(TorchSuite):
    """torch.compile in the mode that times its choices."""

    MODE = "max-autotune-no-cudagraphs"

    def measure(self, case: Case, row: dict[str, Any]) -> None:
        peer = torch_peers(self.torch, case.sizes)[case.program.removesuffix("_f32")]
        self.torch._dynamo.reset()
        self.measure_other(case, row, "autotune", self.torch.compile(peer.compiled, dynamic=False, mode=self.MODE))


class KernelSuite(TorchSuite):
    """Kernels by hand, where there are any."""

    def __init__(self, torch: Any, repeat: int, name: str) -> None:
        super().__init__(torch, "cuda", repeat)
        self.name = name
        self.peers = liger_peers() if name == "liger" else triton_peers()

    def measure(self, case: Case, row: dict[str, Any]) -> None:
        function = self.peers.get(case.program.removesuffix("_f32"))
        if function is not None:
            self.measure_other(case, row, self.name, function)


class JaxSuite:
    def __init__(self, jax: Any, repeat: int) -> None:
        self.jax = jax
        self.repeat = repeat

    def inputs(self, case: Case, sizes: dict[str, int], seed: int) -> list[Any]:
        jax, jnp = self.jax, self.jax.numpy
        limit = sizes.get("words", sizes.get("classes", 1))
        made = []
        for i, (dtype, shape) in enumerate(input_shapes(case.text(), sizes)):
            key = jax.random.key(1000 * seed + i)
            if dtype == "i64":
                made.append(jax.random.randint(key, shape, 0, limit))
            else:
                made.append(jax.random.uniform(key, shape, jnp.bfloat16 if dtype == "bf16" else jnp.float32) + 0.5)
        return [x.astype(jnp.bfloat16) if dtype == "bf16" else x for x, (dtype, _) in zip(made, input_shapes(case.text(), sizes), strict=True)]

    def measure(self, case: Case, row: dict[str, Any]) -> None:
        jax = self.jax
        function = jaxProgram(peerOf(case.program, case.sizes), jax.numpy.bfloat16 if case.dtype == "bf16" else jax.numpy.float32)
        first = self.inputs(case, case.sizes, 0)
        moved = sum(x.nbytes for x in first)
        # Together far more than the second-level cache holds.
        sets = [first] + [self.inputs(case, case.sizes, i) for i in range(1, max(1, min(64, -(-(256 << 20) // moved))))]
        for inputs in sets:
            jax.block_until_ready(function(*inputs))
        before = time.perf_counter()
        jax.block_until_ready(function(*first))
        calls = max(10, min(200, int(0.02 / (time.perf_counter() - before))))
        times = []
        for _ in range(7):
            before = time.perf_counter()
            for i in range(calls):
                result = function(*sets[i % len(sets)])
            jax.block_until_ready(result)
            times.append(1e6 * (time.perf_counter() - before) / calls)
        row["jax_us"] = statistics.median(times)


def check() -> int:
    """Every definition in PyTorch against NumPy's, in f32 and small."""
    import numpy as np  # noqa: PLC0415
    import torch  # noqa: PLC0415

    suite = TorchSuite(torch, "cpu", 1)
    wrong = 0
    programs = {case.program.removesuffix("_f32"): case for case in suite_cases()}
    for name, case in programs.items():
        sizes = {**own_sizes(case.text()), **({"group": 4} if name == "rope_bwd" else {})}
        peer = torch_peers(torch, sizes)[name]
        if peer.is_random:
            print(f"{name}: random, not compared")
            continue
        narrow = suite.inputs(case, sizes)
        inputs = [x.float() if x.dtype == torch.bfloat16 else x for x in narrow]
        outputs = [torch.from_numpy(np.ascontiguousarray(x)) for x in as_tuple(peerOf(name, sizes).function(np, *(x.numpy() for x in inputs)))]
        for way in ("compiled", "eager"):
            try:
                got = as_tuple(getattr(peer, way)(*inputs))
                error = suite.error([x.contiguous() for x in got], [x.to(y.dtype) for x, y in zip(outputs, got, strict=True)])
            except NotImplementedError as missing:
                print(f"{name}, {way}: not on the processor: {str(missing)[:80]}")
                continue
            if error > 1e-4:
                wrong += 1
                print(f"{name}, {way}: differs by {error:.2g} of the norm")
    print(f"{len(programs)} programs, {wrong} wrong")
    return int(wrong > 0)


def make_suite(peer: str, repeat: int, results: Results) -> Any:
    if peer != "jax":
        import torch  # noqa: PLC0415

        if not torch.cuda.is_available():
            sys.exit("torch has no GPU here")
        results.content.update(device=torch.cuda.get_device_name(0), torch=torch.__version__, repeat=repeat)
        if peer == "autotune":
            results.content["autotune"] = AutotunedSuite.MODE
            return AutotunedSuite(torch, "cuda", repeat)
        if peer in ("triton", "liger"):
            results.content[peer] = importlib.metadata.version("triton" if peer == "triton" else "liger-kernel")
            return KernelSuite(torch, repeat, peer)
        return TorchSuite(torch, "cuda", repeat)
    import jax  # noqa: PLC0415

    if jax.devices()[0].platform != "gpu":
        sys.exit("jax has no GPU here")
    results.content["jax"] = jax.__version__
    return JaxSuite(jax, repeat)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", choices=("torch", "autotune", "triton", "liger", "jax"), required=True)
    parser.add_argument("--cases", default="", help="a regular expression that labels match")
    parser.add_argument("--repeat", type=int, default=25)
    parser.add_argument("--budget", type=float, default=240, help="seconds after which no further case is begun")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        sys.exit(check())
    begin = time.monotonic()
    results = Results(options.json)
    suite = make_suite(options.peer, options.repeat, results)
    failed = left = 0
    for case in suite_cases():
        if not re.search(options.cases, case.label):
            continue
        row = results.case(case.label)
        if ("copy_us" if options.peer == "torch" else f"{options.peer}_us") in row:
            continue
        if time.monotonic() - begin > options.budget:
            left += 1
            continue
        try:
            suite.measure(case, row)
        except Exception as error:  # noqa: BLE001 (the other cases are measured all the same)
            row[f"{options.peer}_failed"] = repr(error)[:300]
        failed += any(name.endswith("_failed") for name in row)
        if options.peer != "jax":
            suite.torch.cuda.empty_cache()
        figures = ", ".join(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items())
        print(f"{case.label}: {figures}")
        results.save()
    results.content[f"{options.peer}_seconds"] = round(time.monotonic() - begin, 1)
    results.save()
    print(f"{options.peer}: {failed} cases with failures, {left} left for want of time")
    sys.exit(int(failed + left > 0))


if __name__ == "__main__":
    main()
