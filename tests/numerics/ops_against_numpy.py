"""Casts, data movement, reductions, matrix products and composites, by the command line, against NumPy.

Casts and data movement, integers and booleans must be exact. The rest is compared with long double on the inputs as stored;
bounds follow the numerics policy: |y - r| <= ulp/2 + (2 ceil(log2 n) + 8) eps sum|x| for sums over n, eps that of the type
computed in (f32, f64), and what an error of an intermediate result makes of the final one.
"""

import itertools
import math

import numpy as np

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
    rounded,
    smallest_normal,
    stored,
    ulp,
)
from npy_program import Program, compare, main


def computed(dtype):
    """The type that arithmetic on `dtype` is done in."""
    return "f32" if dtype in ("f16", "bf16") else dtype


def sum_error(dtype, count):
    """Of a sum over `count`, in units of the sum of magnitudes."""
    return (2 * math.ceil(math.log2(max(count, 1))) + 8) * epsilon(dtype)


class Sweep(Program):
    """A program whose outputs are compared with (values, bound)."""

    def __init__(self, name):
        super().__init__(name)
        self.random = np.random.default_rng(7)

    def normal(self, dtype, *shape):
        """A label and its exact values."""
        if dtype == "bool":
            array = self.random.random(shape) < 0.7
        elif dtype in INTEGERS:
            array = self.random.integers(-50, 50, shape).astype(NUMPY_TYPE[dtype])
        else:
            array = stored(dtype, self.random.normal(size=shape))
        return self.given(dtype, array)

    def given(self, dtype, array):
        """A label and its exact values; every second file is in Fortran order."""
        array = np.asarray(array, NUMPY_TYPE[dtype])
        return self.input(dtype, np.asfortranarray(array) if self.labels % 2 and array.ndim else array), exact(dtype, array)

    def expect(self, call, dtype, expected, bound=0):
        def check(actual):
            return compare(dtype, actual, expected, bound)

        self.output(call, f"{self.name}: {call}", dtype, check)

    def expect_all(self, call, *results):
        """A call of several results, each (dtype, expected, bound)."""
        labels = [self._label() for _ in results]
        self.lines.append(f"  {', '.join(labels)} = {call}")
        for i, (label, (dtype, expected, bound)) in enumerate(zip(labels, results, strict=True)):

            def check(actual, dtype=dtype, expected=expected, bound=bound):
                return compare(dtype, actual, expected, bound)

            self.outputs.append((label, f"{self.name}: result {i} of {call}", dtype, check))

    def expect_rounded(self, call, dtype, expected, bound):
        """A result that is rounded to `dtype` at the end."""
        self.expect(call, dtype, expected, bound + ulp(dtype, expected) / 2)


# --- casts ---


def cast_values(dtype, random):
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(NUMPY_TYPE[dtype])
        powers = np.array([2**k + d for k in range(8, 31) for d in (-1, 0, 1)])
        # Near ties of the shorter formats.
        long = [2**62 + 2**54, 2**62 + 2**54 + 1, 2**62 + 2**38 + 1, 2**53 + 1, 2**40 - 1] if dtype == "i64" else []
        values = [0, 1, -1, info.min, info.max, info.min + 1, info.max - 1, 65504, 65519, 65520, 2**24 + 1, *long]
        drawn = random.integers(info.min, info.max, 3000, endpoint=True) >> random.integers(0, 40 if long else 30, 3000)
        return np.concatenate([values, powers, -powers, drawn]).astype(info.dtype)
    if dtype in ("f16", "bf16"):
        return from_bits(dtype, np.arange(65536, dtype=np.uint64))
    edges = [0.0, -0.0, np.nan, np.inf, -np.inf, 0.5, 2.0**31, -(2.0**31), 2.0**63, -(2.0**63), 65504, 65519.99, 65520]
    edges += [largest(t) for t in FLOATS] + [smallest_normal(t) for t in FLOATS] + [largest("bf16") * (1 + LONG(2) ** -9)]
    edges += [smallest_normal(t) * epsilon(t) * f for t in FLOATS for f in (0.5, 0.75, 1, 1.5)]
    # Ties of f16 and bf16, and their neighbours on either side.
    ties = [LONG(1) + k * epsilon(t) / 2 for t in ("f16", "bf16", "f32") for k in (1, 3, 5)]
    near = [tie * (1 + sign * epsilon(dtype)) for tie in ties for sign in (-1, 0, 1)]
    bits = from_bits(dtype, random.integers(0, 2**64, 4000, dtype=np.uint64))
    scaled = random.normal(size=4000) * 10 ** random.uniform(-8, 20, 4000)
    return np.concatenate([stored(dtype, np.array([*edges, *near], LONG)), stored(dtype, scaled), bits])


def cast_reference(values, to):
    """Rounded once; from floating to integers truncated, saturated, NaN 0; integers wrap; to bool: is it not zero."""
    if to == "bool":
        return values != 0
    if to in FLOATS:
        return exact(to, stored(to, values.astype(LONG)))
    if values.dtype != LONG:
        return values.astype(NUMPY_TYPE[to])
    info = np.iinfo(NUMPY_TYPE[to])
    inside = np.clip(np.where(np.isnan(values), 0, np.trunc(values)), LONG(info.min), LONG(info.max))
    return inside.astype(NUMPY_TYPE[to])


def casts():
    program = Sweep("casts")
    for source in ALL:
        array = cast_values(source, program.random)
        label = program.input(source, array)
        for to in ALL:
            if to != source:
                with np.errstate(invalid="ignore"):
                    program.expect(f"cast({label}, dtype={to})", to, cast_reference(exact(source, array), to))
    return program


