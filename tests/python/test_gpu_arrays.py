"""Arrays on a GPU, with a fake driver, whose memory is the host's and which has products and nothing else."""
import os
import subprocess
import sys

import pytest

FAKE = os.environ.get("TOKAMAK_FAKE_DRIVER")

BEGINNING = """
import ctypes, gc, sys
import numpy as np
import tokamak
from tokamak import DataType, FusionDefinition
from tokamak._devices import CUDA, open_device

fake = ctypes.CDLL("%s")

def live():
    return fake.fakeCudaLiveObjects()

def array_of(values, number=0):
    values = np.ascontiguousarray(values, np.float32)
    strides = [each // 4 for each in values.strides]
    made = tokamak.Array(open_device((CUDA, number)), ("own", values.nbytes, 0, 0, "f32", list(values.shape), strides))
    ctypes.memmove(made.__cuda_array_interface__["data"][0], values.ctypes.data, values.nbytes)
    return made

def values_of(array):
    told = array.__cuda_array_interface__
    values = np.empty(told["shape"], told["typestr"])
    ctypes.memmove(values.ctypes.data, told["data"][0], values.nbytes)
    return values

class Lent:  # an array of a library that has DLPack and no from_dlpack
    def __init__(self, array):
        self.array, self.asked = array, []
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
    def __dlpack__(self, **named):
        self.asked.append(named)
        return self.array.__dlpack__(**named)

class Told:  # one that tells an address
    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}

def cube():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.matmul(fd.ops.matmul(x, x), x))
    return fd

def refused(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), str(error)
    else:
        raise AssertionError("nothing was raised")

values = np.array([[2, 1], [0, 3]], np.float32)
wanted = values @ values @ values
"""


def run(program, settings="", **environment):
    if not FAKE:
        pytest.skip("the fake driver is not there")
    done = subprocess.run([sys.executable, "-B", "-c", BEGINNING % FAKE + program], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "TOKAMAK_CUDA_DRIVER": FAKE, "TOKAMAK_CUBLASLT": FAKE,
                                            "TOKAMAK_FAKE_CUDA": settings, **environment})
    assert done.returncode == 0, done.stdout + done.stderr


def test_arrays_are_taken_and_given():
    run("""
fd = cube()
for make in (array_of, lambda given: Lent(array_of(given)), lambda given: Told(array_of(given))):
    for _ in range(3):
        y, = fd.execute([make(values)])
        assert isinstance(y, tokamak.Array) and y.__dlpack_device__() == (2, 0)
        np.testing.assert_array_equal(values_of(y), wanted)
assert y.shape == (2, 2) and y.strides == (2, 1) and y.ndim == 2
assert y.dtype is DataType.Float and "f32[2, 2]" in repr(y)
""")


def test_a_number_of_numpy_beside_arrays():
    run("""
with FusionDefinition() as fd:
    n, x = fd.define_scalar(DataType.Int), fd.define_tensor([-1, -1], contiguity=True)
    y = fd.ops.matmul(x, x)
    fd.add_output(y)
for number in (3, np.int64(3), np.array(3)):
    y, = fd.execute([number, array_of(values)])
    assert isinstance(y, tokamak.Array)
    np.testing.assert_array_equal(values_of(y), values @ values)
""")


