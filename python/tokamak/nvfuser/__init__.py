"""For scripts that were written for nvFuser, in which nothing but the import changes:

    from tokamak.nvfuser import FusionDefinition, DataType

What differs from tokamak's own FusionDefinition, as such scripts rely on it: `/` of integers truncates (ops.div), calls
without arrays give tensors of torch, torch.manual_seed() repeats random numbers that have no seed of their own, and
tensors have the schedule commands, too. Without torch, these calls give arrays of NumPy, and random.seed() repeats the
numbers. What the library lacks raises NotImplementedError by its name.
"""
from __future__ import annotations

import sys
from typing import Any

from .._mesh import DeviceMesh
from .._types import DataType
from .._values import Scalar, Vector
from ..definition import compute_contiguity, compute_tensor_descriptor
from ..heuristics import SchedulerHyperParameters
from ..schedule import CacheOp, LoadStoreOpType, MemoryType, ParallelType, SchedulerType
from . import dtypes as pytorch_utils
from . import idm, multidevice, nvf_cutlass, schedule
from .cache import (
    FusionCache, LRUCache, LruFusionCache, disable_automatic_serialization, enable_automatic_serialization, serialize)
from .definition import FusionDefinition, Segment
from .dtypes import nvfuser_dtype_to_torch_dtype, python_scalar_to_nvfuser_dtype, torch_dtype_to_nvfuser_dtype
from .enums import (
    CommunicatorBackend, IdMappingMode, MatmulDimRole, MatmulTensorRole, MatmulTileRasterizationOrder)
from .multidevice import (
    Communicator, MultiDeviceExecutor, MultiDeviceExecutorParams, Sharding, execute_with_dtensors, shard_tensor)
from .refused import refused_class
from .tensors import IterDomain, TensorDomain, TensorView
from .validation import get_val_tolerances, validate_with_auto_inferred_outputs
from .views import (
    CircularBufferOptions, CompileParams, Fusion, FusionExecutorCache, GemmTile, KernelExecutor, LaunchParams,
    MatMulTileOptions, MatmulParams, MmaMacro, MmaMacroEncode, PointwiseParams, ReductionParams, SupportedVectorization,
    definition_of)

Tensor = TensorView
sys.modules[f"{__name__}.pytorch_utils"] = pytorch_utils  # as older scripts import conversions of types
PythonProfiler = refused_class("PythonProfiler", "`python -m tokamak bench` measures programs, and the framework's own "
                               "profiler sees calls", __name__)


def translate_fusion(fusion: Any) -> str:
    """The calls that make a definition again, as a function in Python: repr(fd)."""
    return repr(definition_of("translate_fusion", fusion))


def clone(source: Any, destination: FusionDefinition | None = None) -> FusionDefinition:
    """Makes the calls of a definition again, in `destination`, which is open, or in a new one; gives it. Schedules are
    not part of it."""
    made = FusionDefinition() if destination is None else destination
    known: dict[str, Any] = {"DataType": DataType, "FusionDefinition": FusionDefinition}
    exec(definition_of("clone", source)._records.text("define"), known)  # what the definition itself has written
    known["define"](made)
    if destination is None:
        made._complete()
    return made


__all__ = [
    "CacheOp", "CircularBufferOptions", "Communicator", "CommunicatorBackend", "CompileParams", "DataType",
    "DeviceMesh", "Fusion", "FusionCache", "FusionDefinition", "FusionExecutorCache", "GemmTile", "IdMappingMode",
    "IterDomain", "KernelExecutor", "LRUCache", "LaunchParams", "LoadStoreOpType", "LruFusionCache",
    "MatMulTileOptions", "MatmulDimRole", "MatmulParams", "MatmulTensorRole", "MatmulTileRasterizationOrder",
    "MemoryType", "MmaMacro", "MmaMacroEncode", "MultiDeviceExecutor", "MultiDeviceExecutorParams", "ParallelType",
    "PointwiseParams", "PythonProfiler", "ReductionParams", "Scalar", "SchedulerHyperParameters", "SchedulerType",
    "Segment", "Sharding", "SupportedVectorization", "Tensor", "TensorDomain", "TensorView", "Vector", "clone",
    "compute_contiguity", "compute_tensor_descriptor", "disable_automatic_serialization",
    "enable_automatic_serialization", "execute_with_dtensors", "get_val_tolerances", "idm", "multidevice",
    "nvf_cutlass", "nvfuser_dtype_to_torch_dtype", "pytorch_utils", "python_scalar_to_nvfuser_dtype", "schedule",
    "serialize", "shard_tensor", "torch_dtype_to_nvfuser_dtype", "translate_fusion",
    "validate_with_auto_inferred_outputs"]