def promotions():
    """The type that holds both: integers yield to floating types, f16 and bf16 meet in f32, halves compute in f32."""
    rank = {dtype: i for i, dtype in enumerate(("bool", "i32", "i64", "f16", "bf16", "f32", "f64"))}
    program = Sweep("promotions")
    operands = {dtype: program.normal(dtype, 97) for dtype in ALL}
    for (a, (x_label, x)), (b, (y_label, y)) in itertools.product(operands.items(), repeat=2):
        common = computed(max(a, b, key=rank.get))
        result = "i64" if common == "bool" else common
        expected = x.astype(NUMPY_TYPE[result]) + y.astype(NUMPY_TYPE[result])
        program.expect(f"add({x_label}, {y_label})", result, exact(result, expected))
    for dtype, (label, x) in operands.items():
        whole = "i64" if dtype == "bool" else computed(dtype)
        program.expect(f"add({label}, 2)", whole, exact(whole, x.astype(NUMPY_TYPE[whole]) + NUMPY_TYPE[whole](2)))
        real = whole if dtype in FLOATS else "f32"
        program.expect(f"mul({label}, 0.5)", real, exact(real, x.astype(NUMPY_TYPE[real]) * NUMPY_TYPE[real](0.5)))
    return program


def scalar_inputs():
    """Numbers given on the command line arrive as they are written."""
    program = Sweep("scalar_inputs")
    numbers = {"f64": "0.1", "f32": "0.1", "f16": "0.1", "bf16": "0.1", "i32": "-2147483648", "i64": "9007199254740993", "bool": "1"}
    for dtype, text in numbers.items():
        name = f"given_{dtype}"
        program.scalar(dtype, name, text)
        value = stored(dtype, np.array([LONG(text) if dtype in FLOATS else int(text)] * 3))
        program.expect(f"full(shape=[3], value={name}, dtype={dtype})", dtype, exact(dtype, value))
    return program


# --- data movement ---


def movements(dtype):
    program = Sweep(f"movements_{dtype}")
    x_label, x = program.normal(dtype, 5, 7, 3)
    y_label, y = program.normal(dtype, 5, 4, 3)
    row_label, row = program.normal(dtype, 1, 3)
    column_label, column = program.normal(dtype, 6, 5)
    program.expect(f"permute({x_label}, order=[2, 0, 1])", dtype, x.transpose(2, 0, 1))
    program.expect(f"transpose({x_label})", dtype, x.swapaxes(-2, -1))
    program.expect(f"reshape({x_label}, shape=[7, 15])", dtype, x.reshape(7, 15))
    program.expect(f"reshape({x_label}, shape=[-1])", dtype, x.ravel())
    program.expect(f"reshape(transpose({x_label}, a=0, b=1), shape=[7, 15])", dtype, x.swapaxes(0, 1).reshape(7, 15))
    program.expect(
        f"slice({x_label}, starts=[1, 0, -2], stops=[5, 7, 3], steps=[2, 3, 1])", dtype, x[1:5:2, 0:7:3, -2:3]
    )
    program.expect(f"slice({x_label}, axis=1, start=2, stop=2)", dtype, x[:, 2:2])
    program.expect(f"flip({x_label}, axes=[0, -1])", dtype, np.flip(x, (0, -1)))
    program.expect(f"flip(slice({x_label}, axis=1, start=2, stop=2), axes=[1])", dtype, x[:, 2:2])
    program.expect(f"select({x_label}, axis=1, index=-2)", dtype, x[:, -2])
    program.expect(f"cat([{x_label}, {y_label}, {x_label}], axis=1)", dtype, np.concatenate([x, y, x], axis=1))
    value = {"bool": "true"}.get(dtype, "3")
    padded = np.pad(x, ((0, 0), (2, 1), (0, 3)), constant_values=1 if dtype == "bool" else 3)
    program.expect(f"pad({x_label}, widths=[0, 0, 2, 1, 0, 3], value={value})", dtype, padded)
    program.expect(f"pad({x_label}, widths=[-1, 0, 2, -3, 0, 0])", dtype, np.pad(x[1:, :-3], ((0, 0), (2, 0), (0, 0))))
    shown = f"broadcast_in_dim({column_label}, shape=[6, 2, 5, 3], axes=[0, 2])"
    program.expect(shown, dtype, np.broadcast_to(column[:, None, :, None], (6, 2, 5, 3)))
    program.expect(f"unsqueeze({row_label}, axis=1)", dtype, row[:, None])
    program.expect(f"where(eq({x_label}, {x_label}), {x_label}, {row_label})", dtype if dtype not in ("f16", "bf16") else "f32", x)
    if dtype != "bool":
        kind = LONG if dtype in FLOATS else NUMPY_TYPE[dtype]
        program.expect(f"iota(length=100, start=-3, step=2, dtype={dtype})", dtype, np.arange(-3, 197, 2).astype(kind))
        program.expect(f"full(shape=[3, 2], value=5, dtype={dtype})", dtype, np.full((3, 2), 5).astype(kind))
    return program


# --- positions that tensors tell ---


def indexings(dtype):
    """Positions outside of an axis are clamped into it."""
    program = Sweep(f"indexings_{dtype}")
    x_label, x = program.normal(dtype, 5, 7, 3)
    table_label, table = program.normal(dtype, 11, 6)
    for kind in INTEGERS:
        wide = program.random.integers(-3, 9, (5, 4, 3)).astype(NUMPY_TYPE[kind])
        along = program.input(kind, wide)
        expected = np.take_along_axis(x, np.clip(wide, 0, 6).astype(np.int64), axis=1)
        program.expect(f"take_along_axis({x_label}, {along}, axis=1)", dtype, expected)
        program.expect(f"gather({x_label}, axis=1, index={along})", dtype, expected)
        part = program.random.integers(-2, 8, (3, 2, 3)).astype(NUMPY_TYPE[kind])
        label = program.input(kind, part)
        expected = np.take_along_axis(x[:3, :, :], np.clip(part, 0, 6).astype(np.int64), axis=1)
        program.expect(f"gather({x_label}, axis=-2, index={label})", dtype, expected)
        row = program.random.integers(-2, 5, (1, 9, 1)).astype(NUMPY_TYPE[kind])
        label = program.input(kind, row)
        expected = np.take_along_axis(x, np.clip(row, 0, 2).astype(np.int64).transpose(0, 2, 1), axis=2)
        program.expect(f"take_along_axis({x_label}, transpose({label}), axis=2)", dtype, expected)
        for shape in ((4,), (2, 3), (2, 1, 3), ()):
            positions = program.random.integers(-4, 15, shape).astype(NUMPY_TYPE[kind])
            label = program.input(kind, positions)
            program.expect(f"embedding({table_label}, {label})", dtype, table[np.clip(positions, 0, 10)])
        places = np.array([6, 0, -1, 3, 70, 3], NUMPY_TYPE[kind])
        label = program.input(kind, places)
        for axis in range(3):
            expected = np.take(x, places, axis=axis, mode="clip")
            program.expect(f"index_select({x_label}, axis={axis}, index={label})", dtype, expected)
        none = program.input(dtype, np.zeros((0, 2), NUMPY_TYPE[dtype]))
        program.expect(f"index_select({none}, axis=0, index={label})", dtype, np.zeros((6, 2), exact(dtype, table).dtype))
    return program


