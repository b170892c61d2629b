"""Programs of any size for `growth.py`: each family gives the text of a program for a size n.

n counts ops, schedule commands or iterations.
"""

import json
import subprocess
from dataclasses import dataclass, field
from typing import Callable


@dataclass(frozen=True)
class Family:
    """Programs that differ in one number."""

    name: str
    text: Callable[[int], str]
    size: int  # what must be compiled within the bounds
    arguments: tuple[str, ...] = field(default=("run",))
    may_be_refused: bool = False  # with a typed error, which counts as an end


INPUTS = "T0: f32[rows, columns], T1: f32[rows, columns]"
SIZES = "sizes { rows = 5, columns = 7 }\n"


def program(lines, outputs, inputs=INPUTS, sizes=SIZES, schedule=()):
    outputs = [outputs] if isinstance(outputs, str) else outputs
    commands = "".join(f"  {command}\n" for command in schedule)
    schedule_text = f"schedule {{\n{commands}}}\n" if schedule else ""
    body = "".join(f"  {line}\n" for line in lines)
    return f"fusion f({inputs}) -> ({', '.join(outputs)}) {{\n{body}}}\n{sizes}{schedule_text}"


def chain(call, **options):
    """n statements, each of the last result: `call(last, i)`."""

    def text(n):
        lines = [f"T{i + 10} = {call('T0' if i == 0 else f'T{i + 9}', i)}" for i in range(n)]
        return program(lines, f"T{n + 9}", **options)

    return text


def function_chain(row):
    """A chain of one elementwise function, each result cast back to the operands' type."""
    dtype = next((name for name in ("f32", "i32", "bool") if name in row["types"]))
    types = row["types"][dtype]
    others = [f"T{i % 2}" for i in range(row["operands"] - 1)]

    def call(last, _):
        applied = f"{row['name']}({', '.join([last, *others])})"
        return applied if types["result"] == dtype else f"cast({applied}, {dtype})"

    return chain(call, inputs=INPUTS.replace("f32", dtype))


def function_chains(tool):
    """One family for each row of the function table."""
    table = json.loads(subprocess.run([tool, "info", "--functions"], check=True, capture_output=True, text=True).stdout)
    return [Family(f"function {row['name']}", function_chain(row), 1000) for row in table]


def square(call, **options):
    return chain(call, inputs="T0: f32[6, 6], T1: f32[6, 6], T2: i64[6, 6], T3: f32[6]", sizes="", **options)


