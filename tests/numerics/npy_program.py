"""Runs programs by the command line, inputs and outputs in .npy files, and compares results element by element."""

import os
import subprocess
import sys
import tempfile

import numpy as np

from element_formats import ALL, FLOATS, NUMPY_TYPE, exact, largest, ulp


class Program:
    """Lines of one fusion, its inputs, and what each output must be."""

    def __init__(self, name):
        self.name = name
        self.inputs = []  # (dtype, array)
        self.scalars = []  # (dtype, name, text)
        self.lines = []
        self.outputs = []  # (label, title, dtype, check)
        self.labels = 0

    def _label(self):
        self.labels += 1
        return f"T{self.labels}"

    def input(self, dtype, array):
        label = self._label()
        self.inputs.append((label, dtype, np.asarray(array)))
        return label

    def scalar(self, dtype, name, text):
        self.scalars.append((dtype, name, text))

    def output(self, call, title, dtype, check):
        """`check(array)` gives complaints about the exact values of the output of `call`."""
        label = self._label()
        self.lines.append(f"  {label} = {call}")
        self.outputs.append((label, title, dtype, check))

    def text(self):
        def declared(label, dtype, array):
            return f"{label}: {dtype}[{', '.join(str(size) for size in array.shape)}]"

        scalars = [f"{name}: {dtype}" for dtype, name, _ in self.scalars]
        inputs = ", ".join([*(declared(*row) for row in self.inputs), *scalars])
        outputs = ", ".join(row[0] for row in self.outputs)
        return f"fusion {self.name}({inputs}) -> ({outputs}) {{\n" + "\n".join(self.lines) + "\n}\n"

    def run(self, tool):
        """Complaints about the outputs, each naming its title. Raises when the tool fails."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, f"{self.name}.fusion")
            with open(file, "w", encoding="utf-8") as text:
                text.write(self.text())
            command = [tool, "run", file]
            for label, dtype, array in self.inputs:
                assert array.dtype == NUMPY_TYPE[dtype], (label, dtype, array.dtype)
                np.save(os.path.join(folder, f"{label}.npy"), array)
                command += ["--input", f"{label}={folder}/{label}.npy"]
            for _, name, value in self.scalars:
                command += ["--input", f"{name}={value}"]
            for label, *_ in self.outputs:
                command += ["--output", f"{label}={folder}/{label}.npy"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"{self.name}: exit code {done.returncode}: {done.stderr}\n{self.text()}")
            complaints = []
            for label, title, dtype, check in self.outputs:
                array = np.load(os.path.join(folder, f"{label}.npy"))
                if array.dtype != NUMPY_TYPE[dtype]:
                    complaints.append(f"{title}: gives elements of type {array.dtype}, not {dtype}")
                else:
                    complaints += [f"{title}: {complaint}" for complaint in check(exact(dtype, array))]
            return complaints


def faults(dtype, actual, expected, bound):
    """Where `actual` is wrong: NaN, infinities and the signs of zero at the reference's places, the rest within `bound`."""
    if dtype not in FLOATS:
        return actual != expected
    is_nan = np.isnan(expected)
    with np.errstate(invalid="ignore"):
        is_near = np.abs(actual - expected) <= bound
        may_overflow = np.abs(expected) + bound > largest(dtype) + ulp(dtype, largest(dtype)) / 2
    is_same = actual == expected
    is_overflow = np.isinf(actual) & may_overflow & (np.signbit(actual) == np.signbit(expected))
    has_other_sign = (expected == 0) & (bound == 0) & (np.signbit(actual) != np.signbit(expected))
    return np.where(is_nan, ~np.isnan(actual), ~(is_near | is_same | is_overflow) | has_other_sign)


def compare(dtype, actual, expected, bound, operands=(), may_differ=None):
    """A complaint with the first fault, or none. `operands`: arrays to print at its place."""
    expected = np.asarray(expected)
    if actual.shape != expected.shape:
        return [f"has the shape {actual.shape}, not {expected.shape}"]
    bound = np.broadcast_to(bound, expected.shape)
    wrong = faults(dtype, actual, expected, bound)
    if may_differ is not None:
        wrong = wrong & ~may_differ
    count = np.count_nonzero(wrong)
    if count == 0:
        return []
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    values = ", ".join(repr(operand[at]) for operand in operands)
    distance = ""
    if dtype in FLOATS:
        with np.errstate(invalid="ignore"):
            ulps = np.where(wrong, np.abs(actual - expected) / ulp(dtype, expected), 0)
        distance = f"; bound {float(bound[at]):.4g}, {float(ulps[at]):.4g} ulp here, at most {float(np.nanmax(ulps)):.4g}"
    return [
        f"{count} of {wrong.size} elements differ; first at {list(at)} ({values}): "
        f"got {actual[at]!r}, expected {expected[at]!r}{distance}"
    ]


def main(programs_of):
    """The command line: TOOL [NAME...] runs the named programs (all) and exits 1 on a complaint."""
    tool, *names = sys.argv[1:]
    count, complaints = 0, []
    for program in programs_of(tool):
        if names and program.name not in names:
            continue
        complaints += program.run(tool)
        count += len(program.outputs)
    print(*complaints, f"{count} results compared, {len(complaints)} wrong", sep="\n")
    sys.exit(1 if complaints or count == 0 else 0)


__all__ = ["ALL", "Program", "compare", "main"]
