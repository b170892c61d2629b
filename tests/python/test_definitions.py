"""How a fusion is defined: inputs, operators, outputs, states and what is refused."""
import pathlib
import re

import numpy as np
import pytest

import tokamak
from shared import made_again
from tokamak import DataType, FusionDefinition


def run(define, *inputs):
    with FusionDefinition() as fd:
        define(fd)
    return fd.execute(list(inputs))


def test_the_example_of_the_readme():
    readme = (pathlib.Path(__file__).resolve().parents[2] / "README.md").read_text()
    block = re.search(r"^## In Python$.*?\n```python\n(.*?)```", readme, re.M | re.S)[1]
    names = {}
    exec(block, names)
    e = np.exp(np.arange(4.0))
    np.testing.assert_allclose(names["y"], [e / e.sum()] * 2, rtol=1e-6)
    assert type(names["y"]) is np.ndarray and names["y"].dtype == np.float32


def test_inputs_have_symbols_sizes_and_axes_that_broadcast():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, 1, 4], contiguity=[True, None, True])
        y = fd.define_tensor([3, 4], dtype=DataType.Half)
        s = fd.define_scalar(DataType.Int)
        assert (x.ndim, y.ndim, s.ndim) == (3, 2, 0)
        assert (x.dtype, y.dtype, s.dtype) == (DataType.Float, DataType.Half, DataType.Int)
        fd.add_output(x + y + s)
    x, y = np.ones((2, 1, 4), np.float32), np.full((3, 4), 2, np.float16)
    z, = fd.execute([x, y, 5])
    assert z.shape == (2, 3, 4) and (z == 8).all()
    for name in ("T0: f32[i0, 1, 4]", "T1: f16[3, 4]", "i64"):
        assert name in fd.fusion_ir()


@pytest.mark.parametrize("is_static", [False, True])
def test_inputs_are_defined_by_the_strides_of_an_array(is_static):
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1)
    strides = [stride // 4 for stride in array.strides]
    for define in (lambda fd: fd.define_tensor(list(array.shape), strides, static_sizes=is_static),
                   lambda fd: fd.define_tensor(sizes=list(array.shape), strides=strides, static_sizes=is_static),
                   lambda fd: fd.from_array(array, static_sizes=is_static)):
        with FusionDefinition() as fd:
            x = define(fd)
            fd.add_output(fd.ops.sum(x, [0, 2]))
        np.testing.assert_allclose(fd.execute([array])[0], array.sum((0, 2)), rtol=1e-6)
        assert ("[4, 2, 3]" in fd.fusion_ir()) == is_static


def test_a_stride_order_says_how_an_input_lies():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True, stride_order=[0, 1])
        fd.add_output(x * 2.0)
    columns = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    np.testing.assert_array_equal(fd.execute([columns])[0], columns * 2)
    with pytest.raises(tokamak.BindError, match="stride"):
        fd.execute([np.ascontiguousarray(columns)])


def test_operators_are_ops():
    x, y = np.array([1.0, -2.0, 3.5], np.float32), np.array([2.0, 4.0, -1.0], np.float32)
    for of in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a ** 2,
               lambda a, b: 2 - a, lambda a, b: 1 / b, lambda a, b: -a, abs, lambda a, b: a > b, lambda a, b: a == b,
               lambda a, b: a != 1, lambda a, b: a <= b):
        if of is abs:
            of = lambda a, b: abs(a)
        z, = run(lambda fd: fd.add_output(of(fd.define_tensor([-1]), fd.define_tensor([-1]))), x, y)
        np.testing.assert_allclose(z, of(x, y), rtol=1e-6)
    i, j = np.array([5, -7, 12], np.int64), np.array([3, 2, 10], np.int64)
    for of in (lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b, lambda a, b: a << b, lambda a, b: a >> b):
        z, = run(lambda fd: fd.add_output(of(fd.define_tensor([-1], dtype=DataType.Int),
                                             fd.define_tensor([-1], dtype=DataType.Int))), i, j)
        np.testing.assert_array_equal(z, of(i, j))


def test_scalars_are_inputs_constants_and_sizes():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        scale = fd.define_scalar(DataType.Double)
        two = fd.define_scalar(2.0, DataType.Float)
        rows = fd.ops.size(x, 0)
        assert len(fd.ops.shape(x)) == 2
        fd.add_output(x * scale + two)
        fd.add_output(fd.ops.full([rows, 3], 7.0, DataType.Float))
    y, filled = fd.execute([np.ones((4, 2), np.float32), 3])
    assert (y == 5).all() and filled.shape == (4, 3) and (filled == 7).all()
    y, filled = fd.execute([np.ones((2, 2), np.float32), np.array(0.5)])
    assert (y == 2.5).all() and filled.shape == (2, 3)


