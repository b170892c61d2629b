"""Calls one after the other: what a call keeps for the next one shows in no result."""
import subprocess
import sys

import numpy as np
import pytest

import tokamak
from tokamak import DataType, FusionDefinition

from shared import run_in_threads

TYPES = {DataType.Float: np.float32, DataType.Double: np.float64, DataType.Half: np.float16, DataType.Int: np.int64,
         DataType.Int32: np.int32, DataType.Bool: np.bool_}


def affine(rank):
    """x * factor + y, in the type of x."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1] * rank, dtype=DataType.Double)
        factor = fd.define_scalar(DataType.Int)
        fd.add_output(fd.ops.cast(x * factor + fd.define_tensor([-1] * rank, dtype=DataType.Double), DataType.Double))
    return fd


def padded():
    """Rows behind so many zeros: the number is a size of the output."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        fd.add_output(fd.ops.pad(x, [0, 0, fd.define_scalar(DataType.Int), 0]))
    return fd


def columns():
    """An output that does not lie row after row."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        fd.add_output(x + x, stride_order=[0, 1])
    return fd


def drawn_view(random, memory, rank):
    """Some part of one block of memory: parts overlap, and come again."""
    flat = memory[int(random.integers(0, 4)) * 8:]
    if rank == 1:
        size = int(random.integers(0, 9))
        return flat[:size * 2:2] if random.integers(2) else flat[:size]
    sizes = random.integers(1, 5, 2)
    view = flat[:sizes[0] * sizes[1]].reshape(sizes)
    return view.T if random.integers(2) else view


@pytest.mark.parametrize("seed", range(8))
def test_views_of_one_memory_in_any_order(seed):
    random = np.random.default_rng(seed)
    programs = {1: [affine(1), affine(1)], 2: [affine(2), affine(2)]}
    memory = np.arange(64, dtype=np.float64)
    for _ in range(300):
        rank = int(random.integers(1, 3))
        fd = programs[rank][int(random.integers(2))]
        x = drawn_view(random, memory, rank)
        y = drawn_view(random, memory, rank)
        if x.shape != y.shape:
            y = x
        factor = int(random.integers(-2, 3))
        if random.integers(2):
            x = x.view()
            x.flags.writeable = False
        expected = x * factor + y
        if random.integers(3) == 0:
            given = np.full(x.shape, np.nan)
            result, = fd.execute((x, factor, y), out=[given])
            assert result is given
        else:
            result, = fd.execute([x, factor, y])
        np.testing.assert_array_equal(result, expected)
        if random.integers(4) == 0:
            memory[int(random.integers(64))] = random.integers(100)
        if random.integers(50) == 0:
            memory = np.arange(64, dtype=np.float64)


def test_sizes_from_numbers_and_strides_change_between_calls():
    pad, turned = padded(), columns()
    for i in range(200):
        x = np.full((1 + i % 3, 1 + i % 5), i, np.float32)
        rows = (i * 7) % 11
        result, = pad.execute([x, rows])
        np.testing.assert_array_equal(result, np.pad(x, [(rows, 0), (0, 0)]))
        result, = turned.execute([x])
        np.testing.assert_array_equal(result, x + x)
        assert result.strides[0] == 4


def test_any_number_may_decide_a_size():
    with FusionDefinition() as fd:
        real, whole = fd.define_scalar(dtype=DataType.Double), fd.define_scalar(dtype=DataType.Int)
        fd.add_output(fd.ops.full([fd.ops.cast(fd.ops.floor(real), DataType.Int)], whole, DataType.Int))
    for i in range(60):
        rows = (i * 7) % 11 + 0.25 * (i % 4)
        np.testing.assert_array_equal(fd.execute([rows, i])[0], np.full(int(rows), i))
    assert len(fd.explain().new_calls) == 44  # numbers that sizes do not depend on make no plans
    assert {each.inputs for each in fd.explain().new_calls} >= {"0, 0", "7.25, 1"}


@pytest.mark.parametrize("columns", [16, 17, 27, 31, 77, 300])
def test_each_element_of_a_row_is_added_once(columns):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = x - fd.ops.max(x, 1, keepdim=True)
        fd.add_output(y)
        fd.add_output(fd.ops.sum(y * 3.0, 0))
    x = np.random.default_rng(columns).integers(-9, 9, (50, columns)).astype(np.float32)
    wanted = x - x.max(1, keepdims=True)
    rows, sums = fd.execute([x])
    np.testing.assert_array_equal(rows, wanted)
    np.testing.assert_array_equal(sums, 3 * wanted.sum(0))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [0, 1, 511, 100_003])
def test_outputs_are_fresh_aligned_and_stay(dtype, size):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], dtype=dtype)
        fd.add_output(fd.ops.set(x))
    kept = []
    for i in range(3):
        x = np.full(size, i, TYPES[dtype])
        kept.append((fd.execute([x])[0], x.copy()))
        x[:] = 1
    for result, expected in kept:
        assert result.dtype == expected.dtype and result.flags.writeable and result.flags.c_contiguous
        assert result.ctypes.data % (64 if result.nbytes > 2048 else 1) == 0
        np.testing.assert_array_equal(result, expected)


def test_other_sequences_and_arrays_that_die_at_once():
    fd = affine(1)
    for i in range(100):
        result, = fd.execute(each for each in (np.full(5, i * 1.0), 2, np.ones(5)))
        np.testing.assert_array_equal(result, np.full(5, 2.0 * i + 1))
        result = np.zeros(5)
        fd.execute((np.full(5, i * 1.0), 2, np.ones(5)), out=(each for each in [result]))
        np.testing.assert_array_equal(result, np.full(5, 2.0 * i + 1))


class Times(np.ndarray):
    """A subclass, which is no plain array."""


def test_kinds_of_arguments_take_turns():
    fd = affine(1)
    y = np.ones(3)
    kinds = [np.arange(3.0), np.arange(3.0).view(Times), memoryview(np.arange(3.0)), np.arange(6.0)[::2] / 2,
             np.arange(3.0)[::-1][::-1]]
    for i in range(60):
        x = kinds[i % len(kinds)]
        factor = [3, np.int64(3), np.array(3), True][i % 4]
        result, = fd.execute([x, factor, y])
        np.testing.assert_array_equal(result, np.arange(3.0) * int(factor) + 1)
        assert type(result) is np.ndarray


def test_threads_share_a_definition():
    fd = affine(2)
    wrong = []

    def work(number):
        random = np.random.default_rng(number)
        for _ in range(400):
            x, y = random.standard_normal((2, *random.integers(1, 40, 2)))
            result, = fd.execute([x, number, y])
            if not np.array_equal(result, x * number + y):
                wrong.append(number)

    run_in_threads(work, range(8))
    assert not wrong


def test_every_call_asks_whether_memory_may_be_written():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        fd.add_output(x + 1, alias_input=x)
    x = np.zeros(4, np.float32)
    for i in range(10):
        x.flags.writeable = i % 2 == 0
        if i % 2 == 0:
            assert fd.execute([x]) == []
        else:
            with pytest.raises(tokamak.BindError, match="written"):
                fd.execute([x])
    np.testing.assert_array_equal(x, np.full(4, 5, np.float32))


def test_the_first_call_of_a_process_has_no_array():
    script = """if True:
        import tokamak
        with tokamak.FusionDefinition() as fd:
            fd.add_output(fd.ops.iota(fd.define_scalar(tokamak.DataType.Int)))
        print([fd.execute([size])[0].tolist() for size in (3, 0, 3)])
    """
    said = subprocess.run([sys.executable, "-c", script], check=True, timeout=100, capture_output=True, text=True).stdout
    assert said == "[[0, 1, 2], [], [0, 1, 2]]\n"


def defined(define):
    with FusionDefinition() as fd:
        define(fd)
    return fd


@pytest.mark.parametrize("shape", [[-1, 8], [0, 6], [6, 0]])
def test_a_reshape_drops_no_elements(shape):
    fd = defined(lambda fd: fd.add_output(fd.ops.reshape(fd.define_tensor([-1]), shape)))
    with pytest.raises(tokamak.BindError, match="5"):
        fd.execute([np.zeros(5, np.float32)])
    assert fd.execute([np.zeros(0, np.float32)])[0].size == 0


def test_rows_that_indices_tell_are_gathered_into_turned_memory():
    def define(fd):
        x, rows = fd.define_tensor([-1, -1]), fd.define_tensor([-1, -1], dtype=DataType.Int)
        fd.add_output(fd.ops.gather(x, rows, 0), stride_order=[0, 1])

    random = np.random.default_rng(1)
    fd = defined(define)
    for rows in (3, 20):
        x, index = random.standard_normal((8, 16)).astype(np.float32), random.integers(0, 8, (rows, 16))
        np.testing.assert_array_equal(fd.execute([x, index])[0], np.take_along_axis(x, index, 0))


def two_outputs(fd):
    x = fd.define_tensor([-1])
    fd.add_output(x + 1)
    fd.add_output(x + 2)


@pytest.mark.parametrize("out, kind", [([0], tokamak.BindError), ([], tokamak.BindError), ([0, 0, 0], tokamak.BindError),
                                       ([None, None], TypeError), ([None, 0], TypeError)])
def test_out_has_an_array_for_each_output(out, kind):
    x = np.zeros(3, np.float32)
    with pytest.raises(kind, match="out"):
        defined(two_outputs).execute([x], out=[None if each is None else x.copy() for each in out])


def test_an_input_that_is_an_output_is_copied():
    fd = defined(lambda fd: fd.add_output(fd.define_tensor([-1])))
    x, given = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    assert fd.execute([x], out=[given])[0] is given
    np.testing.assert_array_equal(given, x)
    assert not np.shares_memory(fd.execute([x])[0], x)


def test_an_update_of_elements_that_share_memory_is_refused():
    def define(fd):
        x = fd.define_tensor([-1], contiguity=False)
        fd.add_output(x + fd.define_tensor([-1]), alias_input=x)

    repeated = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (4,), (0,))
    with pytest.raises(tokamak.BindError, match="two elements of the given tensor share memory"):
        defined(define).execute([repeated, np.ones(4, np.float32)])


def test_a_definition_that_raised_begins_anew():
    class Half(FusionDefinition):
        tries = 0

        def definition(self):
            x = self.define_tensor([-1])
            self.tries += 1
            if self.tries == 1:
                raise KeyError("half-way")
            if self.tries == 2:
                self.execute([])
            self.add_output(-x)

    fd = Half()
    x = np.ones(3, np.float32)
    with pytest.raises(KeyError):
        fd.execute([x])
    with pytest.raises(tokamak.DefinitionError, match="leave its definition"):
        fd.execute([x])
    np.testing.assert_array_equal(fd.execute([x])[0], -x)


@pytest.mark.parametrize("like", [np.zeros((0, 3), np.float32), np.broadcast_to(np.ones(5, np.float32), (2, 5))])
def test_arrays_like_any_array(like):
    fd = defined(lambda fd: fd.add_output(fd.from_array(like) * 2))
    np.testing.assert_array_equal(fd.execute([like])[0], like * 2)


def test_arrays_are_no_operands():
    def define(fd):
        np.array([1.0, 2.0]) * fd.define_tensor([-1])

    with pytest.raises(TypeError):
        defined(define)


IN_A_PROCESS = """if True:
    import atexit, os, sys
    import numpy as np
    x = np.ones(3, np.float32)
    atexit.register(lambda: print(fd.execute([x])[0].tolist(), flush=True))  # runs after what the import registers
    import tokamak
    with tokamak.FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]) + 1)
    fd.execute([x])
    if os.fork() == 0:
        print(fd.execute([x])[0].tolist(), flush=True)
        os._exit(0)
    os.wait()