CUPY = """
import types

class Memory:
    device_id = 0
    def __init__(self, owner, ptr):
        self.owner, self.ptr = owner, ptr
    def __add__(self, bytes):
        return Memory(self.owner, self.ptr + bytes)

asked = []
current = types.SimpleNamespace(ptr=0)

def allocated(bytes):
    asked.append(("alloc", bytes))
    owner = array_of(np.zeros((bytes + 3) // 4, np.float32))
    return Memory(owner, owner.__cuda_array_interface__["data"][0])

class ndarray:
    def __init__(self, shape, dtype=float, memptr=None, strides=None):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.data = allocated(int(np.prod(shape)) * self.dtype.itemsize) if memptr is None else memptr
        by_rows = [int(np.prod(shape[i + 1:])) * self.dtype.itemsize for i in range(len(shape))]
        self.strides = tuple(by_rows if strides is None else strides)
    def __dlpack_device__(self):
        return (2, self.data.device_id)
    def __dlpack__(self, **named):
        raise RuntimeError("the slow way was gone")

ndarray.__module__ = "cupy"

def current_stream(device=0):
    asked.append(("stream", device))
    return current

cupy, cupy.cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")
cupy.ndarray, cupy.cuda.alloc, cupy.cuda.get_current_stream = ndarray, allocated, current_stream
sys.modules.update({"cupy": cupy, "cupy.cuda": cupy.cuda})

def cupy_array_of(values, dtype=np.float32):
    made = ndarray(values.shape, dtype)
    given = np.ascontiguousarray(values, dtype)
    ctypes.memmove(made.data.ptr, given.ctypes.data, given.nbytes)
    return made

def values_of_cupy(array):
    fake.cuStreamSynchronize(None)
    sizes = [(size - 1) * stride for size, stride in zip(array.shape, array.strides)]
    there = (ctypes.c_char * (sum(sizes) + array.dtype.itemsize)).from_address(array.data.ptr)
    return np.lib.stride_tricks.as_strided(np.frombuffer(there, array.dtype), array.shape, array.strides).copy()
"""


def test_arrays_of_cupy_are_read_by_their_attributes():
    run(CUPY + """
fd = cube()
x = cupy_array_of(values)
y, = fd.execute([array_of(values)])  # compiles, the slow way
for _ in range(3):
    asked.clear()
    y, = fd.execute([x])
    assert type(y) is ndarray and y.dtype == np.float32 and y.strides == (8, 4), (y.dtype, y.strides)
    np.testing.assert_array_equal(values_of_cupy(y), wanted)
    assert asked.count(("stream", 0)) == 1 and asked.count(("alloc", 16)) == 1, asked
out = cupy_array_of(np.zeros((2, 2)))
made, = fd.execute([x], out=[out])
assert made is out
np.testing.assert_array_equal(values_of_cupy(out), wanted)
turned = ndarray((2, 2), np.float32, memptr=x.data, strides=(4, 8))
refused(tokamak.BindError, "stride 1, but its stride is 2", lambda: fd.execute([turned]))
""")


def test_outputs_of_cupy_that_do_not_lie_by_rows():
    run(CUPY + """
with FusionDefinition() as fd:
    x = fd.define_tensor([-1, -1], contiguity=True)
    fd.add_output(fd.ops.matmul(x, x), stride_order=[0, 1])
fd.execute([array_of(values)])
x = cupy_array_of(values)
for _ in range(2):
    y, = fd.execute([x])
    assert type(y) is ndarray and y.strides == (4, 8), y.strides
    np.testing.assert_array_equal(values_of_cupy(y), values @ values)
""")


def test_arrays_of_cupy_that_are_odd():
    run(CUPY + """
fd = cube()
fd.execute([array_of(values)])
x = cupy_array_of(values)
fd.execute([x])
def odd(**changes):
    made = ndarray((2, 2), np.float32, memptr=x.data)
    for name, value in changes.items():
        setattr(made, name, value)
    return made
elsewhere = Memory(x.data.owner, x.data.ptr)
elsewhere.device_id = 1
for changes in ({"dtype": np.dtype(">f4")}, {"dtype": "f4"}, {"dtype": np.dtype("c8")}, {"strides": (8,)},
                {"strides": (7, 3)}, {"shape": [2, 2]}, {"shape": ("a", 2)}, {"shape": (2,) * 100},
                {"shape": (2 ** 70, 2)}, {"data": None}, {"data": Memory(None, "a")}, {"data": Memory(None, 2 ** 70)},
                {"data": elsewhere}):
    refused(Exception, "", lambda: fd.execute([odd(**changes)]))  # by the slow way
class Masked(ndarray):
    pass
refused(Exception, "the slow way", lambda: fd.execute([Masked((2, 2), np.float32, memptr=x.data)]))
np.testing.assert_array_equal(values_of_cupy(*fd.execute([x])), wanted)
""")


