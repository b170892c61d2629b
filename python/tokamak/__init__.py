"""Tokamak: tensor programs, compiled to a few fast kernels."""
from . import _supported_python  # noqa: F401 (before all others)
from ._tokamak import (
    Array, BindError, CommunicationError, DefinitionError, Error, OutOfMemoryError, ScheduleError, UnsupportedError)
from . import _progress  # noqa: F401 (which tells of long compilations)
from ._config import config
from ._fuse import fuse
from ._mesh import DeviceMesh, Sharding
from ._profile import Profile, profile
from ._types import DataType
from .communicator import Communicator
from .definition import FusionDefinition, Scalar, Tensor, compute_contiguity, compute_tensor_descriptor
from .explain import Explanation
from .heuristics import CpuScheduleParameters, CudaScheduleParameters, SchedulerHyperParameters
from .multi_device import MultiDeviceExecutor, shard_tensor
from .program import BoundCall, Plan, Program, compile, export, load
from .schedule import CacheOp, LoadStoreOpType, MemoryType, ParallelType, SchedulerType

__all__ = ["Array", "BindError", "BoundCall", "CacheOp", "CommunicationError", "Communicator", "CpuScheduleParameters",
           "CudaScheduleParameters", "DataType", "DefinitionError", "DeviceMesh", "Error", "Explanation",
           "FusionDefinition", "LoadStoreOpType", "MemoryType", "MultiDeviceExecutor", "OutOfMemoryError",
           "ParallelType", "Plan", "Profile", "Program", "Scalar", "ScheduleError", "SchedulerHyperParameters",
           "SchedulerType", "Sharding", "Tensor", "UnsupportedError", "compile", "compute_contiguity",
           "compute_tensor_descriptor", "config", "export", "fuse", "load", "profile", "shard_tensor"]
