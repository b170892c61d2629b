"""The types of elements, by the names that scripts use."""
import enum

from . import _tokamak
from ._arguments import shown


class DataType(enum.Enum):
    """A type of elements. Those that the library lacks (not in ELEMENT_TYPES) are refused by name."""

    Double = "f64"
    Float = "f32"
    Half = "f16"
    BFloat16 = "bf16"
    Int = "i64"
    Int32 = "i32"
    Bool = "bool"
    UInt64 = "UInt64"
    Float8_e4m3fn = "Float8_e4m3fn"
    Float8_e5m2 = "Float8_e5m2"
    ComplexFloat = "ComplexFloat"
    ComplexDouble = "ComplexDouble"
    Null = "Null"
    Index = "Index"
    Float8_e8m0fnu = "Float8_e8m0fnu"
    Float4_e2m1fn = "Float4_e2m1fn"
    Float4_e2m1fn_x2 = "Float4_e2m1fn_x2"

    def __repr__(self):
        return f"DataType.{self.name}"

    __str__ = __repr__


ELEMENT_TYPES = (DataType.Double, DataType.Float, DataType.Half, DataType.BFloat16, DataType.Int, DataType.Int32,
                 DataType.Bool)
# The library's names, and those of NumPy and ml_dtypes.
NUMPY_NAMES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32",
               "bool": "bool"}
BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "bool": 1}  # of an element
_BY_NUMPY_NAME = {name: DataType(short) for short, name in NUMPY_NAMES.items()}


def native_name(dtype):
    """The library's name of a type. Raises NotImplementedError for one that it lacks."""
    if not isinstance(dtype, DataType):
        raise TypeError(f"{shown(dtype)} is no type; legal are {', '.join(map(str, ELEMENT_TYPES))}")
    if dtype not in ELEMENT_TYPES:
        raise NotImplementedError(f"{dtype} is not there yet; legal are {', '.join(map(str, ELEMENT_TYPES))}")
    return dtype.value


def data_type_of(dtype):
    """The DataType of what NumPy, torch or ml_dtypes call a type. Raises NotImplementedError for others."""
    if isinstance(dtype, DataType) and dtype in ELEMENT_TYPES:
        return dtype
    name = str(dtype).removeprefix("torch.")
    if name not in _BY_NUMPY_NAME:
        name = name if name.isidentifier() else shown(dtype)
        raise NotImplementedError(f"{name} is not there yet; legal are {', '.join(_BY_NUMPY_NAME)}")
    return _BY_NUMPY_NAME[name]


def library_type(dtype, library):
    """A DataType as "torch", "numpy" or "jax" calls it; itself where that is not installed."""
    try:
        if library == "torch":
            import torch

            return getattr(torch, NUMPY_NAMES[dtype.value])
        if dtype is DataType.BFloat16:
            import ml_dtypes

            return ml_dtypes.bfloat16
        import numpy

        return numpy.dtype(NUMPY_NAMES[dtype.value])
    except ImportError:
        return dtype


def bfloat16_of_numpy():
    """NumPy's type of bfloat16, which ml_dtypes has. Raises tokamak.UnsupportedError without that. The extension module
    asks here, too."""
    try:
        import ml_dtypes
    except ModuleNotFoundError as error:
        if error.name != "ml_dtypes":
            raise
        raise _tokamak.UnsupportedError("NumPy has no bfloat16 of its own: install ml_dtypes, or cast to "
                                        "float32") from None
    return ml_dtypes.bfloat16
