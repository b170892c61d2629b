#!/usr/bin/env python3
"""Prints what `tokamak simulate` predicts for layers of a transformer on 8 to 1,024 ranks.

    benchmarks/simulated_layers.py [--tokamak build/release/bin/tokamak] [--ranks 8,64,512] [--into docs/simulate.md]

The layer is the two products of an MLP, y = (x W1) W2 of bf16, as host programs that this script writes, over a mesh of
all ranks:
tensor: W1 and W2 are dealt out along the hidden axis, and partial sums of y are added up (Allreduce);
sequence: the same, x and y dealt out by rows (Allgather before, ReduceScatter behind);
data: x is dealt out by rows, and the gradient of W2, h^T dy, is added up (Allreduce).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MACHINE = ROOT / "examples" / "machines" / "h200_hosts.json"
BEGIN, END = "<!-- simulated layers -->", "<!-- end of layers -->"
ROWS, MODEL, HIDDEN = 65536, 16384, 65536


class Program:
    """Statements over tensors of one mesh."""

    def __init__(self, ranks: int) -> None:
        self.ranks, self.mesh = ranks, " ".join(map(str, range(ranks)))
        self.count, self.body, self.domains, self.communications = 0, "", "", 0

    def tensor(self, *sizes: int, dealt: int | None = None, reduced: int | None = None) -> str:
        """A tensor whose axis number `dealt` is dealt out; of a product, `reduced` is the extent that it sums over.

        A product without a dealt axis sums over what is dealt out: each rank has a term of it.
        """
        number = self.count
        self.count += 1
        loop, logical = [], []
        for i, size in enumerate(sizes):
            axis = f"iS{100 * number + i}{{{size}}}"
            logical.append(axis)
            if i != dealt:
                loop.append(axis)
                continue
            parts = f"ideviceIdx.x{100 * number + 10}{{{self.ranks}}}, iS{100 * number + 11}{{{size // self.ranks}}}"
            loop.append(parts)
            split = f"    outer split {axis} by {self.ranks} -> {parts}\n"
        if reduced is not None:
            loop.append(f"rS{100 * number + 20}{{{reduced}}}")
            logical.append(loop[-1])
        if dealt is not None:
            self.domains += f"  T{number}:{{\n{split}    logical [{', '.join(logical)}]\n  }}\n"
        terms = " (Partial{sum DIDx})" if reduced is not None and dealt is None else ""
        return f"T{number}_g___bfloat[{', '.join(loop)}] (DeviceMesh{{{self.mesh}}}){terms}"

    def say(self, result: str, text: str) -> str:
        self.body += f"  {result}\n     = {text}\n"
        return result

    def linear(self, result: str, rows: str, weights: str) -> str:
        return self.say(result, f"linear({rows},\n                {weights}      )")

    def communicate(self, kind: str, source: str, result: str) -> str:
        ends = f"input={source}, output={result}"
        self.body += (
            f"  Communication {self.communications} (type={kind}, team=({self.mesh}), {ends}, backend=NCCL)\n"
        )
        self.body += f"  Wait Communication {self.communications}\n"
        self.communications += 1
        return result

    def text(self, inputs: list[str], outputs: list[str]) -> str:
        signature = f"({', '.join(inputs)}) -> ({', '.join(outputs)})"
        return f"%HostIrContainer {{ {signature} :\n{self.body}}} // %HostIrContainer\nDomains:{{\n{self.domains}}}\n"


def mlp(ranks: int, by_rows: bool) -> str:
    """Tensor or sequence parallel: each rank has a part of the hidden axis, and a term of y."""
    program = Program(ranks)
    x = program.tensor(ROWS, MODEL, dealt=0 if by_rows else None)
    first, second = program.tensor(HIDDEN, MODEL, dealt=0), program.tensor(MODEL, HIDDEN, dealt=1)
    inputs = [x, first, second]
    if by_rows:
        x = program.communicate("Allgather", x, program.tensor(ROWS, MODEL))
    hidden = program.linear(program.tensor(ROWS, HIDDEN, dealt=1, reduced=MODEL), x, first)
    term = program.linear(program.tensor(ROWS, MODEL, reduced=HIDDEN), hidden, second)
    kind = "ReduceScatter" if by_rows else "Allreduce"
    y = program.communicate(kind, term, program.tensor(ROWS, MODEL, dealt=0 if by_rows else None))
    return program.text(inputs, [y])


def gradient(ranks: int) -> str:
    """Data parallel: this rank's columns of h^T and of dy^T give its term of the gradient of W2."""
    program = Program(ranks)
    hidden, dy = program.tensor(HIDDEN, ROWS, dealt=1), program.tensor(MODEL, ROWS, dealt=1)
    term = program.linear(program.tensor(HIDDEN, MODEL, reduced=ROWS), hidden, dy)
    return program.text([hidden, dy], [program.communicate("Allreduce", term, program.tensor(HIDDEN, MODEL))])


LAYERS = {
    "tensor parallel": lambda ranks: mlp(ranks, by_rows=False),
    "sequence parallel": lambda ranks: mlp(ranks, by_rows=True),
    "data parallel, gradient": gradient,
}


def table(tokamak: str, ranks: list[int]) -> Iterator[str]:
    yield "| layer | ranks | predicted us | compute alone | communication alone | overlap | peak GB per rank |"
    yield "|---|---|---|---|---|---|---|"
    for layer, write in LAYERS.items():
        for count in ranks:
            with tempfile.NamedTemporaryFile("w", suffix=".host_ir") as file:
                file.write(write(count))
                file.flush()
                command = [tokamak, "simulate", file.name, "--ranks", str(count), "--machine", str(MACHINE)]
                command += ["--transport", "nccl", "--json"]
                done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{layer}, {count} ranks: {done.stderr}")
            found = json.loads(done.stdout)
            peak = max(one["peak_bytes"] for one in found["classes"]) / 1e9
            times = " | ".join(f"{found[key]:.0f}" for key in ("us", "compute_us", "communication_us"))
            yield f"| {layer} | {count} | {times} | {found['overlap']:.2f} | {peak:.2f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokamak", default=str(ROOT / "build" / "release" / "bin" / "tokamak"))
    parser.add_argument("--ranks", default="8,64,512,1024")
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    text = "\n".join(table(options.tokamak, [int(count) for count in options.ranks.split(",")]))
    if options.into is None:
        print(text)
        return 0
    before, rest = options.into.read_text().split(BEGIN, 1)
    options.into.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
