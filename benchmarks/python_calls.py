#!/usr/bin/env python3
"""What a call from Python costs: microseconds of the host, as the least over rounds of many calls.

    python benchmarks/python_calls.py [--gpu] [--rounds N] [--output FILE.json]

The program adds four arrays of 4 x 8 floats: one small kernel, so that the host's time is what is measured. Beside it
stands what the library of the arrays takes for its own adds. On a GPU calls are enqueued by the hundred and waited for
between rounds: the host's time, not the GPU's. Libraries that are not there are left out, which is said.
"""
import argparse
import importlib
import json
import platform
import sys
import timeit

import numpy as np

from tokamak import FusionDefinition


def program(arrays):
    with FusionDefinition() as fd:
        total, *others = [fd.define_tensor([-1, -1], contiguity=True) for _ in range(arrays)]
        for each in others:
            total = total + each
        fd.add_output(total)
    return fd


def least(call, rounds, calls, wait=lambda: None):
    """Microseconds of one call."""
    def one():
        started = timeit.default_timer()
        for _ in range(calls):
            call()
        taken = timeit.default_timer() - started
        wait()
        return taken / calls * 1e6

    for _ in range(3):
        one()
    return min(one() for _ in range(rounds))


def measure(name, make, own_add, rounds, calls, wait):
    rows = {}
    for arrays in (1, 4, 8):
        fd = program(arrays)
        given = [make() for _ in range(arrays)]
        rows[f"{arrays} arrays"] = least(lambda: fd.execute(given), rounds, calls, wait)
    fd, given, out = program(4), [make() for _ in range(4)], [make()]
    rows["4 arrays, out="] = least(lambda: fd.execute(given, out=out), rounds, calls, wait)
    fresh = [[make() for _ in range(4)] for _ in range(16)]
    turn = iter(range(1 << 60))
    rows["4 arrays, others each time"] = least(lambda: fd.execute(fresh[next(turn) % 16]), rounds, calls, wait)
    rows[f"{name}'s own three adds"] = least(lambda: own_add(given), rounds, calls, wait)
    return rows


def measure_jax(rounds, calls):
    """A call inside jax.jit and by itself, beside what JAX compiles of the same adds."""
    import jax

    import tokamak.jax

    fd, given = program(4), [jax.numpy.ones((4, 8)) for _ in range(4)]
    compiled, own = jax.jit(lambda *arrays: tokamak.jax.call(fd, *arrays)), jax.jit(lambda *arrays: eager(arrays))

    def wait():
        compiled(*given)[0].block_until_ready()

    return {"4 arrays, tokamak.jax.call in jax.jit": least(lambda: compiled(*given), rounds, calls, wait),
            "jax.jit of jax's own three adds": least(lambda: own(*given), rounds, calls, wait),
            "4 arrays, tokamak.jax.call eagerly":
                least(lambda: tokamak.jax.call(fd, *given), rounds, calls // 10, wait)}


def measure_operator(make, rounds, calls, wait):
    """An operator of torch, beside one whose work is torch's."""
    import torch

    import tokamak.torch

    given, made = [make() for _ in range(4)], tokamak.torch.op(program(4))
    own = torch.library.custom_op("tokamak::adds_of_torch", lambda *arrays: eager(arrays), mutates_args=(),
                                  schema="(Tensor a, Tensor b, Tensor c, Tensor d) -> Tensor")
    return {"4 arrays, tokamak.torch.op": least(lambda: made(*given), rounds, calls, wait),
            "an operator of torch's three adds": least(lambda: own(*given), rounds, calls, wait)}


def eager(given):
    return given[0] + given[1] + given[2] + given[3]


def found(name):
    """A library, or None, which is said."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not there", file=sys.stderr)


def libraries(on_gpu):
    """(name, how to make an array, how to wait, what else runs the same)."""
    if not on_gpu:
        yield "numpy", lambda: np.ones((4, 8), np.float32), lambda: None
    torch = found("torch")
    if torch is not None:
        device = "cuda" if on_gpu else "cpu"
        yield "torch", lambda: torch.ones(4, 8, device=device), torch.cuda.synchronize if on_gpu else lambda: None
    cupy = found("cupy") if on_gpu else None
    if cupy is not None:
        yield "cupy", lambda: cupy.ones((4, 8), "float32"), cupy.cuda.runtime.deviceSynchronize


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--output")
    options = parser.parse_args()
    calls = 100 if options.gpu else 5000
    results = {"machine": platform.processor() or platform.machine(), "python": platform.python_version(),
               "numpy": np.__version__, "microseconds": {}}
    for name, make, wait in libraries(options.gpu):
        if name != "numpy":
            results[name] = importlib.import_module(name).__version__
        results["microseconds"][name] = measure(name, make, eager, options.rounds, calls, wait)
        if name == "torch":
            results["microseconds"][name] |= measure_operator(make, options.rounds, calls, wait)
    jax = found("jax")
    if jax is not None and (not options.gpu or jax.default_backend() == "gpu"):
        results["jax"] = jax.__version__
        results["microseconds"]["jax"] = measure_jax(options.rounds, calls)
    if not options.gpu:
        x, y, z = (np.ones(1, np.float32) for _ in range(3))
        results["microseconds"]["numpy"]["add(x, y, out=z) of one element"] = least(
            lambda: np.add(x, y, out=z), options.rounds, calls)
    if options.gpu:
        import torch

        results["gpu"] = torch.cuda.get_device_name()
        compiled = torch.compile(lambda a, b, c, d: a + b + c + d)
        given = [torch.ones(4, 8, device="cuda") for _ in range(4)]
        results["microseconds"]["torch"]["torch.compile of them"] = least(
            lambda: compiled(*given), options.rounds, calls, torch.cuda.synchronize)
    for name, rows in results["microseconds"].items():
        for row, taken in rows.items():
            print(f"{name:8} {row:38} {taken:8.2f}")
    if options.output:
        with open(options.output, "w") as file:
            json.dump(results, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