"""


def test_children_and_the_end_of_a_process():
    said = subprocess.run([sys.executable, "-c", IN_A_PROCESS], check=True, timeout=100, capture_output=True, text=True)
    assert said.stdout == "[2.0, 2.0, 2.0]\n" * 2


@pytest.mark.parametrize("dtype", TYPES)
def test_sums_and_products_of_type_bool_are_any_and_all(dtype):
    def define(fd):
        x = fd.define_tensor([-1, -1], dtype=dtype)
        fd.add_output(fd.ops.sum(x, [1], False, DataType.Bool))
        fd.add_output(fd.ops.prod(x, [1], False, DataType.Bool))

    x = np.array([[0, 0, 0], [1, 0, 2], [1, 2, 3]], TYPES[dtype])
    some, every = defined(define).execute([x])
    np.testing.assert_array_equal(some, [False, True, True])
    np.testing.assert_array_equal(every, [False, False, True])


def test_calls_that_lie_alike_and_otherwise_in_any_order():
    with FusionDefinition() as fd:
        x, y = fd.define_tensor([-1, -1]), fd.define_tensor([-1, -1])
        fd.add_output(x * 2.0 + y)
        fd.add_output(fd.ops.sum(x, [1]))
    rng = np.random.default_rng(7)

    def array(rows, columns, kind):
        memory = rng.integers(0, 9, 4 * (rows + 1) * (columns + 1)).astype(np.float32)
        if kind == "shifted":  # at another alignment
            memory = memory[1:]
        if kind == "steps":
            return memory[:2 * rows * columns].reshape(rows, 2 * columns)[:, ::2]
        dense = memory[:rows * columns]
        made = dense.reshape(columns, rows).T if kind == "transposed" else dense.reshape(rows, columns)
        made.flags.writeable = kind != "fixed"
        return made

    kept = {}
    for _ in range(400):
        rows, columns = (int(each) for each in rng.integers(1, 3, 2))
        kinds = [str(each) for each in rng.choice(["dense", "shifted", "steps", "transposed", "fixed"], 2)]
        given = [array(rows, columns, kind) for kind in kinds]
        if rng.random() < 0.5:  # the same memory again
            given = kept.setdefault((rows, columns, *kinds), given)
        out = None
        if rng.random() < 0.3:
            out = [array(rows, columns, str(rng.choice(["dense", "shifted", "transposed"]))),
                   np.empty(rows, np.float32)]
        got = fd.execute(given, out=out)
        for _ in range(int(rng.integers(0, 3))):
            got = fd.execute(given, out=out)
        np.testing.assert_array_equal(got[0], given[0] * 2 + given[1])
        np.testing.assert_array_equal(got[1], given[0].sum(1))
