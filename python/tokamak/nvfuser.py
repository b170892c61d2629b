"""For scripts that were written for nvFuser: `from tokamak.nvfuser import FusionDefinition, DataType` is all that changes.

Two things differ from tokamak's own FusionDefinition, as such scripts rely on them: `/` of integers truncates (ops.div),
and calls without arrays give tensors of torch.
"""
from . import definition
from ._types import DataType
from ._values import Scalar, Tensor, Vector
from .schedule import CacheOp, LoadStoreOpType, MemoryType, ParallelType

__all__ = ["CacheOp", "DataType", "FusionDefinition", "LoadStoreOpType", "MemoryType", "ParallelType", "Scalar", "Tensor",
           "Vector"]


class FusionDefinition(definition.FusionDefinition):
    __doc__ = definition.FusionDefinition.__doc__

    _division = "div"
    _library = "torch"
