"""TensorView and IterDomain: tensors with the schedule commands of scripts that call them on the tensor."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from .. import _tokamak
from .._arguments import integer
from .._mesh import DeviceMesh
from .._values import Tensor
from ..schedule import CacheOp, LoadStoreOpType, MemoryType, ParallelType


class IterDomain:
    """An axis of a tensor, as it was when it was asked for."""

    __slots__ = ("_tensor", "_place", "_text", "_extent", "_is_reduction")

    def __init__(self, tensor: TensorView, place: int | None, axis: tuple[str, str, bool]) -> None:
        self._tensor = tensor
        self._place = place  # among the loops; None of another domain
        self._text, self._extent, self._is_reduction = axis

    def is_reduction(self) -> bool:
        """Whether elements along it are reduced."""
        return self._is_reduction

    def extent(self) -> int | str:
        """The number of elements, or the expression that computes it, as a text."""
        return int(self._extent) if self._extent.isdigit() else self._extent

    def parallelize(self, parallel_type: ParallelType) -> None:
        """The iterations of the loop become blocks, threads, ... Raises ScheduleError for an axis that is no loop."""
        if self._place is None:
            raise _tokamak.ScheduleError("parallelize: an axis of get_loop_domain() or axis() is legal, not one of "
                                         f"another domain ({self._text})")
        self._tensor._sched.parallelize(self._tensor, self._place, parallel_type)

    def __repr__(self) -> str:
        return self._text


class TensorDomain(list[IterDomain]):
    """The loops of a tensor."""

    def __str__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"


class TensorView(Tensor):
    """A tensor. Its schedule commands are those of fd.sched. They give the tensor itself, but for those that make
    one."""

    __slots__ = ()

    @property
    def _sched(self):
        return self._definition.sched

    def __getitem__(self, key: object) -> NoReturn:
        """Raises TypeError, as the tensors of that system do."""
        raise TypeError("a TensorView has no elements by x[...]; fd.ops.slice and fd.ops.select are legal")

    # --- domains ---

    def _axes(self, domain):
        axes = self._definition._native.axes(self._value, domain)
        return [IterDomain(self, place if domain == "loop" else None, axis) for place, axis in enumerate(axes)]

    def has_root(self) -> bool:
        """Whether the tensor's op makes other axes than its readers see: of a reshape, or an rfactor."""
        return bool(self._axes("root"))

    def domain(self) -> TensorDomain:
        """Its loops."""
        return TensorDomain(self._axes("loop"))

    def get_logical_domain(self) -> list[IterDomain]:
        """The axes that readers see, and those that are reduced."""
        return self._axes("logical")

    def get_loop_domain(self) -> list[IterDomain]:
        """The loops that compute it."""
        return self._axes("loop")

    def get_root_domain(self) -> list[IterDomain]:
        """The axes that its op makes, where these are others than the logical ones; else none."""
        return self._axes("root")

    def axis(self, index: int) -> IterDomain:
        """A loop. Raises IndexError for one that is not there."""
        loops = self._axes("loop")
        index = integer("axis: an index", index)
        if not -len(loops) <= index < len(loops):
            raise IndexError(f"axis: {index} of a tensor with {len(loops)} loops")
        return loops[index]

    # --- commands ---

    def split(self, axis: int, factor: int, inner_split: bool = True) -> TensorView:
        """One loop becomes two, of which the inner one (or the outer one) has `factor` iterations."""
        self._sched.split(self, axis, factor, inner_split)
        return self

    def inner_split(self, axis: int, factor: int) -> TensorView:
        """The inner loop has `factor` iterations."""
        return self.split(axis, factor)

    def outer_split(self, axis: int, factor: int) -> TensorView:
        """The outer loop has `factor` iterations."""
        return self.split(axis, factor, False)

    def merge(self, axis: int, axis_i: int | None = None) -> TensorView:
        """Loops `axis` and the next one become one. Raises NotImplementedError for others."""
        if axis_i is not None and axis_i != axis + 1:
            raise NotImplementedError(f"merge: axes {axis} and {axis_i} are not neighbours; reorder() puts them side "
                                      "by side")
        self._sched.merge(self, axis)
        return self

    def reorder(self, old2new: Mapping[int, int] | Sequence[int]) -> TensorView:
        """Loop `old` goes to place `new`, for each pair; or a list of old places in the new order."""
        if not isinstance(old2new, Mapping):
            old2new = {old: new for new, old in enumerate(old2new)}
        self._sched.reorder(self, old2new)
        return self

    def rfactor(self, axes: Iterable[int]) -> Tensor:
        """The reduction over these loops becomes one of its own: gives the tensor of partial results."""
        return self._sched.rfactor(self, axes)

    def cache_after(self, op_type: LoadStoreOpType = LoadStoreOpType.set,
                    cache_op: CacheOp = CacheOp.unspecified) -> Tensor:
        """Readers get a copy of the tensor, which is given."""
        return self._sched.cache_after(self, op_type, cache_op)

    def cache_before(self, op_type: LoadStoreOpType = LoadStoreOpType.set) -> Tensor:
        """The tensor is computed into a copy first, which is given."""
        return self._sched.cache_before(self, op_type)

    def set_memory_type(self, memory_type: MemoryType) -> None:
        """Where the tensor lies while the kernel runs."""
        self._sched.set_memory_type(self, memory_type)

    def set_allocation_domain(self, domain: Sequence[IterDomain],
                              contiguity: bool | Sequence[bool | None] = True) -> None:
        """The tensor lies in memory in the order of its loops. Raises NotImplementedError for another order."""
        if [repr(each) for each in domain] != [repr(each) for each in self._axes("loop")]:
            raise NotImplementedError("set_allocation_domain: get_loop_domain() is legal; other orders are the "
                                      "stride_order of define_tensor() and add_output()")
        self._sched.set_allocation_as_loop(self)

    def set_device_mesh(self, mesh: DeviceMesh) -> None:
        """The tensor lies on this mesh, of one device."""
        self._sched._set_device_mesh(self, mesh)

    def swizzle(self, *args: object, **kwargs: object) -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError("swizzle: indices that are mixed to spread them over banks are chosen by the "
                                  "library's schedules; fd.sched.schedule() takes one")

    def swizzle1d(self, *args: object, **kwargs: object) -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError("swizzle1d: the order of blocks is not changed; reorder() orders loops")
