"""Which types the results of array functions have: those of the library whose arrays a function is called with."""
import sys

from ._types import DataType

HALVES = (DataType.Half, DataType.BFloat16)
FLOATING = (*HALVES, DataType.Float, DataType.Double)
INTEGERS = (DataType.Int32, DataType.Int)
_WIDTH = {DataType.Int32: 1, DataType.Int: 2, DataType.Half: 1, DataType.BFloat16: 1, DataType.Float: 2,
          DataType.Double: 3}


def compute_type(dtype):
    """In which kernels compute: halves become f32, and are rounded where a result is stored."""
    return DataType.Float if dtype in HALVES else dtype


class Promotion:
    """The rules of one library: "numpy", "torch" or "jax"; those of others are NumPy's."""

    def __init__(self, library):
        self.library = "jax" if library == "jaxlib" else library if library in ("torch", "jax") else "numpy"
        is_wide = self.library == "numpy" or (self.library == "jax" and sys.modules["jax"].config.jax_enable_x64)
        self.floating = DataType.Double if is_wide else DataType.Float  # of numbers and quotients
        self.integer = DataType.Int32 if self.library == "jax" and not is_wide else DataType.Int

    def of_types(self, a, b):
        """The type in which two arrays meet."""
        if a is b or b is DataType.Bool:
            return a
        if a is DataType.Bool:
            return b
        if (a in FLOATING) != (b in FLOATING):
            floating = a if a in FLOATING else b
            return DataType.Double if self.library == "numpy" and floating is not DataType.BFloat16 else floating
        if _WIDTH[a] == _WIDTH[b]:
            return DataType.Float  # f16 and bf16
        return a if _WIDTH[a] > _WIDTH[b] else b

    def of_number(self, dtype, number_type):
        """The type in which an array meets a number of Python's (bool, int or float), which is weak."""
        if number_type is float and dtype not in FLOATING:
            return self.floating
        if number_type is int and dtype is DataType.Bool:
            return self.integer
        return dtype

    def of_sum(self, dtype):
        """Of sums and products of elements."""
        return dtype if dtype in FLOATING else self.integer

    def to_floating(self, dtype):
        """Of functions that give fractions."""
        if self.library == "jax" and dtype in (DataType.Bool, DataType.Int32):
            return DataType.Float
        return dtype if dtype in FLOATING else self.floating