# --- random numbers ---


def distributions(program, shape, arguments, state):
    """Of every type, and limits that results are rounded towards."""
    from function_references import inverse_erf, philox

    def words(number, first, step):
        values = [philox(first + step * i, number, *state) for i in range(math.prod(shape))]
        return np.array(values, np.int64).reshape(shape)

    def whole(dtype, number):
        if dtype != "f64":
            return (words(number, 0, 1) >> 8).astype(LONG), 24
        high, low = words(number, 0, 2) >> 5, words(number, 1, 2) >> 6
        return (high * 2**26 + low).astype(LONG), 53

    for number, dtype in enumerate(FLOATS, start=100):
        kind = computed(dtype)
        value, bits = whole(dtype, number)
        unit = np.ldexp(LONG(1), -bits)
        for low, high in ((-0.25, 1.5), (1, 2), (0.1, 0.7)):
            first, end = exact(dtype, stored(dtype, np.array([low, high])))
            expected = first + value * unit * (end - first)
            bound = 2 * epsilon(kind) * max(abs(first), abs(end)) + ulp(dtype, expected)
            call = f"uniform({arguments}, low={low}, high={high}, dtype={dtype}, number={number})"

            def check(actual, dtype=dtype, first=first, end=end, expected=expected, bound=bound):
                outside = (actual < first) | (actual >= end)
                complaints = [f"gives {actual[outside][0]}, outside of {first} to {end}"] if outside.any() else []
                return complaints + compare(dtype, actual, expected, bound)

            program.output(call, f"{program.name}: {call}", dtype, check)
        x = (2 * value + 1 - np.ldexp(LONG(1), bits)) * unit
        z = np.sqrt(LONG(2)) * inverse_erf(x)
        expected = LONG(-1.5) + LONG(0.75) * z
        bound = 8 * epsilon(kind) * (1.5 + np.abs(expected)) + ulp(dtype, expected) / 2
        program.expect(f"normal({arguments}, mean=-1.5, std=0.75, dtype={dtype}, number={number})", dtype, expected, bound)


def embeddings_with_norms():
    """Rows with a norm above max_norm are scaled to it."""
    program = Sweep("embeddings_with_norms")
    for dtype in FLOATS:
        kind = computed(dtype)
        table_label, table = program.given(dtype, stored(dtype, program.random.normal(size=(11, 6)) * np.arange(11)[:, None]))
        places = program.random.integers(0, 11, (3, 5))
        label = program.input("i64", places)
        x = table[places]
        for order in (2.0, 1.0, 3.0, math.inf):
            norm = np.abs(x).max(-1) if order == math.inf else (np.abs(x) ** LONG(order)).sum(-1) ** (1 / LONG(order))
            norm = norm[..., None]
            most, away = exact(kind, stored(kind, np.array([4.3, 1e-7])))
            expected = np.where(norm > most, x * most / (norm + away), x)
            bound = np.where(norm > most, 64 * epsilon(kind) * np.abs(expected) + ulp(dtype, expected) / 2, 0)
            call = f"embedding({table_label}, {label}, max_norm=4.3, norm_type={order})"
            program.expect(call, dtype, expected, bound)
    return program


def random_numbers():
    """Number i is made of word i % 4 of the Philox block i / 4 + offset."""
    from function_references import philox

    program = Sweep("random_numbers")
    shape, seed, offset = (7, 5, 3), -1234567890123456789, 2**33 + 5
    program.scalar("i64", "seed", str(seed))
    program.scalar("i64", "offset", str(offset))
    x_label, x = program.normal("f32", *shape)

    def bits(number):
        values = [philox(i, number, seed, offset) for i in range(math.prod(shape))]
        return np.array(values, np.int64).reshape(shape)

    def uniform(number):
        return (bits(number) >> 8).astype(LONG) / 2**24

    sizes, state = f"shape={list(shape)}", "seed=seed, offset=offset"
    program.expect(f"random_bits({sizes}, {state})", "i64", bits(0))
    program.expect(f"rand({sizes}, {state})", "f32", uniform(1))
    program.expect(f"rand({sizes}, {state}, number=77)", "f32", uniform(77))
    program.expect(f"rand_like({x_label}, {state})", "f32", uniform(78))
    low, high = LONG(np.float32(-0.25)), LONG(np.float32(1.5))
    bound = 2 * epsilon("f32")
    program.expect(f"uniform({sizes}, low=-0.25, high=1.5, {state})", "f32", low + uniform(79) * (high - low), bound)
    for number, dtype in enumerate(FLOATS, start=80):
        label, x = program.normal(dtype, *shape)
        mask = uniform(number) >= LONG(np.float32(0.3))
        y = np.where(mask, x / (1 - LONG(0.3)), 0)
        error = np.where(mask, 2 * epsilon(computed(dtype)) * np.abs(y) + ulp(dtype, y), 0)
        kept = mask.astype(np.bool_)
        program.expect_all(f"dropout({label}, p=0.3, {state})", (dtype, y, error), ("bool", kept, 0))
        mask_label = program.input("bool", kept)
        program.expect(f"dropout_backward({label}, {mask_label}, p=0.3)", dtype, y, error)
    distributions(program, shape, f"{sizes}, {state}", (seed, offset))
    return program


