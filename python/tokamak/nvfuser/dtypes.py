"""Types of torch and of Python as DataType, and back."""
from __future__ import annotations

from typing import Any

from .._arguments import shown
from .._types import NUMPY_NAMES, DataType

_OF_PYTHON = {bool: DataType.Bool, int: DataType.Int, float: DataType.Double, complex: DataType.ComplexDouble}
_TORCH_NAMES = {DataType(short): name for short, name in NUMPY_NAMES.items()} | {
    DataType.UInt64: "uint64", DataType.Float8_e4m3fn: "float8_e4m3fn", DataType.Float8_e5m2: "float8_e5m2",
    DataType.Float8_e8m0fnu: "float8_e8m0fnu", DataType.Float4_e2m1fn_x2: "float4_e2m1fn_x2",
    DataType.ComplexFloat: "complex64", DataType.ComplexDouble: "complex128"}
_BY_TORCH_NAME = {name: dtype for dtype, name in _TORCH_NAMES.items()}


def torch_dtype_to_nvfuser_dtype(dtype: Any) -> DataType:
    """The DataType of a type of torch, or of bool, int, float or complex. Raises TypeError for others. (Those that the
    library lacks have names, and definitions refuse them.)"""
    name = str(dtype).removeprefix("torch.")
    found = _OF_PYTHON.get(dtype) if isinstance(dtype, type) else _BY_TORCH_NAME.get(name)
    if found is None:
        raise TypeError(f"torch_dtype_to_nvfuser_dtype: {shown(dtype)} has no DataType; legal are types of torch among "
                        f"{', '.join(_BY_TORCH_NAME)}, and bool, int, float and complex")
    return found


def nvfuser_dtype_to_torch_dtype(dtype: DataType) -> Any:
    """The type of torch that a DataType is. Raises TypeError for one that torch has no type for."""
    import torch

    name = _TORCH_NAMES.get(dtype) if isinstance(dtype, DataType) else None
    if name is None or not hasattr(torch, name):
        raise TypeError(f"nvfuser_dtype_to_torch_dtype: {shown(dtype)} has no type in torch")
    return getattr(torch, name)


def python_scalar_to_nvfuser_dtype(value: Any) -> DataType:
    """The DataType of a number of Python's. Raises TypeError for what is none."""
    if type(value) not in _OF_PYTHON:
        raise TypeError(f"python_scalar_to_nvfuser_dtype: {shown(value)} is no number")
    return _OF_PYTHON[type(value)]
