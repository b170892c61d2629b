"""Tokamak: tensor programs, compiled to a few fast kernels."""
from ._tokamak import (
    Array, BindError, DefinitionError, Error, OutOfMemoryError, ScheduleError, UnsupportedError)
from ._fuse import fuse
from ._types import DataType
from .definition import FusionDefinition, Scalar, Tensor, compute_contiguity, compute_tensor_descriptor
from .heuristics import CpuScheduleParameters, CudaScheduleParameters, SchedulerHyperParameters
from .program import BoundCall, Plan, Program, compile, export, load
from .schedule import CacheOp, LoadStoreOpType, MemoryType, ParallelType, SchedulerType

__all__ = ["Array", "BindError", "BoundCall", "CacheOp", "CpuScheduleParameters", "CudaScheduleParameters", "DataType",
           "DefinitionError", "Error", "FusionDefinition", "LoadStoreOpType", "MemoryType", "OutOfMemoryError",
           "ParallelType", "Plan", "Program", "Scalar", "ScheduleError", "SchedulerHyperParameters", "SchedulerType",
           "Tensor", "UnsupportedError", "compile", "compute_contiguity", "compute_tensor_descriptor", "export", "fuse",
           "load"]