# One family for each structured op, and for composites; calls of several ops come as often as they make 1,000 ops.
STRUCTURED = {
    "broadcast": (lambda t, i: f"sum(broadcast({t}, flags=[true, false, false]), axes=[0])", 500),
    "cast": (lambda t, i: f"cast(cast({t}, f64), f32)", 500),
    "cat": (lambda t, i: f"slice(cat([{t}, T1]), axis=0, start={i % 6}, stop={i % 6 + 6})", 500),
    "expand": (lambda t, i: f"add({t}, expand(slice({t}, axis=0, start=0, stop=1), [6, 6]))", 333),
    "full": (lambda t, i: f"add({t}, full([6, 6], {i}, f32))", 500),
    "iota": (lambda t, i: f"add({t}, iota(6, {i}, 1, f32))", 500),
    "linear": (lambda t, i: f"linear({t}, T1, bias=T3)", 1000),
    "matmul": (lambda t, i: f"matmul({t}, T1)", 1000),
    "pad": (lambda t, i: f"slice(pad({t}, [0, 0, 1, 1]), axis=1, start=0, stop=6)", 500),
    "permute": (lambda t, i: f"permute({t}, order=[1, 0])", 1000),
    "permute and add": (lambda t, i: f"add({t}, permute({t}, order=[1, 0]))", 500),
    "reduction": (lambda t, i: f"sub({t}, sum({t}, axes=[{i % 2}], keepdim=true))", 333),
    "row reduction": (lambda t, i: f"sub({t}, max({t}, axes=[1], keepdim=true))", 333),
    "column reduction": (lambda t, i: f"sub({t}, max({t}, axes=[0], keepdim=true))", 333),
    "reshape": (lambda t, i: f"exp(reshape({t}, [{'4, 9' if i % 2 == 0 else '6, 6'}]))", 500),
    "select": (lambda t, i: f"add({t}, select({t}, axis={i % 2}, index={i % 6}))", 500),
    "set": (lambda t, i: f"set({t})", 1000),
    "slice": (lambda t, i: f"add({t}, slice(T1, axis=0, start={i % 6}, stop={i % 6 + 1}))", 500),
    "squeeze": (lambda t, i: f"squeeze(unsqueeze({t}, 0), axes=[0])", 500),
    "take_along_axis": (lambda t, i: f"take_along_axis({t}, T2, axis={i % 2})", 1000),
    "index_select": (lambda t, i: f"index_select({t}, {i % 2}, select(T2, axis=0, index=0))", 500),
    "random": (lambda t, i: f"add({t}, rand_like({t}, 1, 0))", 250),
    "softmax": (lambda t, i: f"softmax({t}, axis={i % 2})", 200),
    "layer_norm": (lambda t, i: f"layer_norm({t}, T3, T3)", 100),
    "gelu_tanh": (lambda t, i: f"gelu_tanh({t})", 125),
    "sum and gate": (
        lambda t, i: f"mul({t}, sigmoid(unsqueeze(sum({t}, axes=[{i % 2}]), {i % 2})))", 200),
    "mean": (lambda t, i: f"sub({t}, mean({t}, axes=[1], keepdim=true))", 250),
    "where": (lambda t, i: f"where(lt({t}, T1), {t}, mul(T1, {i}.5))", 333),
    "segment_set": (lambda t, i: f"exp(segment_set({t}))", 500),
    "gather": (lambda t, i: f"gather({t}, {i % 2}, T2)", 1000),
    "embedding": (lambda t, i: f"embedding({t}, select(T2, axis=0, index={i % 6}))", 333),
    "attention": (lambda t, i: f"attention({t}, T1, {t})", 77),
    "rope": (lambda t, i: f"rope({t}, T1, T1)", 140),
    "cross_entropy": (lambda t, i: f"add({t}, cross_entropy({t}, select(T2, axis=0, index={i % 6})))", 50),
    "batch_norm": (lambda t, i: f"batch_norm_inference({t}, T3, exp(T3))", 140),
    "group_norm": (lambda t, i: f"group_norm({t}, 2, T3, T3)", 19),
    "rms_norm": (lambda t, i: f"rms_norm({t}, T3)", 110),
    "var": (lambda t, i: f"add({t}, var({t}, axes=[{i % 2}], keepdim=true))", 110),
}


# Moves of the elements of f32[6, 4], each to other places: alone, and each followed by each other one.
MOVES = {
    "transposed": "reshape(permute({}, order=[1, 0]), [6, 4])",
    "in three axes": "reshape(permute(reshape({}, [2, 3, 4]), order=[1, 0, 2]), [6, 4])",
    "turned": "cat([slice({0}, axis=0, start=1, stop=6), slice({0}, axis=0, start=0, stop=1)], axis=0)",
    "shifted": "slice(pad({}, [1, 0, 0, 0]), axis=0, start=0, stop=6)",
    "taken": "take_along_axis({}, T2, axis=0)",
}


def moves(first, second):
    """n statements, by turns one move and another."""
    inputs = "T0: f32[6, 4], T2: i64[6, 4]"
    return chain(lambda t, i: (MOVES[first], MOVES[second])[i % 2].format(t), inputs=inputs, sizes="")


def wide_outputs(n):
    return program([f"T{i + 10} = add(T0, {i}.5)" for i in range(n)], [f"T{i + 10}" for i in range(n)])


def unlike_outputs(n):
    """Outputs of different sizes: no kernel has two of them."""
    lines = [f"T{i + 10} = exp(slice(T0, axis=0, start=0, stop={i + 1}))" for i in range(n)]
    return program(lines, [f"T{i + 10}" for i in range(n)], inputs=f"T0: f32[{n}, 3]", sizes="")


def output_chain(n):
    """Every value of a chain is an output."""
    lines = [f"T{i + 10} = sin({'T0' if i == 0 else f'T{i + 9}'})" for i in range(n)]
    return program(lines, [f"T{i + 10}" for i in range(n)])


def wide_inputs(n):
    inputs = ", ".join(f"T{i}: f32[rows, columns]" for i in range(n + 1))
    lines = [f"T{n + i + 1} = add({'T0' if i == 0 else f'T{n + i}'}, T{i + 1})" for i in range(n)]
    return program(lines, f"T{2 * n}", inputs=inputs)


