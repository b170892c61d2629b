"""Compares the errors of an attention of bf16 with those of peers: attention_accuracy.py WORK_FOLDER COMMAND FILE.

Peers compute scores and softmax in f32. The flash peer rounds the weights to bf16 before it multiplies them by the
values, as a product of bf16 needs it; the best one rounds the result alone. Errors are against float64, all elements of
all seeds together.
"""

import pathlib
import subprocess
import sys

import numpy as np

SEEDS = 8
SIZES = (4, 8, 16, 8)


def rounded(x):
    """To bf16, ties to even; as the bits and as f32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    short = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return short, widened(short)


def widened(short):
    return (short.astype(np.uint32) << 16).view(np.float32)


def attention(q, k, v, weights_of=lambda weights: weights):
    scores = q @ np.swapaxes(k, -1, -2) * q.dtype.type(1 / np.sqrt(q.shape[-1]))
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights_of(powers) @ v / powers.sum(axis=-1, keepdims=True)


def main():
    folder, *command = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True, parents=True)
    errors = {"ours": [], "flash": [], "best": []}
    for seed in range(SEEDS):
        random = np.random.default_rng(seed)
        arguments, operands = [], []
        for label in ("T0", "T1", "T2"):
            short, wide = rounded(random.standard_normal(SIZES))
            np.save(folder / f"{label}.npy", short)
            arguments += ["--input", f"{label}={folder}/{label}.npy"]
            operands.append(wide)
        subprocess.run([*command, *arguments, "--output", f"T3={folder}/T3.npy"], check=True, stdout=subprocess.DEVNULL)
        exact = attention(*(operand.astype(np.float64) for operand in operands))
        results = {
            "ours": widened(np.load(folder / "T3.npy").view(np.uint16)),
            "flash": rounded(attention(*operands, weights_of=lambda weights: rounded(weights)[1]))[1],
            "best": rounded(attention(*operands))[1],
        }
        for name, result in results.items():
            errors[name].append(result - exact)
    rms = {name: float(np.sqrt(np.mean(np.square(each)))) for name, each in errors.items()}
    largest = {name: float(np.max(np.abs(each))) for name, each in errors.items()}
    for name in errors:
        print(f"{name}: rms error {rms[name]:.3g}, largest {largest[name]:.3g}")
    is_as_good = rms["ours"] <= min(rms["flash"], 1.3 * rms["best"]) and largest["ours"] <= 1.3 * largest["flash"]
    print(f"{SEEDS} seeds: {'ok' if is_as_good else 'worse than the peers'}")
    sys.exit(0 if is_as_good else 1)


main()
