"""Arrays for outputs: each library makes its own, and is imported when it is asked for the first."""
import math
import re
import sys

from . import _tokamak
from ._arguments import plain, shown
from ._devices import CPU, CUDA, INTERPRETER, open_device
from ._types import BYTES, NUMPY_NAMES, bfloat16_of_numpy

ALIGNMENT = 64  # bytes


def maker_for(inputs, place, library):
    """What makes the outputs of a call with these inputs: the library of the first array; without arrays, `library`.
    `place`: their device, as DLPack tells it."""
    arrays = [each for each in inputs if not isinstance(each, (bool, int, float))]
    if place[0] == CUDA:
        arrays = [each for each in arrays if _root(each) != "numpy"]  # numbers, too
    first = arrays[0] if arrays else None
    root = _root(first) if arrays else library
    if root == "torch":
        return _Torch(place)
    if root in ("numpy", "builtins", "array") and place[0] == CPU:
        return _NumPy()
    take = _from_dlpack_of(first, root) if arrays else None
    if root in ("jax", "jaxlib"):
        take = _to_home(take, _home_of(inputs))
    if take is None and place[0] == CPU:
        return _NumPy()
    return _Others(root, take, place)


def _root(array):
    """The package that made an array's class, or a base of it."""
    roots = [each.__module__.partition(".")[0] for each in type(array).__mro__]
    return next((each for each in roots if each in ("torch", "numpy", "cupy", "jax", "jaxlib")), roots[0])


def _home_of(inputs):
    """The device of JAX's arrays among the inputs, of which it may have several on a processor: DLPack calls them all
    by one number. Raises tokamak.BindError for arrays of several devices."""
    homes = {i: each.device for i, each in enumerate(inputs) if _root(each) in ("jax", "jaxlib")}
    (first, home), *others = homes.items()
    for i, other in others:
        if other != home:
            raise _tokamak.BindError(f"Inputs are not all on the same device! Input {i} is on {other}, input {first} "
                                     f"on {home}")
    return home


def _to_home(take, home):
    """The function that takes arrays, for those of one device of JAX."""
    def taken(array):
        made = take(array)
        return made if made.device == home else sys.modules["jax"].device_put(made, home)

    return taken


def note_written(arrays):
    """Tells torch of its tensors that were written, so that gradients which need what was there are refused."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    kind = torch.Tensor
    tensors = [each for each in arrays if isinstance(each, kind)]
    if not tensors:
        return
    try:
        torch.autograd.graph.increment_version(tensors)
    except RuntimeError:  # those of inference mode have no versions
        torch.autograd.graph.increment_version([each for each in tensors if not each.is_inference()])


def require_written_by_hand(arrays):
    """Raises tokamak.BindError for a tensor of torch that learns, and that a call would write without its gradient's
    knowledge: torch's own functions refuse them, too."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.is_grad_enabled():
        return
    for each in arrays:
        if isinstance(each, torch.Tensor) and each.requires_grad and each.is_leaf:
            raise _tokamak.BindError("a leaf tensor that requires a gradient is not written in place; "
                                     "give its detach()")


def place_of(inputs, device):
    """Where a call runs, as DLPack tells devices: where its arrays are; without arrays, `device`."""
    try:
        place = _tokamak.device_of(inputs)
    except _tokamak.BindError:
        for i, each in enumerate(inputs):
            if callable(getattr(each, "is_deleted", None)) and each.is_deleted():
                raise _tokamak.BindError(f"input {i} is an array that was deleted, or donated to a function of "
                                         "JAX") from None
        raise
    if device is None:
        return place
    wanted = place_named(device)
    if place[0] == CPU and not any(getattr(each, "shape", ()) for each in inputs):
        return wanted
    if wanted == INTERPRETER and place[0] == CPU:
        return wanted  # which uses the processor's memory
    if wanted != place:
        raise _tokamak.BindError("Inputs are not all on the same device or don't match selection! "
                                 f"The arrays are on {name_of(place)}, and {device} was asked for")
    return place


def name_of(place):
    """'cpu', 'cuda:0' or 'interpreter'."""
    if place == INTERPRETER:
        return "interpreter"
    return "cpu" if place[0] == CPU else f"cuda:{place[1]}"


def place_named(device):
    """The kind and number of a device. Raises ValueError for what is none."""
    device = plain(device)
    try:
        name = f"cuda:{device}" if type(device) is int else str(device)
    except Exception:  # of the caller's own classes, or too deep
        name = ""
    if name == "interpreter":
        return INTERPRETER
    found = re.fullmatch(r"(cpu(?::0)?)|cuda(?::([0-9]{1,9}))?", name, re.ASCII)
    if found is None:
        raise ValueError(f"device {shown(device)} is none; legal are 'cpu', 'cuda', 'cuda:0' and 'interpreter'")
    return (CPU, 0) if found[1] else (CUDA, int(found[2] or 0))


