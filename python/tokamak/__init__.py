"""Tokamak: tensor programs, compiled to a few fast kernels."""
from ._tokamak import (BindError, DefinitionError, Error, OutOfMemoryError, ScheduleError, UnsupportedError)
from ._types import DataType
from .definition import FusionDefinition, Scalar, Tensor

__all__ = ["BindError", "DataType", "DefinitionError", "Error", "FusionDefinition", "OutOfMemoryError", "Scalar",
           "ScheduleError", "Tensor", "UnsupportedError"]
