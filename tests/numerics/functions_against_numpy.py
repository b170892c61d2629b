"""Every elementwise function on every element type, by the command line, against NumPy and SciPy.

The functions are those that `tokamak info --functions` lists: one without a reference fails by its name.
"""

import json
import subprocess

import numpy as np

import function_references as references
from element_formats import (
    ALL,
    FLOATS,
    INTEGERS,
    LONG,
    NUMPY_TYPE,
    epsilon,
    exact,
    from_bits,
    largest,
    smallest_normal,
    stored,
    ulp,
)
from npy_program import Program, compare, main

# The general rule, and what a function that is no single operation may add to it.
GENERAL_ULPS = 2
APPROXIMATION_ULPS = 4


def special_numbers(dtype, is_short):
    tiny = smallest_normal(dtype)
    eps = epsilon(dtype)
    positive = [0, 1, 0.5, 2, 3, tiny, tiny * eps, largest(dtype), np.inf]
    if not is_short:
        positive += [tiny - tiny * eps, 1 + eps, 1 - eps / 2, 1.5, 2.5, 10, 0.1, eps, 1 / eps, 2 / eps + 2]
        positive += [np.pi / 2, np.pi, np.sqrt(largest(dtype)), tiny * 2, largest(dtype) / 2, 7, 1e-3]
    values = np.array([*positive, *(-LONG(x) for x in positive), np.nan], LONG)
    return stored(dtype, values)


def crossed(values, count):
    grids = np.meshgrid(*[values] * count, indexing="ij")
    return [grid.ravel() for grid in grids]


def joined(dtype, *parts):
    return np.concatenate([np.asarray(part, NUMPY_TYPE[dtype]) for part in parts])


def unary_numbers(dtype, random):
    if dtype in ("f16", "bf16"):
        return [from_bits(dtype, np.arange(65536, dtype=np.uint64))]
    small = np.arange(-40, 41) / 2
    edges = [88.7, 89.5, -87.4, -103.98, -104, -150, 709.7, 709.8, -708.4, -745.2, -746, 127.99, 128, -149.5, 1023.9, -1075]
    ranges = [random.uniform(-1, 1, 4000), random.uniform(-10, 10, 4000), random.uniform(-120, 120, 3000)]
    ranges += [random.uniform(-800, 800, 2000), 10 ** random.uniform(-12, 12, 2000), 1 + random.normal(0, 1e-3, 1000)]
    bits = from_bits(dtype, random.integers(0, 2**64, 6000, dtype=np.uint64))
    values = np.concatenate([small, edges, *ranges])
    return [joined(dtype, special_numbers(dtype, is_short=False), bits, stored(dtype, values))]


def several_numbers(dtype, count, random):
    lists = crossed(special_numbers(dtype, is_short=count > 2), count)
    if count == 4:
        kept = random.permutation(lists[0].size)[:6000]
        lists = [values[kept] for values in lists]
    result = []
    for i, values in enumerate(lists):
        near = random.uniform(-20, 20, 3000)
        wide = 10.0 ** random.uniform(-6, 6, 2000) * random.choice([-1, 1], 2000)
        whole = random.integers(-9, 10, 2000)
        fraction = random.uniform(-1, 2, 2000) if i == count - 1 else random.uniform(0, 30, 2000)
        bits = from_bits(dtype, random.integers(0, 2**64, 3000, dtype=np.uint64))
        numbers = stored(dtype, np.concatenate([near, wide, whole, fraction]))
        # Operands that are equal or nearly so.
        first = result[0][-4000:-2000] if i > 0 else numbers[:2000]
        result.append(joined(dtype, values, bits, first, numbers))
    return result