def test_streams_of_cupy_live_as_long_as_somebody_needs_them():
    run(CUPY + """
class Stream:  # whose last reference destroys it
    def __init__(self):
        made = ctypes.c_void_p()
        assert fake.cuStreamCreate(ctypes.byref(made), 1) == 0
        self.ptr = made.value
    def __del__(self):
        assert fake.cuStreamDestroy_v2(ctypes.c_void_p(self.ptr)) == 0

def wait():
    assert fake.cuStreamSynchronize(ctypes.c_void_p(current.ptr)) == 0

class Slow(ndarray):  # for whose calls tokamak makes the outputs
    def __dlpack__(self, **named):
        return self.lent.__dlpack__(**named)

x, null, held, fd = cupy_array_of(values), current, [], cube()
slow = Slow((2, 2), np.float32, memptr=x.data)
slow.lent = array_of(values)
def turn(i):
    global current
    current = null if i % 3 else Stream()
    for _ in range(2):
        y, = fd.execute([slow if i % 2 else x])
        wait()
        held.append(y)
        del held[:-5]
        if i % 2 == 0:  # whoever asks for the others' values knows that the work is over
            np.testing.assert_array_equal(values_of_cupy(y), wanted)
for i in range(12):
    turn(i)
""")


RANKS = CUPY + """
import threading
from tokamak.communicator import Communicator
from tokamak.multi_device import MultiDeviceExecutor

here = threading.local()  # a stream of each thread, as ranks of one process need

def stream_here(device=0):
    if not hasattr(here, "stream"):
        made = ctypes.c_void_p()
        assert fake.cuStreamCreate(ctypes.byref(made), 1) == 0
        here.stream = types.SimpleNamespace(ptr=made.value)
    return here.stream

cupy.cuda.get_current_stream = stream_here
told, meeting, failures = {}, threading.Barrier(2), []

def exchange_of(rank):
    turns = iter(range(1000))
    def exchange(own):
        turn = next(turns)
        told[turn, rank] = own
        meeting.wait(60)
        return [told[turn, 0], told[turn, 1]]
    return exchange

def product(communicator):  # of a matrix that all ranks have and one whose rows they share
    with FusionDefinition() as fd:
        x, w = fd.define_tensor([-1, -1], contiguity=True), fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.matmul(x, w))
    for tensor in (x, w):
        fd.sched._set_device_mesh(tensor, tokamak.DeviceMesh(2))
    fd.sched.split(w, 0, 2, False)
    fd.sched.parallelize(w, 0, tokamak.ParallelType.mesh_x)
    return MultiDeviceExecutor(fd, communicator)

def on_ranks(work):
    def one(rank):
        try:
            communicator = Communicator.peer(exchange_of(rank), rank=rank, size=2, device=0, timeout=60)
            work(product(communicator), rank)
            meeting.wait(60)  # a rank whose communicator goes while others call has died
        except BaseException as error:
            failures.append(error)
            meeting.abort()
            raise
    threads = [threading.Thread(target=one, args=[rank]) for rank in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures, failures

def parts_of(executor, inner):
    rng = np.random.default_rng(inner)
    whole = [rng.integers(-3, 4, sizes).astype("f") for sizes in ((7, inner), (inner, 5))]
    return [cupy_array_of(np.ascontiguousarray(each)) for each in executor.shard(whole)], whole[0] @ whole[1]
"""


def test_what_comes_behind_a_communication_is_given_to_the_callers_stream():
    run(RANKS + """
def work(executor, rank):
    for inner in (8, 2, 78, 30, 8, 64):
        parts, wanted = parts_of(executor, inner)
        y, = executor.run(parts)
        fake.cuStreamSynchronize(ctypes.c_void_p(stream_here().ptr))  # as the caller's own work there would
        np.testing.assert_array_equal(values_of_cupy(y), wanted)

on_ranks(work)
""")


