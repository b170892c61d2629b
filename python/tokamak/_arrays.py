"""Arrays for outputs, made by NumPy, which is imported when the first is made."""
from ._types import NUMPY_NAMES

ALIGNMENT = 64  # bytes


def make_outputs(layouts, inputs):
    """An array for each layout (memory, bytes, of, offset, type, sizes, strides), and what a call is given for it: None
    for one that lies in another's memory."""
    import numpy as np

    arrays, given = [], []
    for memory, size, of, offset, dtype, sizes, strides in layouts:
        kind = np.dtype(_numpy_type(np, dtype))
        in_bytes = [stride * kind.itemsize for stride in strides]
        if memory == "own":
            arrays.append(np.ndarray(sizes, kind, _fresh(np, size), offset, in_bytes))
        elif memory == "output":
            arrays.append(arrays[of])
        else:
            arrays.append(_view(np, inputs[of], kind, sizes, in_bytes, offset))
        given.append(arrays[-1] if memory == "own" else None)
    return arrays, given


def _numpy_type(np, dtype):
    if dtype == "bf16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return NUMPY_NAMES[dtype]


def _fresh(np, size):
    """So many bytes, aligned as kernels like them."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start:start + size]


class _Memory:
    def __init__(self, base, interface):
        self.base = base
        self.__array_interface__ = interface


def _view(np, base, kind, sizes, strides, offset):
    array = np.asarray(base)
    return np.asarray(_Memory(array, {"version": 3, "data": (array.ctypes.data + offset, not array.flags.writeable),
                                      "typestr": kind.str, "shape": tuple(sizes), "strides": tuple(strides)}))
