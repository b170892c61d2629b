"""Arrays of other libraries on the CPU: what they are given as, without a copy, and what comes back."""
import array
import ctypes
import gc
import importlib
import weakref

import numpy as np
import pytest

import tokamak
from tokamak import DataType, FusionDefinition

WORDS = {DataType.Double: "float64", DataType.Float: "float32", DataType.Half: "float16", DataType.BFloat16: "bfloat16",
         DataType.Int: "int64", DataType.Int32: "int32", DataType.Bool: "bool"}


class NumPy:
    has_memory_of_its_own = True

    def __init__(self):
        self.array_type = np.ndarray
        self._words = {}
        if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # (what it needs of ml_dtypes, older ones lack)
            try:
                self._words["bfloat16"] = importlib.import_module("ml_dtypes").bfloat16
            except ImportError:
                pass

    def kind(self, dtype):
        word = WORDS[dtype]
        if word == "bfloat16" and word not in self._words:
            pytest.skip("NumPy has no bfloat16 without ml_dtypes")
        return np.dtype(self._words.get(word, word))

    def array(self, values, dtype):
        return np.array(values).astype(self.kind(dtype))

    def empty(self, sizes, dtype):
        return np.empty(sizes, self.kind(dtype))

    def values(self, array):
        return np.asarray(array).astype(np.float64)

    def turned(self, array):
        return array.T

    def every_second(self, array):
        return array[:, ::2]

    def address(self, array):
        return array.ctypes.data


class Torch(NumPy):
    def __init__(self):
        self.torch = pytest.importorskip("torch")
        self.array_type = self.torch.Tensor

    def kind(self, dtype):
        return getattr(self.torch, WORDS[dtype])

    def array(self, values, dtype):
        return self.torch.tensor(np.array(values)).to(self.kind(dtype))

    def empty(self, sizes, dtype):
        return self.torch.empty(sizes, dtype=self.kind(dtype))

    def values(self, array):
        return array.detach().double().numpy()

    def address(self, array):
        return array.data_ptr()


class Jax(NumPy):
    has_memory_of_its_own = False  # its arrays never change

    def __init__(self):
        self.jax = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.jax.config.update("jax_default_device", self.jax.devices("cpu")[0])
        self.array_type = self.jax.Array

    def kind(self, dtype):
        return self.jax.numpy.dtype(WORDS[dtype])

    def array(self, values, dtype):
        return self.jax.numpy.asarray(np.array(values), dtype=self.kind(dtype))

    def address(self, array):
        return array.unsafe_buffer_pointer()


LIBRARIES = {"numpy": NumPy, "torch": Torch, "jax": Jax}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return LIBRARIES[request.param]()


def twice_and_sum(dtype, rank=2, kinds=None):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1] * rank, dtype=dtype)
        y = fd.define_tensor([-1] * rank, dtype=dtype)
        fd.add_output(fd.ops.cast(fd.ops.where(fd.ops.ne(x, 0), fd.ops.add(x, y), x), dtype))
        fd.add_output(fd.ops.permute(fd.ops.set(y), list(reversed(range(rank)))))
    return fd


NUMBERS = [[0, 1, 2, 3], [4, 0, 6, 1], [1, 1, 0, 5]]


@pytest.mark.parametrize("dtype", [each for each in WORDS if each is not DataType.Bool], ids=str)
def test_every_type_goes_in_and_comes_out(library, dtype):
    fd = twice_and_sum(dtype)
    x, y = library.array(NUMBERS, dtype), library.array(np.ones((3, 4)), dtype)
    for _ in range(2):  # compiled, then known
        first, second = fd.execute([x, y])
        assert isinstance(first, library.array_type) and first.dtype == x.dtype and second.dtype == x.dtype
        np.testing.assert_array_equal(library.values(first), np.where(np.array(NUMBERS) != 0, np.array(NUMBERS) + 1, 0))
        np.testing.assert_array_equal(library.values(second), np.ones((4, 3)))


def test_truths(library):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], dtype=DataType.Bool)
        fd.add_output(fd.ops.logical_not(x))
    y, = fd.execute([library.array([True, False, True], DataType.Bool)])
    assert isinstance(y, library.array_type) and library.values(y).tolist() == [0, 1, 0]


def test_arrays_that_lie_otherwise(library):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        fd.add_output(x * 3.0)
    base = library.array(np.arange(24).reshape(4, 6), DataType.Float)
    for part in (library.turned(base), library.every_second(base), base[1:, 2:], base[:0], base[:1]):
        for _ in range(2):
            y, = fd.execute([part])
            np.testing.assert_array_equal(library.values(y), library.values(part) * 3)


