"""How a definition runs: arrays of every kind in and out, threads, bad input."""
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tokamak
from tokamak import DataType, FusionDefinition

from shared import run_in_threads

TYPES = {DataType.Double: np.float64, DataType.Float: np.float32, DataType.Half: np.float16, DataType.Int: np.int64,
         DataType.Int32: np.int32, DataType.Bool: np.bool_}


def doubled(dtype=DataType.Float, rank=1):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1] * rank, dtype=dtype)
        fd.add_output(fd.ops.cast(x + x, dtype))
    return fd


def test_every_error_has_a_code():
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]) + 1)
    with pytest.raises(tokamak.DefinitionError) as raised:  # by Python
        fd.define_tensor([3])
    assert raised.value.code == "definition"
    with pytest.raises(tokamak.BindError) as raised:  # by the library
        fd.execute([np.ones((2, 2), np.float32)])
    assert raised.value.code == "bind"
    assert tokamak.Error.code == "usage" and tokamak.OutOfMemoryError.code == "out of memory"


@pytest.mark.parametrize("dtype", TYPES)
def test_types_go_in_and_out(dtype):
    x = np.array([0, 1, 2, 3], TYPES[dtype])
    y, = doubled(dtype).execute([x])
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, (x + x).astype(x.dtype))


LAYOUTS = {
    "dense": lambda x: x,
    "columns": np.asfortranarray,
    "every second": lambda x: x[::2, ::2],
    "expanded": lambda x: np.broadcast_to(x[:1], x.shape),
    "one element": lambda x: x[:1, :1],
    "no rows": lambda x: x[:0],
    "no columns": lambda x: x[:, :0],
    "read only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "misaligned": lambda x: np.frombuffer(b"abcd" + x.tobytes(), x.dtype, offset=4).reshape(x.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_lie_as_they_like(layout):
    x = LAYOUTS[layout](np.random.default_rng(3).random((6, 10), np.float32))
    fd = doubled(rank=2)
    for _ in range(2):
        np.testing.assert_array_equal(fd.execute([x])[0], x + x)


def test_sizes_are_those_of_each_call():
    fd = doubled(rank=2)
    for rows, columns in ((1, 1), (3, 1), (1, 7), (0, 4), (65, 33), (3, 1), (2000, 17)):
        x = np.random.default_rng(rows).random((rows, columns), np.float32)
        np.testing.assert_array_equal(fd.execute([x])[0], x + x)


def test_outputs_are_arrays_that_are_given():
    fd = doubled(rank=2)
    x = np.random.default_rng(4).random((5, 6), np.float32)
    for y in (np.empty_like(x), np.empty((6, 5), np.float32).T, np.empty((5, 12), np.float32)[:, ::2]):
        result, = fd.execute([x], out=[y])
        assert result is y
        np.testing.assert_array_equal(y, x + x)


def test_outputs_stay_when_their_definition_goes():
    x = np.ones(100, np.float32)
    outputs = [doubled().execute([x])[0] for _ in range(3)]
    assert all((y == 2).all() for y in outputs)


def test_axes_with_elements_keep_their_size_or_are_refused():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, 1], contiguity=[True, None])
        n, m = fd.define_scalar(DataType.Int), fd.define_scalar(DataType.Int)
        fd.add_output(fd.ops.expand(x, [n, m]))
        fd.add_output(fd.ops.broadcast_in_dim(x, [2, n, m], [1, 2]))
    x = np.arange(3, dtype=np.float32).reshape(3, 1)
    for _ in range(2):
        outputs = fd.execute([x, 3, 4])
        np.testing.assert_array_equal(outputs[0], np.broadcast_to(x, (3, 4)))
        np.testing.assert_array_equal(outputs[1], np.broadcast_to(x, (2, 3, 4)))
        for wrong in (5, 1, 0):
            with pytest.raises(tokamak.BindError, match="must be equal|has size"):
                fd.execute([x, wrong, 4])


def test_numbers_are_tensors_without_axes():
    with FusionDefinition() as fd:
        x, y = fd.define_tensor([]), fd.define_tensor([], dtype=DataType.Int)
        fd.add_output(x * y)
    for of_x, of_y in ((1.5, 4), (np.float32(1.5), np.int64(4)), (np.array(1.5, np.float32), np.array(4))):
        z, = fd.execute([of_x, of_y])
        assert z.shape == () and z == 6