def test_outputs_have_orders_of_their_own():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1, -1], contiguity=True)
        fd.add_output(x + 1.0, stride_order=[0, 2, 1])
        fd.add_output(fd.ops.stride_order(x * 2.0, [2, 0, 1]))
        fd.add_output(x, [0, 1, 2])
    x = np.random.default_rng(2).random((3, 4, 5), np.float32)
    y, z, copy = fd.execute([x])
    np.testing.assert_array_equal(y, x + 1)
    np.testing.assert_array_equal(z, x * 2)
    np.testing.assert_array_equal(copy, x)
    assert y.strides == (4, 60, 12) and z.strides == (80, 4, 16) and copy.strides == (4, 12, 48)


def test_an_output_may_update_an_input():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        y = x + 1.0
        fd.add_output(y, alias_input=x)
        fd.add_output(fd.ops.sum(y))
    x = np.zeros(5, np.float32)
    total, = fd.execute([x])
    assert (x == 1).all() and total == 5
    x.flags.writeable = False
    with pytest.raises(tokamak.BindError):
        fd.execute([x])


def test_one_tensor_may_be_several_outputs():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        y = x + 1.0
        for each in (y, y, x):
            fd.add_output(each)
    a, b, same = fd.execute([np.zeros(3, np.float32)])
    a += 1
    assert (a == 2).all() and (b == 1).all() and (same == 0).all()


def test_a_subclass_defines_itself():
    class Double(FusionDefinition):
        def definition(self):
            self.add_output(self.define_tensor([-1]) * 2.0)

    fd = Double()
    assert (fd.execute([np.ones(3, np.float32)])[0] == 2).all()
    with pytest.raises(NotImplementedError, match="definition"):
        FusionDefinition().definition()


REFUSED = {
    "an op of other sizes": (tokamak.DefinitionError, "sizes along axis 0 are 4 and 5",
                             lambda fd: fd.ops.add(fd.define_tensor([4]), fd.define_tensor([5]))),
    "an argument too few": (TypeError, "ops.add.*arg2", lambda fd: fd.ops.add(fd.define_tensor([4]))),
    "an argument of no name": (TypeError, "ops.sum.*dimension", lambda fd: fd.ops.sum(fd.define_tensor([4]), dimension=0)),
    "an axis that is not there": (tokamak.DefinitionError, "sum", lambda fd: fd.ops.sum(fd.define_tensor([4]), 3)),
    "an object": (TypeError, "object", lambda fd: fd.ops.add(fd.define_tensor([4]), object())),
    "a number of 100 bits": (tokamak.DefinitionError, "64 bits", lambda fd: fd.ops.add(fd.define_tensor([4]), 1 << 100)),
    "an op that is not there yet": (NotImplementedError, "cumsum", lambda fd: fd.ops.cumsum(fd.define_tensor([4]), 0)),
    "no op": (AttributeError, "frobnicate", lambda fd: fd.ops.frobnicate(fd.define_tensor([4]))),
    "a type that is not there yet": (NotImplementedError, "Float8_e5m2",
                                     lambda fd: fd.define_tensor([4], dtype=DataType.Float8_e5m2)),
    "no type": (TypeError, "float32", lambda fd: fd.define_tensor([4], dtype="float32")),
    "a negative size": (tokamak.DefinitionError, "-3", lambda fd: fd.define_tensor([-3])),
    "a size that is no number": (TypeError, "integer", lambda fd: fd.define_tensor([2.5])),
    "contiguity of another length": (tokamak.DefinitionError, "Length of contiguity argument",
                                     lambda fd: fd.define_tensor([-1, -1], contiguity=[True])),
    "a stride order of another length": (tokamak.DefinitionError, "Length of stride_order argument",
                                         lambda fd: fd.define_tensor([-1, -1], stride_order=[0])),
    "a stride order out of range": (tokamak.DefinitionError, "out of range",
                                    lambda fd: fd.define_tensor([-1, -1], stride_order=[0, 2])),
    "a stride order with one rank twice": (tokamak.DefinitionError, "duplicated stride_order",
                                           lambda fd: fd.define_tensor([-1, -1], stride_order=[0, 0])),
    "sizes without strides": (ValueError, "The number of sizes does not match the number of strides",
                              lambda fd: fd.define_tensor([2, 3], [1])),
    "an output that is a scalar": (TypeError, "add_output", lambda fd: fd.add_output(fd.define_scalar(1.0))),
    "an output that is a number": (TypeError, "add_output", lambda fd: fd.add_output(3)),
    "an update of what is no input": (tokamak.DefinitionError, "input",
                                      lambda fd: fd.add_output((t := fd.define_tensor([4])) + 1.0, alias_input=t * 2.0)),
    "a truth": (TypeError, "truth", lambda fd: bool(fd.define_tensor([4]) > 1.0)),
    "pad widths that are no pairs": (ValueError, "pad widths", lambda fd: fd.ops.pad(fd.define_tensor([4]), [1])),
    "a list of unlike things": (tokamak.DefinitionError, "list", lambda fd: fd.ops.cat([fd.define_tensor([4]), "x"])),
}


