#!/usr/bin/env python3
"""NumPy's side of mlp_streams.fusion, y = gelu(x W1^T) W2^T in f32: makes the inputs, and judges an output.

    mlp_streams.py make FOLDER [--rows N] [--features N] [--hidden N]    writes x.npy, w1.npy and w2.npy
    mlp_streams.py check FOLDER                                          compares y.npy with float64; exit code 1 if wrong
"""
import argparse
import math
import pathlib
import sys

import numpy as np

try:
    from scipy.special import erf
except ImportError:
    erf = np.vectorize(math.erf, otypes=[np.float64])


def make(folder, rows, features, hidden):
    random = np.random.default_rng(1)
    for name, shape, scale in (("x", (rows, features), 1.0), ("w1", (hidden, features), features**-0.5),
                               ("w2", (features, hidden), hidden**-0.5)):
        np.save(folder / f"{name}.npy", (scale * random.standard_normal(shape)).astype(np.float32))
        print(f"{name}.npy: f32{list(shape)}")


def dot_error(n):
    """Bound on the relative error of a sum of n products in f32, against the sum of their magnitudes."""
    return (2 * math.ceil(math.log2(n)) + 8) * np.finfo(np.float32).eps


def check(folder):
    x, w1, w2, y = (np.load(folder / f"{name}.npy") for name in ("x", "w1", "w2", "y"))
    x, w1, w2 = (a.astype(np.float64) for a in (x, w1, w2))
    before = x @ w1.T
    after = 0.5 * before * (1 + erf(before * math.sqrt(0.5)))
    expected = after @ w2.T
    # The first product's errors, times gelu's largest slope (1.13), arrive at the second one as independent ones.
    eps = np.finfo(np.float32).eps
    error = 1.13 * dot_error(x.shape[1]) * (np.abs(x) @ np.abs(w1).T) + 8 * eps * np.abs(after)
    bound = np.sqrt(error**2 @ (w2**2).T) + dot_error(w2.shape[1]) * (np.abs(after) @ np.abs(w2).T) + eps * np.abs(expected)
    if y.shape != expected.shape or y.dtype != np.float32:
        print(f"y.npy: {y.dtype}{list(y.shape)} where float32{list(expected.shape)} was expected")
        return 1
    wrong = ~(np.abs(y - expected) <= bound)
    print(f"y.npy: f32{list(y.shape)}, largest error {np.abs(y - expected).max():.2e}, root mean square "
          f"{np.sqrt(np.mean((y - expected) ** 2)):.2e} at values of {np.sqrt(np.mean(expected**2)):.2f}; "
          f"{np.count_nonzero(wrong)} of {y.size} elements out of bounds")
    return 1 if wrong.any() else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["make", "check"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=1024)
    arguments = parser.parse_args()
    if arguments.command == "make":
        return make(arguments.folder, arguments.rows, arguments.features, arguments.hidden)
    return check(arguments.folder)


if __name__ == "__main__":
    sys.exit(main())