def integers(dtype, count, random):
    bits = 32 if dtype == "i32" else 64
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    special = [low, low + 1, -bits, -3, -2, -1, 0, 1, 2, 3, bits - 1, bits, high - 1, high]
    if count < 3:
        special += [bits + 1, 1 - bits, 2 ** (bits // 2), -(2 ** (bits // 2)) - 1, 7, 10, 100, -100, 2**24 + 1]
    else:
        special = special[::2] if count == 3 else [low, -1, 0, 1, high]
    lists = crossed(np.array(special, NUMPY_TYPE[dtype]), count)
    wide = [random.integers(low, high, 600, endpoint=True) for _ in lists]
    near = [random.integers(-70, 70, 600) for _ in lists]
    return [joined(dtype, *parts) for parts in zip(lists, wide, near, strict=True)]


def operands_of(dtype, count, random):
    if dtype == "bool":
        return crossed(np.array([False, True]), count)
    if dtype in INTEGERS:
        return integers(dtype, count, random)
    return unary_numbers(dtype, random) if count == 1 else several_numbers(dtype, count, random)


def converted(values, operand_type):
    """The operands as the function sees them."""
    if values.dtype != LONG or operand_type == "bool":
        # NaN is not zero, so true.
        return values != 0 if operand_type == "bool" else values.astype(NUMPY_TYPE[operand_type])
    return values.astype(NUMPY_TYPE[operand_type])


class Check:
    """One function on one type: the reference, and how far from it a result may be."""

    def __init__(self, function, dtype, operands):
        self.function = function
        self.name = function["name"]
        self.dtype = dtype
        self.type = function["types"][dtype]["operand"]
        self.result = function["types"][dtype]["result"]
        self.operands = operands

    def reference(self):
        """(values, bound, where the result is open or None)."""
        values = [converted(exact(self.dtype, x), self.type) for x in self.operands]
        if self.function["rule"] == "choose":
            values[0] = exact(self.dtype, self.operands[0]) != 0
        if self.type not in FLOATS:
            if self.function["rule"] == "choose":
                values[0] = values[0].astype(np.int64)
            width = {"i32": 32, "i64": 64, "bool": 1}[self.type]
            return references.integer_results(self.name, values, width, NUMPY_TYPE[self.result]), 0, None
        if self.name in references.TYPED:
            expected = references.TYPED[self.name](*values)
            # Which NaN an operation gives, its sign included, is the processor's choice.
            is_open = np.isnan(values[0]) if self.name == "signbit" else None
            return exact(self.result, expected) if self.result in FLOATS else expected, 0, is_open
        expected = references.WIDE[self.name](*(x.astype(LONG) for x in values))
        return expected, self.bound(expected), None

    def bound(self, expected):
        exception = self.function["exception"] or {"ulps": 0, "epsilons": 0, "smallest_normals": 0}
        ulps = GENERAL_ULPS + APPROXIMATION_ULPS + exception["ulps"]
        absolute = exception["epsilons"] * epsilon(self.result)
        absolute += exception["smallest_normals"] * smallest_normal(self.result)
        # Zeros that are exact have their sign.
        return np.where((expected == 0) & (absolute == 0), 0, ulps * ulp(self.result, expected) + absolute)

    def __call__(self, actual):
        with np.errstate(all="ignore"):
            expected, bound, is_open = self.reference()
            operands = [exact(self.dtype, x) for x in self.operands]
            return compare(self.result, actual, expected, bound, operands, is_open)


def has_reference(function, dtype):
    operand = function["types"][dtype]["operand"]
    tables = (references.TYPED, references.WIDE) if operand in FLOATS else (references.INTEGER,)
    return any(function["name"] in table for table in tables)


def programs_of(tool):
    table = json.loads(subprocess.run([tool, "info", "--functions"], capture_output=True, text=True, check=True).stdout)
    missing = [f"{row['name']} on {dtype}" for row in table for dtype in row["types"] if not has_reference(row, dtype)]
    if missing:
        raise SystemExit(f"without a reference in function_references.py: {', '.join(missing)}")
    for dtype in ALL:
        random = np.random.default_rng(20240607)
        program = Program(f"functions_{dtype}")
        operands, labels = {}, {}
        for count in sorted({row["operands"] for row in table}):
            operands[count] = operands_of(dtype, count, random)
            labels[count] = [program.input(dtype, x) for x in operands[count]]
        for row in table:
            if dtype not in row["types"]:
                continue
            check = Check(row, dtype, operands[row["operands"]])
            call = f"{row['name']}({', '.join(labels[row['operands']])})"
            program.output(call, f"{row['name']} on {dtype}", check.result, check)
        yield program


if __name__ == "__main__":
    main(programs_of)