# --- reductions ---

SHAPES = [((6, 17, 9), axes) for axes in ([0], [1], [2], [0, 2], [1, 2], [0, 1, 2])] + [((3, 4099), [1]), ((4099, 3), [0])]


def reductions(dtype):
    program = Sweep(f"reductions_{dtype}")
    inputs = {shape: program.normal(dtype, *shape) for shape, _ in SHAPES}
    result = computed(dtype)
    total = "i64" if dtype in (*INTEGERS, "bool") else result
    for shape, axes in SHAPES:
        label, x = inputs[shape]
        over = tuple(axes)
        count = math.prod(shape[axis] for axis in axes)
        call = f"({label}, axes={axes})"
        keeping = f"({label}, axes={axes}, keepdim=true)"
        program.expect(f"max{call}", result, x.max(axis=over))
        program.expect(f"min{keeping}", result, x.min(axis=over, keepdims=True))
        if dtype not in FLOATS:
            whole = x.astype(np.int64)
            program.expect(f"sum{call}", total, whole.sum(axis=over))
            program.expect(f"prod{keeping}", total, whole.prod(axis=over, keepdims=True))
            x = x.astype(np.float32).astype(LONG)
            result = "f32"
        else:
            error = sum_error(result, count)
            program.expect_rounded(f"sum{call}", result, x.sum(axis=over), error * np.abs(x).sum(axis=over))
            product = x.prod(axis=over, keepdims=True)
            program.expect_rounded(f"prod{keeping}", result, product, np.abs(product) * count * epsilon(result))
        moments(program, label, x, result, axes)
        result = computed(dtype)
    return program


def moments(program, label, x, result, axes):
    over = tuple(axes)
    count = math.prod(x.shape[axis] for axis in axes)
    error = sum_error(result, count)
    mean = x.mean(axis=over, keepdims=True)
    mean_error = error * np.abs(x).mean(axis=over, keepdims=True) + ulp(result, mean)
    program.expect(f"mean({label}, axes={axes}, keepdim=true)", result, mean, mean_error)
    for correction in (0, 1):
        away = x - mean
        variance = (away * away).sum(axis=over) / max(count - correction, 0)
        shift = (2 * np.abs(away) * mean_error).sum(axis=over) / max(count - correction, 1)
        bound = error * variance + shift + 4 * ulp(result, variance)
        program.expect(f"var({label}, axes={axes}, correction={correction})", result, variance, bound)


def special_reductions():
    """NaN and infinities among the elements, and no elements at all."""
    program = Sweep("special_reductions")
    for dtype in FLOATS:
        result = computed(dtype)
        rows = [[1, 2, 3], [1, np.nan, 3], [np.inf, 2, 1], [-np.inf, 2, 1], [np.inf, 1, -np.inf], [-0.0, -0.0, -0.0]]
        label, x = program.given(dtype, stored(dtype, np.array(rows)))
        with np.errstate(invalid="ignore"):
            for name in ("sum", "prod", "max", "min", "mean"):
                expected = getattr(np, name)(x, axis=1)
                program.expect(f"{name}({label}, axes=[1])", result, expected)
        empty = program.input(dtype, stored(dtype, np.zeros((3, 0))))
        program.expect(f"sum({empty}, axes=[1])", result, np.zeros(3, LONG))
        program.expect(f"prod({empty}, axes=[1])", result, np.ones(3, LONG))
        program.expect(f"max({empty}, axes=[1])", result, np.full(3, -np.inf, LONG))
        program.expect(f"mean({empty}, axes=[1])", result, np.full(3, np.nan, LONG))
    wide = program.random.integers(-(2**63), 2**63 - 1, (5, 40), endpoint=True)
    label, x = program.given("i64", wide | 1)
    for name in ("sum", "prod", "max", "min"):
        program.expect(f"{name}({label}, axes=[1])", "i64", getattr(np, name)(x, axis=1))
    return program


# --- matrix products ---


def products(dtype):
    program = Sweep(f"products_{dtype}")
    kind = computed(dtype)
    shapes = [((1, 1), (1, 1)), ((5, 7), (7, 3)), ((33, 130), (130, 65)), ((4, 9, 17), (4, 17, 8)), ((6, 0), (0, 5))]
    shapes += [((2, 3, 8, 16), (3, 16, 5)), ((19,), (19, 4)), ((4, 19), (19,)), ((257, 64), (64, 96))]
    for left, right in shapes:
        a_label, a = program.normal(dtype, *left)
        b_label, b = program.normal(dtype, *right)
        bound = sum_error(kind, left[-1]) * np.matmul(np.abs(a), np.abs(b))
        program.expect_rounded(f"matmul({a_label}, {b_label})", dtype, np.matmul(a, b), bound)
        if kind != dtype:
            program.expect_rounded(f"matmul({a_label}, {b_label}, dtype={kind})", kind, np.matmul(a, b), bound)
    for rows, inner, outer in ((5, 7, 3), (33, 130, 65)):
        x_label, x = program.normal(dtype, rows, inner)
        weight_label, weight = program.normal(dtype, outer, inner)
        bias_label, bias = program.normal(dtype, outer)
        y = x @ weight.T
        bound = sum_error(kind, inner) * (np.abs(x) @ np.abs(weight.T))
        program.expect_rounded(f"linear({x_label}, {weight_label})", dtype, y, bound)
        call = f"linear({x_label}, {weight_label}, bias={bias_label})"
        bound = bound + ulp(kind, y + bias) + epsilon(kind) * np.abs(y)
        program.expect_rounded(call, dtype, y + bias, bound)
        if kind != dtype:
            call = f"linear({x_label}, {weight_label}, bias={bias_label}, dtype={kind})"
            program.expect_rounded(call, kind, y + bias, bound)
    return program


