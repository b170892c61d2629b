"""Prints what programs give for the published test vectors of Philox 4x32-10, on every way that a program can run."""

import os
import subprocess
import sys

import numpy as np

VECTORS = [
    ((0, 0, 0, 0), (0, 0)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)),
]


def signed(low, high):
    value = low | high << 32
    return value - 2**64 if value >= 2**63 else value


def main(tool, prefix):
    for way in ("single", "fused", "op by op", "interpreted"):
        environment = dict(os.environ, TOKAMAK_CACHE_DIR=prefix + ".cache")
        if way == "op by op":
            environment["TOKAMAK_CC"] = "/nowhere/cc"
        for counter, key in VECTORS:
            number, seed, offset = signed(*counter[2:]), signed(*key), signed(*counter[:2])
            with open(prefix + ".fusion", "w", encoding="utf-8") as file:
                file.write("fusion vectors(seed: i64, offset: i64) -> T1 {\n")
                file.write(f"  T1 = random_bits(shape=[4], seed=seed, offset=offset, number={number})\n}}\n")
            command = [tool, "run", prefix + ".fusion", "--grouping", "single" if way == "single" else "fused", "--check"]
            command += ["--kernels", "interpreted"] if way == "interpreted" else []
            command += ["--input", f"seed={seed}", "--input", f"offset={offset}", "--output", f"T1={prefix}.npy"]
            subprocess.run(command, check=True, capture_output=True, env=environment)
            print(f"{way}: " + " ".join(f"{word:08x}" for word in np.load(prefix + ".npy")))


main(*sys.argv[1:])