@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(what):
    kind, words, define = REFUSED[what]
    fd = FusionDefinition()
    with pytest.raises(kind, match=words):
        define(fd)


def test_states_are_kept():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        fd.add_output(x + 1.0)
    for again in (lambda: fd.define_tensor([3]), lambda: fd.ops.add(x, 1.0), lambda: x + 1.0, lambda: fd.add_output(x),
                  fd.__enter__):
        with pytest.raises(tokamak.DefinitionError, match="Attempting to add to a completed definition!"):
            again()
    with pytest.raises(tokamak.DefinitionError, match="0 records"):
        with FusionDefinition():
            pass
    with pytest.raises(tokamak.DefinitionError, match="exceeded 3"):
        with FusionDefinition(max_length=3) as fd:
            x = fd.define_tensor([-1])
            for _ in range(3):
                x = x + 1.0
    open_still = FusionDefinition()
    open_still.define_tensor([3])
    with pytest.raises(tokamak.DefinitionError, match="not available"):
        open_still.execute([])


def test_values_belong_to_their_definition():
    a, b = FusionDefinition(), FusionDefinition()
    x, y = a.define_tensor([-1]), b.define_tensor([-1])
    with pytest.raises(tokamak.DefinitionError, match="another definition"):
        a.ops.add(x, y)
    with pytest.raises(tokamak.DefinitionError, match="another definition"):
        a.add_output(y)
    with pytest.raises(tokamak.DefinitionError, match="another definition"):
        a.add_output(x + 1.0, alias_input=y)


def test_errors_are_of_python_s_kinds_too():
    assert issubclass(tokamak.Error, RuntimeError)
    assert issubclass(tokamak.DefinitionError, (tokamak.Error, ValueError))
    assert issubclass(tokamak.UnsupportedError, NotImplementedError)
    assert issubclass(tokamak.OutOfMemoryError, MemoryError)
    with pytest.raises(tokamak.Error) as raised:
        FusionDefinition().define_tensor([-3])
    assert raised.value.code == "definition" and "-3" in raised.value.message


@pytest.mark.parametrize("value, dtype", [(1.5, DataType.Int), (2**40, DataType.Int32), (float("nan"), DataType.Int)])
def test_constants_lose_nothing(value, dtype):
    with pytest.raises(tokamak.DefinitionError, match="no number of type"):
        FusionDefinition().define_scalar(value, dtype)


def test_integers_beyond_64_bits_are_refused():
    fd = FusionDefinition()
    x = fd.define_tensor([-1])
    for call in (lambda: fd.ops.sum(x, [2**64]), lambda: fd.define_tensor([2**63]), lambda: fd.ops.size(x, 2**64),
                 lambda: fd.add_output(x, [2**64])):
        with pytest.raises(ValueError):
            call()


def test_a_subclass_defines_itself_when_it_is_looked_at():
    class Scale(FusionDefinition):
        runs = 0

        def definition(self):
            self.runs += 1
            x = self.define_tensor([-1, -1], contiguity=True)
            assert self.inputs() == [x] and len(self.extents()) == 2 and "define_tensor" in repr(self)
            self.add_output(self.ops.exp(x) + 1)

    for look, wanted in ((repr, "fd.ops.exp"), (str, "exp(T0)"), (lambda fd: fd.fusion_ir(), "exp(T0)"),
                         (lambda fd: fd.sched.user_schedule_ir(), "exp(T0)"),
                         (lambda fd: fd.extents(), "[Scalar(i0), Scalar(i1)]"), (lambda fd: fd.inputs(), "Tensor"),
                         (lambda fd: fd.outputs(), "Tensor"), (lambda fd: fd.sched.tensors(), "Tensor"),
                         (lambda fd: fd.sched.find_compatible_schedulers(), "pointwise")):
        fd = Scale()
        assert wanted in str(look(fd))
        fd.execute([np.ones((2, 3), np.float32)])
        assert fd.runs == 1


