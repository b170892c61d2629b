"""For scripts that were written for nvFuser, in which nothing but the import changes:

    from tokamak.nvfuser import FusionDefinition, DataType

What differs from tokamak's own FusionDefinition, as such scripts rely on it: `/` of integers truncates (ops.div), calls
without arrays give tensors of torch, and torch.manual_seed() repeats random numbers that have no seed of their own.
"""
from . import definition
from ._types import DataType
from ._values import Scalar, Tensor, Vector
from .definition import compute_contiguity, compute_tensor_descriptor
from .heuristics import SchedulerHyperParameters
from .schedule import CacheOp, LoadStoreOpType, MemoryType, ParallelType, SchedulerType

__all__ = ["CacheOp", "DataType", "FusionDefinition", "LoadStoreOpType", "MemoryType", "ParallelType", "Scalar",
           "SchedulerHyperParameters", "SchedulerType", "Tensor", "Vector", "compute_contiguity",
           "compute_tensor_descriptor"]


class FusionDefinition(definition.FusionDefinition):
    __doc__ = definition.FusionDefinition.__doc__

    _division = "div"
    _library = "torch"

    def _draw_seed(self):
        import torch

        return int(torch.randint(1 << 62, (), dtype=torch.int64))
