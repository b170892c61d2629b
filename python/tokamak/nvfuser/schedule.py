"""The commands of fd.sched as functions of tensors and fusions."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._arguments import listed, shown
from .._values import Tensor
from ..heuristics import ScheduleParameters
from ..schedule import ParallelType, ScheduleOperators, SchedulerType
from .refused import refused_function
from .views import definition_of


def _sched_of(what: str, tensor: Any) -> ScheduleOperators:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"schedule.{what}: a tensor of a definition is legal, not {shown(tensor)}")
    return tensor._definition.sched


def _sched_of_fusion(what: str, fusion: Any) -> ScheduleOperators:
    return definition_of(f"schedule.{what}", fusion).sched


def transform_like(tensor: Tensor, selected_tensors: Sequence[Tensor] = ()) -> None:
    """fd.sched.transform_like()."""
    _sched_of("transform_like", tensor).transform_like(tensor, selected_tensors)


def parallelize_like(tensor: Tensor, pos: int = -1, selected_tensors: Sequence[Tensor] = (),
                     selected_parallel_types: Sequence[ParallelType] = (), propagate_padding: bool = True) -> None:
    """fd.sched.parallelize_like()."""
    _sched_of("parallelize_like", tensor).parallelize_like(tensor, pos, selected_tensors, selected_parallel_types,
                                                           propagate_padding)


def inline_most(selected_tensors: Sequence[Tensor]) -> None:
    """fd.sched.inline_most() of a selection. Raises TypeError for none, which does not tell the definition."""
    chosen = listed("schedule.inline_most", selected_tensors)
    if not chosen:
        raise TypeError("schedule.inline_most: tensors are given; fd.sched.inline_most() is for all of a definition")
    _sched_of("inline_most", chosen[0]).inline_most(chosen)


def inline_at(tensor: Tensor, pos: int = -1, best_effort: bool = False,
              selected_tensors: Sequence[Tensor] = ()) -> None:
    """fd.sched.inline_at()."""
    _sched_of("inline_at", tensor).inline_at(tensor, pos, best_effort, selected_tensors)


def can_schedule(fusion: Any, scheduler_type: SchedulerType) -> tuple[bool, str]:
    """fd.sched.can_schedule()."""
    return _sched_of_fusion("can_schedule", fusion).can_schedule(scheduler_type)


def find_compatible_schedulers(fusion: Any) -> list[SchedulerType]:
    """fd.sched.find_compatible_schedulers()."""
    return _sched_of_fusion("find_compatible_schedulers", fusion).find_compatible_schedulers()


def compute_heuristics(fusion: Any, scheduler_type: SchedulerType) -> ScheduleParameters:
    """fd.sched.compute_heuristics()."""
    return _sched_of_fusion("compute_heuristics", fusion).compute_heuristics(scheduler_type)


def schedule(fusion: Any, scheduler_type: SchedulerType | ScheduleParameters, *more: Any) -> None:
    """fd.sched.schedule() with a type or with parameters (which may come behind a type)."""
    _sched_of_fusion("schedule", fusion).schedule(more[-1] if more else scheduler_type)


bounded_transform_backward = refused_function(
    "schedule.bounded_transform_backward", ScheduleOperators._missing["bounded_transform_backward"], __name__)
warp_specialize = refused_function("schedule.warp_specialize", ScheduleOperators._missing["warp_specialize"], __name__)