def test_the_stream_is_told_to_producers():
    run("""
fd = cube()
x = Lent(array_of(values))
fd.execute([x])
(asked,) = x.asked
assert isinstance(asked["stream"], int) and asked["stream"] > 2 and asked["max_version"] == (1, 1)
for stream in (None, 1, -1, asked["stream"]):
    capsule = x.array.__dlpack__(stream=stream)
    del capsule
refused(tokamak.BindError, "stream 0", lambda: x.array.__dlpack__(stream=0))
refused(tokamak.UnsupportedError, "each thread", lambda: x.array.__dlpack__(stream=2))
""")


def test_arrays_are_let_go():
    run("""
fd = cube()
def most_live(calls):
    most = 0
    for _ in range(calls):
        fd.execute([Lent(array_of(values))])
        fd.execute([Told(array_of(values))])
        gc.collect()
        most = max(most, live())
    return most
first = most_live(30)
assert most_live(100) <= first + 5, first
""")


def test_outputs_are_written_on_the_gpu():
    run("""
fd = cube()
out = array_of(np.zeros((2, 2)))
given, = fd.execute([array_of(values)], out=[out])
assert given is out
np.testing.assert_array_equal(values_of(out), wanted)
out = array_of(np.zeros((2, 2)))
fd.execute([Lent(array_of(values))], out=[Told(out)])
np.testing.assert_array_equal(values_of(out), wanted)
told = Told(out, data=(out.__cuda_array_interface__["data"][0], True))
refused(tokamak.BindError, "may not be written", lambda: fd.execute([array_of(values)], out=[told]))
""")


def test_what_does_not_fit_is_refused():
    run("""
fd = cube()
x = array_of(values)
refused(tokamak.BindError, "CPU non-scalar tensor is not supported!",
        lambda: fd.execute([x], out=[np.zeros((2, 2), np.float32)]))
with FusionDefinition() as two:
    a, b = two.define_tensor([-1, -1], contiguity=True), two.define_tensor([-1, -1], contiguity=True)
    two.add_output(two.ops.matmul(a, b))
refused(tokamak.BindError, "CPU non-scalar tensor is not supported!", lambda: two.execute([x, values]))
refused(tokamak.BindError, "Inputs are not all on the same device!", lambda: two.execute([x, array_of(values, 1)]))
for changes, words in (({"typestr": "<u1"}, "<u1"), ({"typestr": ">f4"}, ">f4"), ({"typestr": "f"}, "f"),
                       ({"strides": (3, 4)}, "stride of 3 bytes"), ({"strides": (4,)}, "1 strides for 2 axes"),
                       ({"shape": "ab"}, "input 0"), ({"data": None}, "input 0"), ({"data": (0, False)}, "null")):
    refused(tokamak.Error, words, lambda: fd.execute([Told(x, **changes)]))
np.testing.assert_array_equal(values_of(fd.execute([x])[0]), wanted)
""", "devices=2")


def test_each_device_has_a_program_of_its_own():
    run("""
fd = cube()
for number in (0, 1, 0):
    y, = fd.execute([array_of(values, number)])
    assert y.__dlpack_device__() == (2, number)
    np.testing.assert_array_equal(values_of(y), wanted)
    z, = fd.execute([values])
    assert isinstance(z, np.ndarray)
    np.testing.assert_array_equal(z, wanted)
refused(tokamak.Error, "device", lambda: fd.execute([array_of(values, 7)]))
""", "devices=2")


def test_a_machine_without_a_driver_says_so():
    run("""
refused(tokamak.UnsupportedError, "driver", lambda: open_device((CUDA, 0)))
with FusionDefinition() as fd:
    fd.add_output(fd.ops.full([3], fill_value=2.0, dtype=DataType.Float))
refused(tokamak.UnsupportedError, "driver", lambda: fd.execute([], device="cuda"))
""", TOKAMAK_CUDA_DRIVER="/nowhere/libcuda.so")
