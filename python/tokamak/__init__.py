"""Tokamak: tensor programs, compiled to a few fast kernels."""
from ._tokamak import (
    Array, BindError, DefinitionError, Error, OutOfMemoryError, ScheduleError, UnsupportedError)
from ._fuse import fuse
from ._types import DataType
from .definition import FusionDefinition, Scalar, Tensor, compute_contiguity, compute_tensor_descriptor
from .heuristics import CpuScheduleParameters, CudaScheduleParameters, SchedulerHyperParameters
from .schedule import CacheOp, LoadStoreOpType, MemoryType, ParallelType, SchedulerType

__all__ = ["Array", "BindError", "CacheOp", "CpuScheduleParameters", "CudaScheduleParameters", "DataType",
           "DefinitionError", "Error", "FusionDefinition", "LoadStoreOpType", "MemoryType", "OutOfMemoryError",
           "ParallelType", "Scalar", "ScheduleError", "SchedulerHyperParameters", "SchedulerType", "Tensor",
           "UnsupportedError", "compute_contiguity", "compute_tensor_descriptor", "fuse"]
