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

TYPE_CHECKING = False  # as typing has it, which takes time to import
if TYPE_CHECKING:
    from . import jax, numpy, nvfuser, testing, torch

_ON_DEMAND = frozenset(["jax", "numpy", "nvfuser", "testing", "torch"])  # most import a library of that name


def __getattr__(name: str) -> object:
    """Imports `tokamak.testing` and the modules for other libraries where they are named."""
    if name not in _ON_DEMAND:
        raise AttributeError(f"module 'tokamak' has no attribute {name!r}")
    import importlib
    return importlib.import_module(f".{name}", __name__)