def test_outputs_that_lie_otherwise(library):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1, -1], contiguity=True)
        fd.add_output(x * 3.0, stride_order=[0, 2, 1])
    given = library.array(np.arange(24).reshape(2, 3, 4), DataType.Float)
    for _ in range(2):
        y, = fd.execute([given])
        np.testing.assert_array_equal(library.values(y), np.arange(24).reshape(2, 3, 4) * 3)


def test_outputs_whose_elements_repeat(library):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        fd.add_output(fd.ops.broadcast_in_dim(x, [4, 2, 3], [1, 2]))
        fd.add_output(fd.ops.expand(fd.ops.sum(x, 1, keepdim=True), [2, 5]))
    values = np.arange(6).reshape(2, 3)
    for _ in range(2):
        repeated, sums = fd.execute([library.array(values, DataType.Float)])
        np.testing.assert_array_equal(library.values(repeated), np.broadcast_to(values, (4, 2, 3)))
        np.testing.assert_array_equal(library.values(sums), np.broadcast_to([[3], [12]], (2, 5)))
    if isinstance(repeated, np.ndarray):
        repeated[0, 0, 0] = 9
        assert repeated[1, 0, 0] == 0


@pytest.mark.parametrize("sizes", [(), (0,), (3, 0, 2), (1,), (1, 1), (2, 1, 3, 1, 2)])
def test_odd_sizes(library, sizes):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1] * len(sizes))
        fd.add_output(x + 1.0)
    values = np.arange(np.prod(sizes, dtype=int)).reshape(sizes)
    for _ in range(2):
        y, = fd.execute([library.array(values, DataType.Float)])
        assert tuple(y.shape) == sizes
        np.testing.assert_array_equal(library.values(y), values + 1)


def test_nothing_is_copied(library):
    """What is written into the memory of an array that was given is seen by the next call."""
    if not library.has_memory_of_its_own:
        pytest.skip("its arrays never change")
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        fd.add_output(x + 1.0, x)
        fd.add_output(x * 2.0)
    x = library.array([1, 2, 3], DataType.Float)
    address = library.address(x)
    for step in range(3):
        y, = fd.execute([x])
        assert library.values(y).tolist() == [2 * (value + step) for value in (1, 2, 3)]
        assert library.values(x).tolist() == [value + step + 1 for value in (1, 2, 3)]
    out = library.empty((3,), DataType.Float)
    given, = fd.execute([x], out=[out])
    assert given is out and library.address(x) == address and library.values(out).tolist() == [8, 10, 12]


def test_arrays_that_never_change_are_not_changed():
    jax = Jax()
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], dtype=DataType.BFloat16)
        fd.add_output(fd.ops.cast(x + 1.0, DataType.BFloat16), x)
    x = jax.array([1, 2, 3], DataType.BFloat16)
    with pytest.raises(tokamak.BindError, match="updated in place, but the given tensor may not be written"):
        fd.execute([x])
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1], dtype=DataType.BFloat16) + 1.0)
    with pytest.raises(tokamak.BindError, match="may not be written"):
        fd.execute([x], out=[x])
    assert jax.values(x).tolist() == [1, 2, 3]


def test_definitions_like_an_array(library):
    base = library.array(np.arange(24).reshape(4, 6), DataType.Half)
    for array in (base, library.turned(base), base[:1], base[:0], library.array(3, DataType.Half)):
        with FusionDefinition() as fd:
            x = fd.from_array(array)
            fd.add_output(fd.ops.cast(x * 2.0, DataType.Half))
        assert x.dtype is DataType.Half and x.ndim == array.ndim
        y, = fd.execute([array])
        np.testing.assert_array_equal(library.values(y), library.values(array) * 2)


def test_the_first_array_says_who_makes_outputs():
    libraries = [each() for each in (NumPy, Torch, Jax)]
    fd = twice_and_sum(DataType.Float)
    for first in libraries:
        for second in libraries:
            x, y = first.array(NUMBERS, DataType.Float), second.array(NUMBERS, DataType.Float)
            for _ in range(2):
                total, turned = fd.execute([x, y])
                assert isinstance(total, first.array_type) and isinstance(turned, first.array_type)
                np.testing.assert_array_equal(first.values(total), np.array(NUMBERS) * 2)
                np.testing.assert_array_equal(first.values(turned), np.array(NUMBERS).T)


def test_outputs_of_any_library_are_written():
    libraries = [each() for each in (NumPy, Torch)]
    fd = twice_and_sum(DataType.Float)
    for first in libraries:
        for second in libraries:
            x = first.array(NUMBERS, DataType.Float)
            out = [second.empty((3, 4), DataType.Float), first.empty((4, 3), DataType.Float)]
            fd.execute([x, x], out=out)
            np.testing.assert_array_equal(second.values(out[0]), np.array(NUMBERS) * 2)


