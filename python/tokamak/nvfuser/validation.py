"""Comparing a definition's outputs with what they must be."""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .. import _tokamak
from .._compare import EPSILONS
from .._types import NUMPY_NAMES
from .views import definition_of


def get_val_tolerances(fusion: Any, inputs: Iterable[Any] = ()) -> list[tuple[float, float]]:
    """What fd.validate() allows for each output, absolute and relative: the square root of its type's epsilon, and 0
    for integers."""
    tolerances = []
    for output in definition_of("get_val_tolerances", fusion).outputs():
        epsilon = EPSILONS.get(NUMPY_NAMES[output.dtype.value], 0.0)
        tolerances.append((math.sqrt(epsilon), math.sqrt(epsilon)))
    return tolerances


def validate_with_auto_inferred_outputs(fusion: Any, fusion_outputs: Iterable[Any], args: Iterable[Any]) -> None:
    """Compares outputs of a call with the library's reference, which computes each op in float64 with a bound for its
    error. `args`: the inputs, as they were before the call. Raises tokamak.Error with the outputs that differ by more
    than their bounds."""
    from ..testing import check

    definition = definition_of("validate_with_auto_inferred_outputs", fusion)
    try:
        check(definition, args, fusion_outputs)
    except AssertionError as error:
        raise _tokamak.Error(f"Validation error in {error}") from None