REFUSED = {
    "an input too few": ("1 inputs for a definition that has 2", lambda fd, x: fd.execute([x])),
    "an array of other axes": ("rank 2", lambda fd, x: fd.execute([x.reshape(2, 2), 1.0])),
    "an array of another type": ("f64", lambda fd, x: fd.execute([x.astype(np.float64), 1.0])),
    "an array of a type that is not there": ("complex|Z", lambda fd, x: fd.execute([x.astype(np.complex64), 1.0])),
    "an array of objects": ("input 0", lambda fd, x: fd.execute([np.array([None]), 1.0])),
    "an array of another byte order": ("byte order", lambda fd, x: fd.execute([x.astype(">f4"), 1.0])),
    "a record": ("input 0", lambda fd, x: fd.execute([np.zeros(4, [("a", "f4")]), 1.0])),
    "17 axes": ("17 axes; at most 16", lambda fd, x: fd.execute([x.reshape((1,) * 16 + (4,)), 1.0])),
    "a masked array": ("MaskedArray has a mask, .*filled", lambda fd, x: fd.execute(
        [np.ma.masked_array(x, x > 1), 1.0])),
    "an output with a mask": ("MaskedArray has a mask", lambda fd, x: fd.execute(
        [x, 1.0], out=[np.ma.masked_array(x.copy(), x > 1)])),
    "a list": ("list cannot be read", lambda fd, x: fd.execute([[1.0], 1.0])),
    "none": ("NoneType", lambda fd, x: fd.execute([None, 1.0])),
    "a number for a tensor": ("a number for a tensor with 1 axes", lambda fd, x: fd.execute([3.0, 1.0])),
    "an array for a scalar": ("an array with 1 axes for a scalar", lambda fd, x: fd.execute([x, x])),
    "a number of 2000 bits": ("64 bits", lambda fd, x: fd.execute([x, 1 << 2000])),
    "a word for a scalar": ("str cannot be read", lambda fd, x: fd.execute([x, "one"])),
    "an output too many": ("outputs", lambda fd, x: fd.execute([x, 1.0], out=[x, x])),
    "an output of other sizes": ("output|size", lambda fd, x: fd.execute([x, 1.0], out=[np.empty(3, np.float32)])),
    "an output that may not be written": ("be written", lambda fd, x: fd.execute(
        [x, 1.0], out=[np.frombuffer(bytes(16), np.float32)])),
    "an array that lies backwards": ("stride", lambda fd, x: fd.execute([x[::-1], 1.0])),
    "an output that is an input": ("overlaps", lambda fd, x: fd.execute([x, 1.0], out=[x])),
    "an output that overlaps itself": ("stride|overlap", lambda fd, x: fd.execute(
        [x, 1.0], out=[np.lib.stride_tricks.as_strided(np.empty(1, np.float32), (4,), (0,))])),
    "strides of half an element": ("stride", lambda fd, x: fd.execute(
        [np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (4,), (6,)), 1.0])),
}


@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(what):
    words, call = REFUSED[what]
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]) * fd.define_scalar(DataType.Double))
    x = np.arange(4, dtype=np.float32)
    for _ in range(2):
        with pytest.raises(tokamak.BindError, match=words):
            call(fd, x)
    np.testing.assert_array_equal(fd.execute([x, 2.0])[0], x * 2)  # it still runs


def test_threads_run_one_definition():
    fd = doubled(rank=2)
    wrong = []

    def call(seed):
        random = np.random.default_rng(seed)
        for _ in range(40):
            x = random.random((int(random.integers(1, 20)), int(random.integers(1, 20))), np.float32)
            if not np.array_equal(fd.execute([x])[0], x + x):
                wrong.append(x.shape)

    run_in_threads(call, range(8))
    assert not wrong


def test_threads_make_the_first_call_at_once():
    defined = []

    class Sum(FusionDefinition):
        def definition(self):
            defined.append(1)
            self.add_output(self.ops.sum(self.define_tensor([-1])))

    fd = Sum()
    totals = []
    barrier = threading.Barrier(6, timeout=60)

    def call(_):
        barrier.wait()
        totals.append(float(fd.execute([np.ones(50, np.float32)])[0]))

    run_in_threads(call, range(6))
    assert totals == [50.0] * 6 and len(defined) == 1


def test_other_threads_run_while_one_compiles():
    ticks, is_done = [], threading.Event()

    def tick():
        while not is_done.wait(0.002):
            ticks.append(1)

    ticker = threading.Thread(target=tick)
    ticker.start()
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        for _ in range(30):
            x = fd.ops.tanh(x + time.time_ns() % 1000000 / 7)  # so that its kernels are in no cache
        fd.add_output(x)
    fd.execute([np.ones(1000, np.float32)])
    is_done.set()
    ticker.join()
    assert len(ticks) >= 3


def test_import_loads_no_framework():
    code = "import sys, tokamak; print(sorted({'numpy', 'torch', 'jax', 'cupy', 'ml_dtypes'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_modules_for_others_need_no_import_of_their_own():
    code = ("import sys, tokamak; print('tokamak.testing' in sys.modules, callable(tokamak.testing.check), "
            "tokamak.numpy.sum.__name__, hasattr(tokamak, 'tests'), 'tokamak.torch' in sys.modules)")
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True", "sum", "False", "False"], done.stderr


def test_import_leaves_modules_of_python_to_who_needs_them():
    """Each costs milliseconds: import is for 80 of them."""
    code = ("import sys; had = set(sys.modules); import tokamak; new = set(sys.modules) - had; print(sorted(new & "
            "{'asyncio', 'hashlib', 'json', 'logging', 'pathlib', 'random', 'shutil', 'subprocess', 'tempfile'}))")
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_the_interpreter_ends_while_programs_live():
    code = """
import numpy as np, threading
from tokamak import FusionDefinition
with FusionDefinition() as fd:
    x = fd.define_tensor([-1])
    fd.add_output(fd.ops.exp(x))
array = np.ones(1 << 16, np.float32)
def call():
    while True: fd.execute([array])
for _ in range(3): threading.Thread(target=call, daemon=True).start()
for _ in range(20): fd.execute([array])
print("end")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


@pytest.mark.parametrize("array", [np.ones((3, 4), np.float32), np.ones((1, 2, 2), np.float32), np.float32(2)])
def test_an_array_in_place_of_the_list_is_told(array):
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1, -1]) * 2)
    for name in ("execute", "explain", "source_for", "cuda_code_for", "scheduled_fusion_ir_for", "repro_script_for"):
        with pytest.raises(TypeError, match=rf"{name} takes a list of inputs, one for each of the definition; this is "
                                            rf"an array: {name}\(\[x\]\)"):
            getattr(fd, name)(array)
