"""Results, judged by the library's reference: naive loops in float64 over the meaning of each op."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _tokamak
from ._arguments import listed, shown
from ._devices import CPU, open_device
from ._fuse import Fused
from .definition import FusionDefinition

if TYPE_CHECKING:
    import numpy


def check(program: FusionDefinition | Fused, inputs: Iterable[Any], outputs: Iterable[Any] | None = None) -> None:
    """Runs a definition, or a function of tokamak.fuse, on inputs and compares every output, those that update an input
    in place too, with the reference; `outputs` instead of those of a run, where they are given.

    Each element may differ by what the types and lengths of its sums allow, and all together by what a right program
    would (RMS). Raises AssertionError, with the first element that is wrong, its index and its bound. The reference
    takes about a microsecond for each element and op: small sizes are enough, as long as they are odd ones.
    """
    definition, given = _definition_and_inputs("check", program, inputs)
    reference = _reference(definition, [_host_copy(each) for each in given])
    results = definition.execute(given) if outputs is None else listed("check: outputs", outputs)
    wanted = sum(each is None for each in reference.updates)
    if len(results) != wanted:
        raise _tokamak.BindError(f"check: {len(results)} outputs for a definition that has {wanted}")
    for i, each in enumerate(results):
        if not hasattr(each, "shape") and not hasattr(each, "__dlpack__"):
            raise _tokamak.BindError(f"check: output {i} is {shown(each)}; an array is legal for each output")
    rest = iter(results)
    complaints = []
    for i, updated in enumerate(reference.updates):
        if updated is not None and outputs is not None:
            continue  # nothing has run
        result = next(rest) if updated is None else given[updated]
        is_right, report = reference.compare(i, _on_host(result))
        if not is_right:
            what = f"output {i}" if updated is None else f"input {updated}, which is updated"
            complaints.append(f"{what}: {report}")
    if complaints:
        raise AssertionError("\n".join(complaints))


def reference(program: FusionDefinition | Fused, inputs: Iterable[Any]) -> list[numpy.ndarray]:
    """What a definition, or a function of tokamak.fuse, must give for inputs, its updates in place included: arrays of
    float64, or of int64 for integers and truths. Values are not rounded on the way. Nothing of the library's kernels is
    used."""
    import numpy as np

    definition, given = _definition_and_inputs("reference", program, inputs)
    made = _reference(definition, [_host_copy(each) for each in given])
    exact = [made.exact(i) for i in range(len(made.updates))]
    return [np.frombuffer(values, np.float64 if dtype.startswith(("f", "bf")) else np.int64).reshape(sizes).copy()
            for dtype, sizes, values, _ in exact]


def _definition_and_inputs(what, program, inputs):
    given = listed(f"{what}: inputs", inputs)
    if isinstance(program, Fused):
        return program._call_for(given)
    if not isinstance(program, FusionDefinition):
        raise TypeError(f"{what} takes a FusionDefinition or a function of tokamak.fuse, not {shown(program)}")
    return program, given


def _reference(definition, inputs):
    return _tokamak.Reference(definition._for_programs("the reference"), open_device((CPU, 0)), inputs)


def _on_host(array):
    if hasattr(array, "detach"):  # torch's
        return array.detach().cpu()
    return array.get() if type(array).__module__.startswith("cupy") else array


def _host_copy(array):
    """What a call in place does not change."""
    array = _on_host(array)
    if hasattr(array, "clone"):
        return array.clone()
    return array.copy() if hasattr(array, "copy") else array