def test_a_subclass_that_fails_to_define_itself_says_so():
    class Broken(FusionDefinition):
        def definition(self):
            raise KeyError("half-way")

    with pytest.raises(KeyError, match="half-way"):
        repr(Broken())
    assert "half-way" in Broken()._repr_html_()


# --- x[key] ---

X = np.arange(4 * 6 * 5, dtype=np.float32).reshape(4, 6, 5)
KEYS = [2, -1, (), ..., None, slice(None), slice(1, 3), slice(-3, None), slice(None, -1), slice(1, -1), (0, 1),
        (1, ..., -2), (slice(None), slice(1, 6, 2)), (..., None), (None, 0, ..., slice(4, 1)),
        (slice(None, None, 2), None, 3),
        np.int64(3), (np.int32(1), slice(np.int64(2), None)), (0, 0, 0), (slice(2, 2), slice(3, 1)), (slice(-2, -3),)]


@pytest.mark.parametrize("is_static", [False, True])
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_keys_take_what_numpy_takes(key, is_static):
    with FusionDefinition() as fd:
        fd.add_output(fd.from_array(X, static_sizes=is_static)[key] * 2.0)
    for each in (fd, made_again(fd)):
        result, = each.execute([X])
        assert result.shape == X[key].shape
        np.testing.assert_array_equal(result, X[key] * 2)


@pytest.mark.parametrize("key", [slice(10, 20), slice(-100, 100), slice(2, 100, 3), slice(None, -100)], ids=str)
def test_slices_end_where_a_known_axis_ends(key):
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([4, -1, -1])[key])
    np.testing.assert_array_equal(fd.execute([X])[0], X[key])


def test_keys_are_scalars():
    with FusionDefinition() as fd:
        x, i, n = fd.define_tensor([-1, 6, -1]), fd.define_scalar(DataType.Int), fd.define_scalar(DataType.Int)
        fd.add_output(x[i])
        fd.add_output(x[:, i:n])
        fd.add_output(x[:, :, i:x.size(2) - 1])
        fd.add_output(x[-2:n, n - 1])
    for each in (fd, made_again(fd)):
        for got, wanted in zip(each.execute([X, 1, 3]), (X[1], X[:, 1:3], X[:, :, 1:4], X[-2:3, 2])):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("key, kind, sentence", [
    ((0, 0, 0, 0), IndexError, "4 indices for an array with 3 axes"),
    ((..., ...), IndexError, "one ... at most"),
    (4, IndexError, "index 4 of an axis with 4 elements"),
    (-5, IndexError, "index -5 of an axis with 4 elements"),
    (1.5, TypeError, "an index of a tensor is an integer, a slice of integers, None or ..., not 1.5"),
    (True, TypeError, "not True"),
    ("rows", TypeError, "not 'rows'"),
    ([0, 1], TypeError, "ops.index_select takes a tensor of indices"),
    (slice(0.5, None), TypeError, "not 0.5"),
    (slice(..., None), TypeError, "not Ellipsis"),
    (slice(None, None, -1), ValueError, "a step of 1 and more, a constant, not -1; ops.flip"),
    (slice(None, None, 0), ValueError, "slice step cannot be zero"),
], ids=str)
def test_keys_that_are_none_are_refused(key, kind, sentence):
    with FusionDefinition() as fd:
        x = fd.define_tensor([4, 6, 5])
        with pytest.raises(kind, match=sentence):
            x[key]
        with pytest.raises(TypeError, match="integer"):
            x[x]
        with pytest.raises(TypeError, match="not iterable"):
            list(x)
        with pytest.raises(TypeError, match="a list is legal here"):
            fd.ops.pad(x, x)
        fd.add_output(x)


@pytest.mark.parametrize("key", [4, -5, slice(2, 9), slice(-6, None)], ids=str)
def test_calls_whose_sizes_lack_what_a_key_names_are_refused(key):
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1, -1, -1])[key])
    with pytest.raises(tokamak.BindError, match="has size 4"):
        fd.execute([X])