def special_products():
    """NaN and infinities meet zeros, and results that the operands' type cannot hold."""
    program = Sweep("special_products")
    for dtype in FLOATS:
        values = program.random.normal(size=(9, 12))
        values[1, 3], values[2, 4], values[3, 5], values[4, :2] = np.nan, np.inf, -np.inf, [np.inf, -np.inf]
        a_label, a = program.given(dtype, stored(dtype, values))
        others = program.random.normal(size=(12, 8))
        others[:, 2], others[3:6, 5] = 0, 0
        b_label, b = program.given(dtype, stored(dtype, others))
        with np.errstate(invalid="ignore"):
            bound = sum_error(computed(dtype), 12) * np.matmul(np.abs(a), np.abs(b))
            program.expect_rounded(f"matmul({a_label}, {b_label})", dtype, np.matmul(a, b), bound)
        huge = LONG(2) ** (np.log2(largest(dtype)) / 2)
        a_label, a = program.given(dtype, stored(dtype, program.random.normal(size=(8, 3)) * huge))
        b_label, b = program.given(dtype, stored(dtype, program.random.normal(size=(3, 8)) * huge))
        exact_product = np.matmul(a, b)
        # Where single products or partial sums already overflow, the order of additions decides.
        may_differ = np.matmul(np.abs(a), np.abs(b)) > largest(computed(dtype)) * (1 - LONG(2) ** -20)
        call = f"matmul({a_label}, {b_label})"
        bound = sum_error(computed(dtype), 3) * np.matmul(np.abs(a), np.abs(b)) + ulp(dtype, exact_product) / 2

        def check(actual, dtype=dtype, expected=exact_product, bound=bound, may_differ=may_differ):
            return compare(dtype, actual, expected, bound, (), may_differ)

        program.output(call, f"{program.name}: {call}", dtype, check)
    return program


# --- composites ---


def softmax_of(x, axis, kind):
    """(softmax, its bound, logarithm, its bound). Of minus infinity the weight is exactly 0."""
    away = x - x.max(axis=axis, keepdims=True)
    is_out = np.isneginf(away)
    away = np.where(is_out, LONG(0), away)
    powers = np.where(is_out, LONG(0), np.exp(away))
    total = powers.sum(axis=axis, keepdims=True)
    relative = epsilon(kind) * (np.abs(away) + 14) + sum_error(kind, x.shape[axis])
    result = powers / total
    logarithm = np.where(is_out, -np.inf, away - np.log(total))
    # The sum's own terms are wrong by exp of the rounded differences.
    log_error = relative + epsilon(kind) * (8 + 3 * np.abs(away) + 2 * np.log(total))
    tiny = smallest_normal(kind) * epsilon(kind) * 8
    return result, np.where(is_out, 0, 2 * relative * result + tiny), logarithm, 2 * log_error


def norms(program, dtype, kind):
    for shape, axes, centre in (((7, 65), 1, 0), ((3, 5, 24), 2, 1), ((4, 1000), 1, 0), ((6, 130), 1, 100)):
        values = program.random.normal(size=shape) + centre
        values[0] = 1.5  # without variance
        x_label, x = program.given(dtype, stored(dtype, values))
        w_label, w = program.normal(dtype, *shape[-axes:])
        b_label, b = program.normal(dtype, *shape[-axes:])
        over = tuple(range(-axes, 0))
        eps, error = epsilon(kind), sum_error(kind, math.prod(shape[-axes:]))
        mean = x.mean(axis=over, keepdims=True)
        mean_error = error * np.abs(x).mean(axis=over, keepdims=True)
        away = x - mean
        variance = (away * away).mean(axis=over, keepdims=True)
        variance_error = error * variance + 2 * mean_error * np.abs(away).mean(axis=over, keepdims=True)
        scale = 1 / np.sqrt(variance + LONG(1e-5))
        y = away * scale
        y_error = mean_error * scale + np.abs(y) * (variance_error * scale * scale / 2 + 10 * eps)
        suffix = f"norm_axes={axes}"
        program.expect(f"layer_norm({x_label}, {suffix})", kind, y, y_error)
        z = y * w + b
        z_error = y_error * np.abs(w) + 2 * eps * (np.abs(y * w) + np.abs(b))
        program.expect(f"layer_norm({x_label}, weight={w_label}, bias={b_label}, {suffix})", kind, z, z_error)
        y = x / np.sqrt((x * x).mean(axis=over, keepdims=True) + LONG(1e-5))
        relative = error + 10 * eps
        program.expect(f"rms_norm({x_label}, {suffix})", kind, y, np.abs(y) * relative)
        program.expect(f"rms_norm({x_label}, weight={w_label}, {suffix})", kind, y * w, np.abs(y * w) * relative)


def activations(program, dtype, kind):
    from function_references import erfc

    grid = stored(dtype, np.concatenate([np.linspace(-12, 12, 2001), [0.0, -0.0, np.inf, np.nan]]))
    label, x = program.input(dtype, grid), exact(dtype, grid)
    eps = epsilon(kind)
    with np.errstate(invalid="ignore"):
        # 1 + erf cancels left of zero: what remains is an error of the order of eps |x|.
        half = np.where(np.isposinf(x), x, x * erfc(-x / np.sqrt(LONG(2))) / 2)
        bound = np.where(x == 0, 0, 8 * eps * np.abs(x))
        program.expect(f"gelu({label})", kind, half, bound)
        cubic = np.sqrt(2 / LONG(np.pi)) * (x + LONG(0.044715) * x**3)
        program.expect(f"gelu_tanh({label})", kind, x * (1 + np.tanh(cubic)) / 2, bound + np.where(x == 0, 0, 4 * eps))
        program.expect(f"leaky_relu({label}, slope=0.25)", kind, np.where(x > 0, x, x / 4), 0)
        program.expect(f"silu({label})", kind, x / (1 + np.exp(-x)), 6 * ulp(kind, x))
        smooth = np.where(2 * x > 20, x, np.log1p(np.exp(2 * x)) / 2)
        program.expect(f"softplus({label}, beta=2)", kind, smooth, 16 * eps * (np.abs(smooth) + np.exp(2 * x) * 0))