def test_torch_has_its_own_kinds_of_tensors():
    library = Torch()
    torch = library.torch
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1, -1]) * 2.0)
    x = torch.nn.Parameter(torch.ones(2, 3))
    y, = fd.execute([x])
    assert type(y) is torch.Tensor and not y.requires_grad and (y == 2).all()
    with pytest.raises(tokamak.BindError, match="input 0"):
        fd.execute([torch.eye(3).to_sparse()])
    with pytest.raises(tokamak.BindError, match="complex64"):
        fd.execute([torch.ones(2, 3, dtype=torch.complex64)])
    with pytest.raises(tokamak.BindError, match="uint8"):
        fd.execute([torch.ones(2, 3, dtype=torch.uint8)])
    with pytest.raises(tokamak.BindError, match="device of DLPack|input 0"):
        fd.execute([torch.ones(2, 3, device="meta")])

    class Other(torch.Tensor):
        pass

    y, = fd.execute([torch.ones(2, 3).as_subclass(Other)])
    assert (y == 2).all()
    np.testing.assert_array_equal(fd.execute([torch.ones(2, 3)])[0].numpy(), np.full((2, 3), 2))


def test_torch_is_told_of_what_was_written():
    """A gradient that needs what was there before is refused, as after any operation in place."""
    torch = Torch().torch
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        fd.add_output(x + 1.0)
    with FusionDefinition() as update:
        s, x = update.define_scalar(DataType.Double), update.define_tensor([-1])
        update.add_output(x * s, x)
    for write in (lambda kept: fd.execute([torch.ones(3)], out=[kept]), lambda kept: update.execute([2.0, kept])):
        for _ in range(2):
            leaf = torch.ones(3, requires_grad=True)
            kept = torch.ones(3)
            before = kept._version
            result = (leaf * kept).sum()
            write(kept)
            assert kept._version > before
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                result.backward()


def test_subclasses_have_outputs_of_their_base():
    torch = Torch().torch
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]) * 2.0)

    class Other(torch.Tensor):
        pass

    class Array(np.ndarray):
        pass

    assert isinstance(fd.execute([torch.ones(3).as_subclass(Other)])[0], torch.Tensor)
    assert isinstance(fd.execute([np.ones(3, np.float32).view(Array)])[0], np.ndarray)


def test_numbers_that_are_none_of_their_type_are_refused():
    for dtype, wrong, right in ((DataType.Int, 7.5, 7.0), (DataType.Int32, 1 << 40, 1 << 30),
                                (DataType.Int, float("nan"), -1)):
        with FusionDefinition() as fd:
            fd.add_output(fd.ops.set(fd.define_tensor([], dtype=dtype)))
        with pytest.raises(tokamak.BindError, match="of which it is no number"):
            fd.execute([wrong])
        assert fd.execute([right])[0] == right
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([], dtype=DataType.Double) * fd.define_scalar(DataType.Double))
    assert fd.execute([1.0, 1 << 70])[0] == 2.0 ** 70 == fd.execute([1 << 70, 1])[0]


def test_arrays_of_pythons_own_library():
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1, -1]) * 2.0)
    rows = ctypes.c_float * 3
    given = (rows * 2)(rows(1, 2, 3), rows(4, 5, 6))
    wanted = [[2, 4, 6], [8, 10, 12]]
    assert fd.execute([given])[0].tolist() == wanted
    assert fd.execute([memoryview(array.array("f", range(1, 7))).cast("B").cast("f", (2, 3))])[0].tolist() == wanted
    out = (rows * 2)()
    assert fd.execute([given], out=[out])[0] is out and [list(each) for each in out] == wanted
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1], dtype=DataType.Int) * fd.define_scalar(DataType.Double))
    assert fd.execute([array.array("q", [1, 2]), ctypes.c_double(1.5)])[0].tolist() == [1.5, 3]


class Lent:
    """An array that has DLPack and nothing else; `version`: what it speaks."""

    def __init__(self, array, version=1):
        self._array = array
        self._version = version

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def __dlpack__(self, **named):
        if self._version == 0 and "max_version" in named:
            raise TypeError("max_version is no parameter")
        self.asked = named
        return self._array.__dlpack__(**named) if self._version == 1 else self._array.__dlpack__()