def _from_dlpack_of(array, root):
    """The function by which the array's library takes arrays of others, if it has one."""
    try:
        return array.__array_namespace__().from_dlpack
    except (AttributeError, NotImplementedError):
        pass
    return getattr(sys.modules.get(root), "from_dlpack", None)


def strides_of(array):
    """In elements. Arrays that do not tell them, as JAX's, are row-major."""
    if hasattr(array, "stride"):
        return list(array.stride())  # torch's
    if isinstance(array, _tokamak.Array):
        return list(array.strides)
    if hasattr(array, "strides"):
        return [stride // array.itemsize for stride in array.strides]
    return _row_major(array.shape)


def _row_major(sizes):
    strides, dense = [], 1
    for size in reversed(sizes):
        strides.append(dense)
        dense *= max(size, 1)
    return strides[::-1]


def make_outputs(maker, layouts, inputs):
    """An array for each layout (memory, bytes, of, offset, type, sizes, strides), and what a call is given for it: None
    for one that lies in another's memory."""
    arrays, given = [], []
    for layout in layouts:
        memory, _, of = layout[:3]
        if memory == "own":
            arrays.append(maker.make(layout))
        else:
            arrays.append(arrays[of] if memory == "output" else maker.view(inputs[of], layout))
        given.append(arrays[-1] if memory == "own" else None)
    return arrays, given


def _compact(layout):
    """The layout, or a row-major one where elements are one in memory or far from each other: few libraries take such
    arrays, and whoever writes into one would be surprised."""
    memory, _, of, _, dtype, sizes, strides = layout
    dense = 1
    for stride, size in sorted(zip(strides, sizes)):
        if size == 1:
            continue
        if stride != dense:
            break
        dense *= size
    else:
        return layout
    return memory, math.prod(sizes) * BYTES[dtype], of, 0, dtype, sizes, _row_major(sizes)


class _NumPy:
    stream = None

    def make(self, layout):
        import numpy as np

        _, size, _, offset, dtype, sizes, strides = _compact(layout)
        kind = np.dtype(_numpy_type(dtype))
        memory = np.empty(size + ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % ALIGNMENT
        return np.ndarray(sizes, kind, memory[start:start + size], offset, [each * kind.itemsize for each in strides])

    def view(self, base, layout):
        import numpy as np

        _, _, _, offset, dtype, sizes, strides = layout
        kind = np.dtype(_numpy_type(dtype))
        array = np.asarray(base)
        return np.asarray(_Memory(array, {"version": 3, "data": (array.ctypes.data + offset, not array.flags.writeable),
                                          "typestr": kind.str, "shape": tuple(sizes),
                                          "strides": tuple(each * kind.itemsize for each in strides)})).view(kind)

    def given(self, array):
        return array


class _Memory:
    def __init__(self, base, interface):
        self.base = base
        self.__array_interface__ = interface


def _numpy_type(dtype):
    return bfloat16_of_numpy() if dtype == "bf16" else NUMPY_NAMES[dtype]


class _Torch:
    def __init__(self, place):
        import torch

        self._torch = torch
        self._device = "cpu" if place[0] == CPU else name_of(place)
        self.stream = torch.cuda.current_stream(place[1]).cuda_stream if place[0] == CUDA else None

    def make(self, layout):
        _, size, _, offset, dtype, sizes, strides = layout
        kind = getattr(self._torch, NUMPY_NAMES[dtype])
        memory = self._torch.empty(size // kind.itemsize, dtype=kind, device=self._device)
        return memory.as_strided(sizes, strides, offset // kind.itemsize)

    def view(self, base, layout):
        _, _, _, offset, _, sizes, strides = layout
        return base.detach().as_strided(sizes, strides, base.storage_offset() + offset // base.element_size())

    def given(self, array):
        return array


class _Others:
    """A library that takes arrays by DLPack. Without one, a GPU's arrays are tokamak's own."""

    def __init__(self, root, take, place):
        self._take = take
        self._device = open_device(place)
        self.stream = sys.modules["cupy"].cuda.get_current_stream() if root == "cupy" else None

    def make(self, layout):
        return _tokamak.Array(self._device, _compact(layout), self.stream)

    def view(self, base, layout):
        return base

    def given(self, array):
        is_ours = isinstance(array, _tokamak.Array)
        return self._take(array) if is_ours and self._take is not None else array