class Scores:
    """What attention makes of scores with these errors: its result and the logarithms of its sums, with their bounds."""

    def __init__(self, dtype, scores, score_error, v):
        kind = computed(dtype)
        keys = scores.shape[-1]
        top = scores.max(axis=-1, keepdims=True)
        self.sees_none = np.isneginf(top)
        is_out = np.isneginf(scores)
        away = np.where(is_out, 0, scores - np.where(self.sees_none, 0, top))
        powers = np.where(is_out, 0, np.exp(away))
        error = np.where(is_out, 0, score_error)
        spread = error.max(axis=-1, keepdims=True)
        power_error = powers * (error + spread + epsilon(kind) * (np.abs(away) + 8)) * 1.1
        total = np.where(self.sees_none, 1, powers.sum(axis=-1, keepdims=True))
        sum_of_errors = power_error.sum(axis=-1, keepdims=True)
        logarithm = np.log(total) + np.where(self.sees_none, 0, top)
        log_error = spread + sum_of_errors / total + sum_error(kind, keys) + 4 * ulp(kind, logarithm)
        self.logarithms = np.where(self.sees_none, -np.inf, logarithm)[..., 0]
        self.log_bound = np.where(self.sees_none, 0, log_error)[..., 0]
        # The weights are rounded to the operands' type, and divided by the sum of the rounded ones.
        if kind != dtype:
            power_error = power_error + np.where(is_out, 0, ulp(dtype, powers) / 2)
        weights, weight_error = powers / total, power_error / total
        self.result = np.where(self.sees_none, 0, weights @ v)
        bound = weight_error @ np.abs(v) + weight_error.sum(axis=-1, keepdims=True) * np.abs(self.result)
        bound = bound + 2 * sum_error(kind, keys) * (weights @ np.abs(v))
        self.bound = np.where(self.sees_none, 0, 1.1 * bound + ulp(dtype, self.result) / 2)


def attentions(program, dtype, kind):
    for batch, rows, keys, inner, values, is_causal in ((2, 5, 7, 16, 6, False), (3, 33, 33, 64, 64, True)):
        q_label, q = program.normal(dtype, batch, rows, inner)
        k_label, k = program.normal(dtype, batch, keys, inner)
        v_label, v = program.normal(dtype, batch, keys, values)
        bias_label, bias = program.normal(kind, rows, keys)
        mask = program.random.random((batch, rows, keys)) < 0.6
        mask[0, 3, :] = False
        mask_label = program.input("bool", mask)
        scale = 1 / np.sqrt(LONG(inner))
        raw = q @ k.swapaxes(-2, -1)
        raw_error = ulp(kind, raw) / 2 + sum_error(kind, inner) * (np.abs(q) @ np.abs(k.swapaxes(-2, -1)))
        scores = raw * scale
        score_error = raw_error * scale + 4 * epsilon(kind) * np.abs(scores)
        seen = np.tril(np.ones((rows, keys), bool)) if is_causal else np.ones((rows, keys), bool)
        operands = f"{q_label}, {k_label}, {v_label}, is_causal={str(is_causal).lower()}"
        plain = Scores(dtype, np.where(seen, scores, -np.inf), score_error, v)
        program.expect(f"attention({operands})", dtype, plain.result, plain.bound)
        moved_error = score_error + ulp(kind, scores + bias)
        moved = Scores(dtype, np.where(seen & mask, scores + bias, -np.inf), moved_error, v)
        program.expect_all(
            f"attention({operands}, bias={bias_label}, mask={mask_label}, logsumexp=true)",
            (dtype, moved.result, moved.bound),
            (kind, moved.logarithms, moved.log_bound),
        )


def attention_accuracy():
    """The errors of halves are not above those of FlashAttention's arithmetic: softmax in f32, weights rounded to halves."""
    program = Sweep("attention_accuracy")
    for dtype in ("bf16", "f16"):
        q_label, q = program.normal(dtype, 12, 8, 16, 8)
        k_label, k = program.normal(dtype, 12, 8, 16, 8)
        v_label, v = program.normal(dtype, 12, 8, 16, 8)
        scores = q @ k.swapaxes(-2, -1) / np.sqrt(LONG(8))
        truth = powers_of(scores, -1) @ v
        singles = rounded("f32", scores)
        powers = rounded("f32", np.exp(singles - singles.max(axis=-1, keepdims=True)))
        total = rounded("f32", powers.sum(axis=-1, keepdims=True))
        peer = rounded(dtype, rounded("f32", rounded(dtype, powers) @ v) / total)

        def check(actual, truth=truth, peer=peer):
            errors = [(np.sqrt(((x - truth) ** 2).mean()), np.abs(x - truth).max()) for x in (actual, peer)]
            (rms, most), (peer_rms, peer_most) = errors
            # The largest of some thousand errors is a matter of chance.
            if rms <= peer_rms and most <= peer_most * LONG(1.05):
                return []
            return [f"has the rms error {rms:.4g} and the largest {most:.4g}; its peer has {peer_rms:.4g}, {peer_most:.4g}"]

        call = f"attention({q_label}, {k_label}, {v_label})"
        program.output(call, f"{program.name}: {call}", dtype, check)
    return program


def gradient(function, x, slope):
    """Of sum(slope * function(x)), by complex steps: nothing cancels."""
    step = LONG(1e-30)
    result = np.empty_like(x)
    for place in np.ndindex(x.shape):
        moved = x.astype(np.clongdouble)
        moved[place] += step * np.clongdouble(1j)
        result[place] = (slope * function(moved)).sum().imag / step
    return result


