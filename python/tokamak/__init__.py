"""Tokamak: tensor programs, compiled to a few fast kernels."""
from ._tokamak import (
    Array, BindError, DefinitionError, Error, OutOfMemoryError, ScheduleError, UnsupportedError)
from ._fuse import fuse
from ._types import DataType
from .definition import FusionDefinition, Scalar, Tensor
from .schedule import CacheOp, LoadStoreOpType, MemoryType, ParallelType

__all__ = ["Array", "BindError", "CacheOp", "DataType", "DefinitionError", "Error", "FusionDefinition",
           "LoadStoreOpType", "MemoryType", "OutOfMemoryError", "ParallelType", "Scalar", "ScheduleError", "Tensor",
           "UnsupportedError", "fuse"]