@pytest.mark.parametrize("version", [0, 1])
def test_objects_with_dlpack_are_lent_for_a_call(version):
    if np.lib.NumpyVersion(np.__version__) < "2.1.0" and version == 1:
        pytest.skip("NumPy speaks DLPack 1.x from 2.1 on")
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]) * 2.0)
    for _ in range(3):
        array = np.arange(4, dtype=np.float32)
        lent = Lent(array, version)
        y, = fd.execute([lent])
        assert isinstance(y, np.ndarray) and y.tolist() == [0, 2, 4, 6]
        assert "stream" not in lent.asked or lent.asked["stream"] is None
        gone = weakref.ref(array)
        del array, lent
        gc.collect()
        assert gone() is None


class Broken:
    def __init__(self, device, capsule):
        self._device, self._capsule = device, capsule

    def __dlpack_device__(self):
        if isinstance(self._device, BaseException):
            raise self._device
        return self._device

    def __dlpack__(self, **named):
        if isinstance(self._capsule, Exception):
            raise self._capsule
        return self._capsule


@pytest.mark.parametrize("device, capsule, words", [
    ((1, 0), None, "input 0"), ((1, 0), 5, "input 0"), ((1, 0), BufferError("not today"), "not today"),
    ((2, 0), None, "CUDA|cuda|driver|GPU|Capsule"), ((9, 0), None, "type 9"), (("a", "b"), None, "legal is a pair"),
    (OSError("unplugged"), None, "fails: unplugged"), (5, None, "gives 5; legal is a pair"),
    ((1,), None, "legal is a pair"),
])
def test_broken_producers_are_refused(device, capsule, words):
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]) * 2.0)
    for _ in range(2):
        with pytest.raises(tokamak.Error, match=words):
            fd.execute([Broken(device, capsule)])
    assert fd.execute([np.ones(2, np.float32)])[0].tolist() == [2, 2]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_who_ends_the_program_is_not_held_up(kind):
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]) * 2.0)

    class Ending(Broken):
        def __dlpack__(self, **named):
            raise kind

    for each in (Ending((1, 0), None), Broken(KeyboardInterrupt(), None)):
        with pytest.raises((KeyboardInterrupt, kind)):
            fd.execute([each])


def test_a_capsule_is_taken_once():
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("NumPy speaks DLPack 1.x from 2.1 on")
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]) * 2.0)
    capsule = np.arange(4, dtype=np.float32).__dlpack__(max_version=(1, 1))
    broken = Broken((1, 0), capsule)
    assert fd.execute([broken])[0].tolist() == [0, 2, 4, 6]
    with pytest.raises(tokamak.BindError):
        fd.execute([broken])


def test_arrays_of_the_library_itself():
    """What frameworks without memory to lend are given: it is written by one call, then taken by DLPack."""
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1, -1]) * 2.0)
    place = tokamak._devices.open_device((1, 0))
    made = tokamak.Array(place, ("own", 48, 0, 8, "f32", [2, 3], [4, 1]))
    assert made.shape == (2, 3) and made.strides == (4, 1) and made.dtype is DataType.Float
    assert fd.execute([np.ones((2, 3), np.float32)], out=[made])[0] is made
    np.testing.assert_array_equal(np.from_dlpack(made), np.full((2, 3), 2))
    np.testing.assert_array_equal(fd.execute([made])[0], np.full((2, 3), 4))
    with pytest.raises(tokamak.BindError, match="a stream of a GPU for an array on the host"):
        made.__dlpack__(stream=1)
    with pytest.raises(AttributeError):
        made.__cuda_array_interface__
    for versioned in (None, (0, 8), (1, 1)):
        capsule = made.__dlpack__(max_version=versioned)  # that nobody takes
        assert ("versioned" in repr(capsule)) == (versioned == (1, 1))


def test_a_call_runs_once():
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]) * 2.0)
    x, y = np.ones(3, np.float32), np.empty(3, np.float32)
    fd.execute([x])
    call = fd._program.call([x], None)
    call.run([y], fd._last)
    with pytest.raises(tokamak.Error, match="a call runs once"):
        call.run([y], fd._last)
    assert y.tolist() == [2, 2, 2]


def test_calls_choose_their_device():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.full([3], fill_value=2.0, dtype=DataType.Float))
    assert fd.execute([])[0].tolist() == [2, 2, 2] == fd.execute([], device="cpu")[0].tolist()
    for device in ("tpu", "cuda:x", "cpu:1", 1.5):
        with pytest.raises(ValueError, match="is none; legal are"):
            fd.execute([], device=device)
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]) * 2.0)
    with pytest.raises(tokamak.BindError, match="Inputs are not all on the same device or don't match selection!"):
        fd.execute([np.ones(3, np.float32)], device="cuda:0")
