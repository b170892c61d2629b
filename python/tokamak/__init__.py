"""Tokamak: tensor programs, compiled to a few fast kernels."""
from . import _supported_python  # noqa: F401 (before all others)
from ._tokamak import (
    Array, BindError, DefinitionError, Error, OutOfMemoryError, ScheduleError, UnsupportedError)
from . import _progress  # noqa: F401 (which tells of long compilations)
from ._config import config
from ._fuse import fuse
from ._profile import Profile, profile
from ._types import DataType
from .definition import FusionDefinition, Scalar, Tensor, compute_contiguity, compute_tensor_descriptor
from .explain import Explanation
from .heuristics import CpuScheduleParameters, CudaScheduleParameters, SchedulerHyperParameters
from .program import BoundCall, Plan, Program, compile, export, load
from .schedule import CacheOp, LoadStoreOpType, MemoryType, ParallelType, SchedulerType

__all__ = ["Array", "BindError", "BoundCall", "CacheOp", "CpuScheduleParameters", "CudaScheduleParameters", "DataType",
           "DefinitionError", "Error", "Explanation", "FusionDefinition", "LoadStoreOpType", "MemoryType",
           "OutOfMemoryError", "ParallelType", "Plan", "Profile", "Program", "Scalar", "ScheduleError",
           "SchedulerHyperParameters", "SchedulerType", "Tensor", "UnsupportedError", "compile", "compute_contiguity",
           "compute_tensor_descriptor", "config", "export", "fuse", "load", "profile"]