def tree(n):
    """Pairs of values are added until one is left."""
    lines = [f"T{i + 10} = mul(T{i % 2}, {i}.5)" for i in range(n // 2)]
    values = [f"T{i + 10}" for i in range(n // 2)]
    while len(values) > 1:
        label = f"T{len(lines) + 10}"
        lines.append(f"{label} = add({values.pop(0)}, {values.pop(0)})")
        values.append(label)
    return program(lines, values[0])


def reuse(n):
    """Each op reads the last result and one of any results before."""
    state, labels, lines = 1, ["T0", "T1"], []
    for i in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        other = labels[(state >> 33) % len(labels)]
        lines.append(f"T{i + 10} = {'maximum' if i % 2 else 'sub'}({labels[-1]}, {other})")
        labels.append(f"T{i + 10}")
    return program(lines, labels[-1])


def doubling(call, n, **options):
    """Each value is read twice by the next: 2^n paths from the input to the output."""
    return chain(lambda t, i: call.format(t=t), **options)(n)


def cat_all(n):
    return program([f"T{n + 10} = exp(cat([{', '.join(f'T{i % 2}' for i in range(n))}]))"], f"T{n + 10}")


def slices_of_cat(n):
    """A value is cut into n parts, which are put together again by another order."""
    lines = [f"T{i + 10} = exp(slice(T0, axis=0, start={i}, stop={i + 1}))" for i in range(n)]
    lines.append(f"T{n + 10} = cat([{', '.join(f'T{n - i + 9}' for i in range(n))}])")
    return program(lines, f"T{n + 10}", inputs=f"T0: f32[{n}, 3]", sizes="")


def growing(call, inputs="T0: f32[columns], T1: f32[columns]"):
    """Extents that grow with each op."""
    return lambda n: chain(call, inputs=inputs, sizes=f"sizes {{ columns = {n + 5} }}\n")(n)


def nested(template):
    def text(n):
        value = "T0"
        for _ in range(n):
            value = template.format(value)
        return program([f"T10 = {value}"], "T10", inputs="T0: f32[n], x: f32", sizes="sizes { n = 4 }\n")

    return text


def nested_scalar(template, place):
    def text(n):
        value = "n"
        for _ in range(n):
            value = template.format(value)
        lines = [f"T10 = {place.format(value)}"]
        return program(lines, "T10", inputs="T0: f32[n], T1: f32[m]", sizes="sizes { n = 4, m = 3 }\n")

    return text


NESTED = {
    "calls": "exp({0})",
    "binary calls": "add({0}, T0)",
    "cat": "slice(cat([{0}, T0]), axis=0, start=0, stop=n)",
    "where": "where(lt(T0, 0.5), {0}, T0)",
    "scalar operand": "add({0}, mul(x, x))",
}
NESTED_SCALARS = {
    "sums": "({0} + m)",
    "products": "(({0} * m) + n)",
    "divisions": "(({0} / 2) + m)",
    "remainders": "(({0} % (m + 7)) + n)",
    "minima": "min({0}, (m * 3))",
    "rounded": "(ceilDiv({0}, 3) * 3)",
    "choices": "where(n < m, {0}, (m + 1))",
}


def scheduled(commands, op="exp(T0)", inputs="T0: f32[rows, columns]"):
    return lambda n: program([f"T1 = {op}"], "T1", inputs=inputs, schedule=commands(n))


def stream(shape, commands, op="atanh(gelu_tanh(T0))"):
    """A stream loop: `shape(n)` are the input's sizes, `commands` make and mark the axis."""

    def text(n):
        sizes = shape(n)
        inputs = f"T0: f32[{', '.join(map(str, sizes))}]"
        return program([f"T9 = {op}"], "T9", inputs=inputs, sizes="", schedule=[*commands, "propagate(T9)"])

    return text


def mark(axis):
    return f"parallelize(T9, axis={axis}, type=Stream)"


def side(n):
    return int(n**0.5)


STREAMS = {
    "rows": stream(lambda n: (n, 2), [mark(0)]),
    "columns": stream(lambda n: (2, n), [mark(1)]),
    "middle axis": stream(lambda n: (2, n, 3), [mark(1)]),
    "merged rows": stream(lambda n: (n // 16, 16), ["merge(T9, axis=0)", mark(0)]),
    "merged square": stream(lambda n: (side(n), side(n)), ["merge(T9, axis=0)", mark(0)]),
    "merged inner axes": stream(lambda n: (3, side(n), side(n)), ["merge(T9, axis=1)", mark(1)]),
    "merged outer axes": stream(lambda n: (side(n), side(n), 3), ["merge(T9, axis=0)", mark(0)]),
    "merged distant axes": stream(
        lambda n: (side(n), 3, side(n)), ["reorder(T9, order=[0, 2, 1])", "merge(T9, axis=0)", mark(0)]
    ),
    "merged turned axes": stream(
        lambda n: (side(n), side(n)), ["reorder(T9, order=[1, 0])", "merge(T9, axis=0)", mark(0)]
    ),
    "split columns": stream(lambda n: (2, 2 * n), ["split(T9, axis=1, factor=2)", mark(1)]),
}


def op_streams():
    """Loops of several statements, with intermediates."""
    commands = lambda axis: [mark(axis)]
    return {
        "softmax of rows": stream(lambda n: (n, 4), commands(0), op="softmax(T0, axis=1)"),
        "softmax of columns": stream(lambda n: (4, n), commands(1), op="softmax(T0, axis=0)"),
        "product of rows": stream(
            lambda n: (n, 4), commands(0),
            op="exp(matmul(exp(T0), slice(permute(T0, order=[1, 0]), axis=1, start=0, stop=4)))",
        ),
    }


def splits(n):
    return ["split(T1, axis=0, factor=2)"] * n


def inner_splits(n):
    return ["split(T1, axis=-1, factor=2)"] * n


def outer_splits(n):
    return ["split(T1, axis=0, factor=2, inner_split=false)"] * n


def merges_of_splits(n):
    return ["split(T1, axis=0, factor=3)", "merge(T1, axis=0)"] * (n // 2)


def reorders(n):
    return ["reorder(T1, order=[1, 0])"] * n


def all_families(tool):
    families = function_chains(tool)
    families += [Family(f"op {name}", square(call), size) for name, (call, size) in STRUCTURED.items()]
    # Statements of one to three ops: 1,000 ops at least.
    families += [Family(f"moves {first}, {second}", moves(first, second), 500) for first in MOVES for second in MOVES]
    families += [
        Family("wide outputs", wide_outputs, 1000),
        Family("unlike outputs", unlike_outputs, 1000),
        Family("output chain", output_chain, 1000),
        Family("wide inputs", wide_inputs, 1000),
        Family("tree", tree, 1000),
        Family("reuse", reuse, 1000),
        Family("cat of many", cat_all, 1000),
        Family("slices of cat", slices_of_cat, 500),
        Family("doubled add", lambda n: doubling("add({t}, {t})", n), 1000),
        Family("doubled where", lambda n: doubling("where(lt({t}, T1), {t}, sin({t}))", n), 333),
        Family("doubled cat, cut", lambda n: doubling("exp(slice(cat([{t}, {t}]), axis=0, start=2, stop=7))", n), 333),
        Family("growing pad", growing(lambda t, i: f"exp(pad({t}, [1, 0]))"), 500),
        Family("growing cat", growing(lambda t, i: f"exp(cat([{t}, T1]))"), 500),
        Family("shrinking slice", growing(lambda t, i: f"exp(slice({t}, axis=0, start=1, stop=(columns - {i})))"), 500),
        # Of n elements: they double with each op.
        Family("doubling cat", lambda n: chain(
            lambda t, i: f"exp(cat([{t}, {t}]))", inputs="T0: f32[1]", sizes="")(n.bit_length() - 1), 65536),
        Family("doubling cat of nothing", chain(
            lambda t, i: f"exp(cat([{t}, {t}]))", inputs="T0: f32[columns]", sizes="sizes { columns = 0 }\n"), 30),
    ]
    families += [Family(f"nested {name}", nested(template), 30) for name, template in NESTED.items()]
    places = {"full": "add(sum(full([{0}], 1.5, f32)), T1)", "operand": "mul(T1, f32({0}))"}
    for place, template in places.items():
        families += [
            Family(f"nested scalar {name} in {place}", nested_scalar(text, template), 30)
            for name, text in NESTED_SCALARS.items()
            if (place, name) != ("full", "products")  # it would have 10^14 elements
        ]
    commands = {
        "splits": splits,
        "inner splits": inner_splits,
        "outer splits": outer_splits,
        "splits merged again": merges_of_splits,
        "reorders": reorders,
    }
    for name, write in commands.items():
        families.append(Family(f"schedule {name}", scheduled(write), 60, may_be_refused=True))
        families.append(Family(f"schedule {name} of softmax", scheduled(write, "softmax(T0)"), 60, may_be_refused=True))
    families += [Family(f"stream {name}", text, 16384) for name, text in {**STREAMS, **op_streams()}.items()]
    return families