def normalised(x, over, centre=True, eps=1e-5):
    away = x - x.mean(axis=over, keepdims=True) if centre else x
    return away / np.sqrt((away * away).mean(axis=over, keepdims=True) + LONG(eps))


def powers_of(x, axis):
    powers = np.exp(x - x.real.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


class Gradients:
    """Calls whose results are compared with gradients; statistics and results of the way there are given rounded."""

    def __init__(self, dtype):
        self.program = Sweep(f"gradients_{dtype}")
        self.dtype, self.kind = dtype, computed(dtype)

    def bound(self, expected, dtype=None):
        largest_one = np.abs(expected).max() if expected.size else LONG(0)
        return 64 * epsilon(self.kind) * largest_one + ulp(dtype or self.dtype, expected) / 2

    def result(self, expected):
        return (self.dtype, expected, self.bound(expected))

    def statistic(self, values):
        return self.program.given(self.kind, stored(self.kind, values))[0]

    def activations(self):
        from function_references import erfc

        x_label, x = self.program.normal(self.dtype, 83)
        g_label, g = self.program.normal(self.dtype, 83)
        cubic = np.sqrt(2 / LONG(np.pi))
        forms = {
            "silu": lambda z: z / (1 + np.exp(-z)),
            "gelu_tanh": lambda z: z * (1 + np.tanh(cubic * (z + LONG(0.044715) * z**3))) / 2,
        }
        for name, form in forms.items():
            self.program.expect_all(f"{name}_backward({g_label}, {x_label})", self.result(gradient(form, x, g)))
        share, density = erfc(-x / np.sqrt(LONG(2))) / 2, np.exp(-x * x / 2) / np.sqrt(2 * LONG(np.pi))
        self.program.expect_all(f"gelu_backward({g_label}, {x_label})", self.result(g * (share + x * density)))

    def softmax(self):
        for axis in (0, 1):
            _, x = self.program.normal(self.dtype, 5, 9)
            g_label, g = self.program.normal(self.dtype, 5, 9)
            # From the results as they are stored.
            y_label, y = self.program.given(self.dtype, stored(self.dtype, powers_of(x, axis)))
            expected = y * (g - (g * y).sum(axis=axis, keepdims=True))
            self.program.expect_all(f"softmax_backward({g_label}, {y_label}, axis={axis})", self.result(expected))
            l_label, logarithm = self.program.given(self.dtype, stored(self.dtype, np.log(powers_of(x, axis))))
            expected = g - np.exp(logarithm) * g.sum(axis=axis, keepdims=True)
            self.program.expect_all(f"log_softmax_backward({g_label}, {l_label}, axis={axis})", self.result(expected))
            total = np.log(np.exp(x).sum(axis=axis))
            bound = 32 * epsilon(self.kind) * (np.abs(total) + 1)
            self.program.expect(f"log_sum_exp({self.program.given(self.dtype, stored(self.dtype, x))[0]}, axis={axis})", self.kind, total, bound)

    def rows(self):
        for shape, axes in (((5, 9), 1), ((2, 3, 4), 2), ((7,), 1)):
            x_label, x = self.program.normal(self.dtype, *shape)
            g_label, g = self.program.normal(self.dtype, *shape)
            w_label, w = self.program.normal(self.dtype, *shape[-axes:])
            over = tuple(range(-axes, 0))
            leading = tuple(range(len(shape) - axes))
            centre = x.mean(axis=over)
            away = x - x.mean(axis=over, keepdims=True)
            mean, rstd = (self.statistic(s) for s in (centre, 1 / np.sqrt((away * away).mean(axis=over) + LONG(1e-5))))
            dx = gradient(lambda z, over=over: normalised(z, over), x, g * w)
            dw = (g * normalised(x, over)).sum(axis=leading)
            call = f"layer_norm_backward({g_label}, {x_label}, {mean}, {rstd}, {w_label}, norm_axes={axes})"
            self.program.expect_all(call, *(self.result(result) for result in (dx, dw, g.sum(axis=leading))))
            dx = gradient(lambda z, over=over: normalised(z, over), x, g)
            call = f"layer_norm_backward({g_label}, {x_label}, {mean}, {rstd}, norm_axes={axes})"
            self.program.expect_all(call, self.result(dx))
            rstd = self.statistic(1 / np.sqrt((x * x).mean(axis=over, keepdims=True) + LONG(1e-5)))
            dx = gradient(lambda z, over=over: normalised(z, over, centre=False), x, g * w)
            dw = (g * normalised(x, over, centre=False)).sum(axis=leading)
            call = f"rms_norm_backward({g_label}, {x_label}, {rstd}, {w_label}, norm_axes={axes})"
            self.program.expect_all(call, self.result(dx), self.result(dw))

    def channels(self):
        for shape, axis in (((3, 4, 5), 1), ((2, 3, 2, 4), -1), ((6, 3), 1)):
            over = tuple(i for i in range(len(shape)) if i != axis % len(shape))
            count = math.prod(shape[i] for i in over)
            (x_label, x), (g_label, g) = (self.program.normal(self.dtype, *shape) for _ in range(2))
            (w_label, w), (b_label, b) = (self.program.normal(self.dtype, shape[axis]) for _ in range(2))
            beside = [1] * len(shape)
            beside[axis] = shape[axis]
            wide_w, wide_b = w.reshape(beside), b.reshape(beside)
            y = normalised(x, over) * wide_w + wide_b
            centre, variance = x.mean(axis=over), x.var(axis=over)
            rstd = 1 / np.sqrt(variance + LONG(1e-5))
            sums = [(self.kind, s, 64 * epsilon(self.kind) * np.abs(s).max()) for s in (centre, rstd)]
            call = f"{x_label}, {w_label}, {b_label}"
            self.program.expect_all(f"batch_norm({call}, axis={axis})", self.result(y), *sums)
            running = [self.program.normal(self.kind, shape[axis]) for _ in range(2)]
            fresh = (centre, variance * count / (count - 1))
            moved = [old * LONG(0.75) + new * LONG(0.25) for (_, old), new in zip(running, fresh, strict=True)]
            moved = [(self.kind, s, 64 * epsilon(self.kind) * (np.abs(s).max() + 1)) for s in moved]
            labels = ", ".join(label for label, _ in running)
            self.program.expect_all(f"batch_norm({call}, {labels}, momentum=0.25, axis={axis})", self.result(y), *sums, *moved)
            m_label, r_label, v_label = self.statistic(centre), self.statistic(rstd), self.statistic(variance)
            call = f"batch_norm_inference({x_label}, {m_label}, {v_label}, {w_label}, {b_label}, axis={axis})"
            self.program.expect_all(call, self.result(y))
            dx = gradient(lambda z, over=over: normalised(z, over), x, g * wide_w)
            dw = (g * normalised(x, over)).sum(axis=over)
            call = f"batch_norm_backward({g_label}, {x_label}, {m_label}, {r_label}, {w_label}, axis={axis})"
            self.program.expect_all(call, *(self.result(result) for result in (dx, dw, g.sum(axis=over))))
            parts = (centre, variance * count, np.full(shape[axis], count))
            types = (self.kind, self.kind, "i64")
            bounds = [0 if t == "i64" else 64 * epsilon(t) * (np.abs(p).max() + 1) for t, p in zip(types, parts, strict=True)]
            self.program.expect_all(f"welford({x_label}, axes={list(over)})", *zip(types, parts, bounds, strict=True))

    def groups(self):
        for shape, groups in (((2, 6, 5), 3), ((3, 4), 1), ((2, 4, 2, 3), 4)):
            x_label, x = self.program.normal(self.dtype, *shape)
            (w_label, w), (b_label, b) = (self.program.normal(self.dtype, shape[1]) for _ in range(2))
            parts = x.reshape(shape[0], groups, -1)
            beside = (1, -1) + (1,) * (len(shape) - 2)
            y = normalised(parts, (2,)).reshape(shape) * w.reshape(beside) + b.reshape(beside)
            self.program.expect_all(f"group_norm({x_label}, {groups}, {w_label}, {b_label})", self.result(y))

    def losses(self):
        for shape in ((6, 9), (2, 5, 3), (7,)):
            axis = 1 if len(shape) > 1 else 0
            places = shape[:axis] + shape[axis + 1 :]
            x_label, x = self.program.normal(self.dtype, *shape)
            target = self.program.random.integers(0, shape[axis], places)
            if places:
                target[np.unravel_index(1, places)] = -100
            t_label = self.program.input("i64", target)
            counts = target != -100
            one = np.expand_dims(np.where(counts, target, 0), axis)
            slopes = {"mean": counts / LONG(max(counts.sum(), 1)), "sum": counts * LONG(1), "each": counts * LONG(1)}
            total = np.log(np.exp(x).sum(axis=axis))
            sums = self.statistic(total)

            def loss(z, one=one, axis=axis):
                return -np.log(np.take_along_axis(powers_of(z, axis), one, axis=axis)).squeeze(axis)

            for reduction, weight in slopes.items():
                is_each = reduction == "each"
                expected = np.where(counts, loss(x), 0) if is_each else (loss(x) * weight).sum()
                options = f"reduction={reduction}"
                self.program.expect_all(f"cross_entropy({x_label}, {t_label}, {options})", self.result(np.asarray(expected)))
                g_label, g = self.program.normal(self.dtype, *(places if is_each else ()))
                dx = gradient(loss, x, weight * g)
                call = f"cross_entropy_backward({g_label}, {x_label}, {t_label}, {sums}, {options})"
                self.program.expect_all(call, self.result(dx))

    def rotations(self):
        x_label, x = self.program.normal(self.dtype, 2, 5, 8)
        (c_label, c), (s_label, s) = (self.program.normal(self.dtype, 5, 8) for _ in range(2))

        def turned(z):
            return z * c + np.concatenate([-z[..., 4:], z[..., :4]], axis=-1) * s

        self.program.expect_all(f"rope({x_label}, {c_label}, {s_label})", self.result(turned(x)))
        g_label, g = self.program.normal(self.dtype, 2, 5, 8)
        self.program.expect_all(f"rope_backward({g_label}, {c_label}, {s_label})", self.result(gradient(turned, x, g)))

    def all(self):
        for part in ("activations", "softmax", "rows", "channels", "groups", "losses", "rotations"):
            getattr(self, part)()
        return self.program


def composites(dtype):
    program = Sweep(f"composites_{dtype}")
    kind = computed(dtype)
    for shape, axis, width in (((7, 65), -1, 1), ((33, 5, 4), 0, 1), ((3, 1000), 1, 30), ((4, 1), -1, 1), ((5, 64), 1, 3000)):
        values = program.random.normal(size=shape) * width
        if shape == (5, 64):
            values[program.random.random(shape) < 0.2] = -np.inf
        label, x = program.given(dtype, stored(dtype, values))
        result, bound, logarithm, log_bound = softmax_of(x, axis, kind)
        program.expect(f"softmax({label}, axis={axis})", kind, result, bound)
        program.expect(f"log_softmax({label}, axis={axis})", kind, logarithm, log_bound)
    norms(program, dtype, kind)
    activations(program, dtype, kind)
    attentions(program, dtype, kind)
    return program


def programs_of(_tool):
    yield casts()
    yield promotions()
    yield scalar_inputs()
    yield special_reductions()
    yield special_products()
    yield attention_accuracy()
    yield random_numbers()
    yield embeddings_with_norms()
    for dtype in ALL:
        yield movements(dtype)
        yield indexings(dtype)
        yield reductions(dtype)
    for dtype in FLOATS:
        yield products(dtype)
        yield composites(dtype)
        yield Gradients(dtype).all()


if __name__ == "__main__":
    main(programs_of)
