"""fd.sched: schedules by hand and by the library's heuristics, on a copy of the definition's fusion."""
from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from . import _tokamak
from ._arguments import integer, listed, plain, shown
from ._devices import CPU, CUDA, open_device
from ._mesh import DeviceMesh
from ._ops import Namespace
from .definition import Tensor
from .heuristics import SchedulerHyperParameters, ScheduleParameters, parameters_for


class _Names(enum.Enum):
    def __repr__(self):
        return f"{type(self).__name__}.{self.name}"

    __str__ = __repr__


class ParallelType(_Names):
    """What the iterations of a loop become. A block of a processor has one thread: block_x, _y, _z are loops there."""

    mesh_x = "DIDx"
    grid_x = "BIDx"
    grid_y = "BIDy"
    grid_z = "BIDz"
    block_x = "TIDx"
    block_y = "TIDy"
    block_z = "TIDz"
    mma = "Mma"
    serial = "Serial"
    tma = "Bulk"
    unroll = "Unroll"
    unswitch = "Unswitch"
    vectorize = "Vectorize"
    stream = "Stream"
    mesh_y = "DIDy"
    mesh_z = "DIDz"


class MemoryType(_Names):
    """Where a tensor lies while a kernel runs."""

    local = "local"
    shared = "shared"
    # `global` is no word that Python takes after a dot: getattr(MemoryType, "global").
    locals()["global"] = "global"
    tensor = "tensor"
    symmetric = "symmetric"


_NO_MEMORY = {
    MemoryType.tensor: "memory for products of later GPUs, which kernels do not use; MemoryType.shared is the nearest",
    MemoryType.symmetric: "memory that several devices share comes with them; getattr(MemoryType, 'global') is one's",
}


class LoadStoreOpType(_Names):
    """How a copy is made."""

    set = "set"
    load_matrix = "load_matrix"
    cp_async = "cp_async"
    tma = "tma"


class CacheOp(_Names):
    """What a load asks of the GPU's caches."""

    unspecified = "Unspecified"
    all_levels = "AllLevels"
    streaming = "Streaming"
    locals()["global"] = "Global"
    globally = "Global"


class SchedulerType(_Names):
    """What a fusion is as one kernel. The library makes none of none, matmul, expr_eval and resize."""

    none = "none"
    no_op = "no_op"
    pointwise = "pointwise"
    matmul = "matmul"
    reduction = "reduction"
    inner_persistent = "inner_persistent"
    inner_outer_persistent = "inner_outer_persistent"
    outer_persistent = "outer_persistent"
    transpose = "transpose"
    expr_eval = "expr_eval"
    resize = "resize"


# Why the library makes no kernel of a kind.
_NEVER = {
    SchedulerType.none: "it stands for no schedule",
    SchedulerType.matmul: "a matrix product is a call of a library, or loops without parameters: nothing schedules it",
    SchedulerType.expr_eval: "what is no kernel runs without a schedule",
    SchedulerType.resize: "slices, pads and concatenations are indices of what reads them, in kernels of other kinds",
}


def _is(value, kind, what):
    if kind is int:
        return integer(f"sched: {what}", value)
    value = plain(value)
    if not isinstance(value, kind):
        raise TypeError(f"sched: {what} is a {kind.__name__}, not {shown(value)}")
    return value


def _selected_types(types):
    """A list of parallel types, also from a set, as scripts have one."""
    return sorted(types, key=str) if isinstance(types, (set, frozenset)) else listed("sched: selected types", types)


_ALL = object()  # a command without a tensor is for all


class ScheduleOperators(Namespace):
    """The schedule commands of a definition: fd.sched.split(y, 0, 128), and fd.execute() runs exactly these loops.

    Axes are counted over the loops of a tensor as they are by then; -1 is the last."""

    _name = "sched"
    _missing = {
        "bounded_transform_backward": "transform_like(tensor, selected_tensors) gives loops to a selection",
        "warp_specialize": "warps have no roles here; schedule() with a scheduler type chooses its own copies",
    }

    def __init__(self, definition):
        super().__init__(definition)
        self._call = None  # the place and the sizes of a call that runs schedule()
        self._chosen = None  # what schedule() applies
        self._hyperparameters = SchedulerHyperParameters()

    def _tensor(self, tensor):
        return self._definition._schedulable(_is(tensor, Tensor, "a tensor"))

    def _tensor_to_read(self, tensor):
        self._definition._require_complete()
        return _is(tensor, Tensor, "a tensor")._value

    def _command(self, name, tensor=_ALL, **named):
        if tensor is not _ALL:
            named = {"tensor": self._tensor(tensor), **named}
        made = self._definition._schedule_command(name, named)
        return None if made is None else self._definition._tensor_class(self._definition, made)

    def _selected(self, tensors):
        return [self._tensor(each) for each in listed("sched: selected tensors", tensors)]

    def _selection(self, tensors):
        chosen = self._selected(tensors)
        return {"tensors": chosen} if chosen else {}

    def to_string(self, tensor: Tensor) -> str:
        """The tensor with its loops, in words."""
        return self._definition._native.scheduled_tensor(self._tensor_to_read(tensor))

    def user_schedule_ir(self) -> str:
        """The fusion with its schedule as a text, which the command line reads, too."""
        self._definition._define_in_subclass()
        return self._definition._native.scheduled_text()

    def tensors(self) -> list[Tensor]:
        """All tensors of the schedule, also those that commands made."""
        self._definition._require_complete()
        definition = self._definition
        known = ((each, definition._schedule_records.handle(each)) for each in definition._native.scheduled_tensors())
        return [definition._tensor_class(definition, each) if handle is None else handle for each, handle in known]

    def is_reduction(self, tensor: Tensor) -> bool:
        """Whether the tensor is computed by summing, or the like, over some axis."""
        return self._definition._native.is_reduction(self._tensor_to_read(tensor))

    def _mark(self, name, tensor, **named):
        """A command that says where a tensor is, and not how it is computed: it leaves the schedule as it is."""
        self._definition._native.command(name, {"tensor": self._tensor(tensor), **named})

    def _set_device_mesh(self, tensor: Tensor, mesh: DeviceMesh) -> None:
        """The tensor is on these devices: each has all of it, where no axis is parallelized as mesh_x, mesh_y or
        mesh_z. MultiDeviceExecutor runs it; other calls take meshes of one device."""
        self._mark("set_device_mesh", tensor, mesh=_is(mesh, DeviceMesh, "a mesh")._text())

    def parallelize(self, tensor: Tensor, axis: int, parallel_type: ParallelType) -> None:
        """The iterations of a loop become blocks, threads, elements of a vector, ...; with mesh_x, mesh_y and mesh_z
        they are dealt out over a dimension of the tensor's mesh, which has as many devices."""
        kind = _is(parallel_type, ParallelType, "a parallel type")
        axis = _is(axis, int, "an axis")
        if kind in (ParallelType.mesh_x, ParallelType.mesh_y, ParallelType.mesh_z):
            return self._mark("parallelize", tensor, axis=axis, type=kind.value)
        self._command("parallelize", tensor, axis=axis, type=kind.value)

    def merge(self, arg: Tensor, dim: int) -> None:
        """Axes dim and dim + 1 become one."""
        self._command("merge", arg, axis=_is(dim, int, "an axis"))

    def split(self, arg: Tensor, dim: int, factor: int, inner_split: bool = True) -> None:
        """One axis becomes two, of which the inner one (or the outer one) has `factor` iterations."""
        self._command("split", arg, axis=_is(dim, int, "an axis"), factor=_is(factor, int, "a factor"),
                      inner_split=_is(inner_split, bool, "inner_split"))

    def reorder(self, arg: Tensor, old2new: Mapping[int, int]) -> None:
        """Axis `old` goes to place `new`, for each pair; the others keep their order."""
        rank = self._definition._native.loops(self._tensor(arg))
        places, wanted = {}, _is(old2new, Mapping, "old2new")
        for old, new in wanted.items():
            for axis in (_is(old, int, "an axis"), _is(new, int, "an axis")):
                if not -rank <= axis < rank:
                    raise _tokamak.ScheduleError(f"reorder: axis {axis} of a tensor with {rank} loops; legal are "
                                                 f"{-rank} to {rank - 1}" if rank else
                                                 f"reorder: axis {axis} of a tensor without loops")
            places[old % rank if rank else 0] = new % rank if rank else 0
        if len(set(places.values())) != len(places) or len(places) != len(wanted):
            raise _tokamak.ScheduleError(f"reorder: {shown(old2new)} has an axis twice")
        taken = {new: old for old, new in places.items()}
        rest = iter([axis for axis in range(rank) if axis not in places])
        self._command("reorder", arg, order=[taken[place] if place in taken else next(rest) for place in range(rank)])

    def rfactor(self, arg: Tensor, dims: Iterable[int]) -> Tensor:
        """The reduction over axes `dims` becomes one of its own: gives the tensor of partial results."""
        return self._command("rfactor", arg, axes=[_is(each, int, "an axis") for each in listed("rfactor: dims", dims)])

    reduction_factor = rfactor

    def set_allocation_as_loop(self, arg: Tensor) -> None:
        """The tensor lies in memory in the order of its loops."""
        self._command("set_allocation_as_loop", arg)

    def _cached(self, command, tensor, op_type, cache_op):
        kind = _is(op_type, LoadStoreOpType, "op_type")
        if kind is not LoadStoreOpType.set:
            raise NotImplementedError(f"sched.{command}: op_type {kind} is not there; heuristics copy ahead")
        return self._command(command, tensor, cache_op=_is(cache_op, CacheOp, "cache_op").value)

    def cache_after(self, tensor: Tensor, op_type: LoadStoreOpType = LoadStoreOpType.set,
                    cache_op: CacheOp = CacheOp.unspecified) -> Tensor:
        """Readers get a copy of the tensor, which is given."""
        return self._cached("cache_after", tensor, op_type, cache_op)

    def cache_before(self, tensor: Tensor, op_type: LoadStoreOpType = LoadStoreOpType.set) -> Tensor:
        """The tensor is computed into a copy first, which is given."""
        return self._cached("cache_before", tensor, op_type, CacheOp.unspecified)

    def cache_fork(self, tensor: Tensor) -> Tensor:
        """An output that is read, too, gets a copy that is the output; the copy is given."""
        return self._command("cache_fork", tensor)

    def set_memory_type(self, tensor: Tensor, memory_type: MemoryType) -> None:
        """Where the tensor lies while the kernel runs."""
        memory = _is(memory_type, MemoryType, "a memory type")
        if memory in _NO_MEMORY:
            raise NotImplementedError(f"sched.set_memory_type: {memory}: {_NO_MEMORY[memory]}")
        self._command("set_memory_type", tensor, type=memory.value)

    def transform_like(self, tensor: Tensor, selected_tensors: Sequence[Tensor] = ()) -> None:
        """All tensors that the loops of this one fit get them, or those of a selection, through these alone."""
        named = self._selection(selected_tensors)
        self._command("transform_like", tensor, **named)

    def parallelize_like(self, tensor: Tensor, pos: int = -1, selected_tensors: Sequence[Tensor] = (),
                         selected_parallel_types: Sequence[ParallelType] = (), propagate_padding: bool = True) -> None:
        """Loops that stand for the same axes as this tensor's get their parallel types, of its first `pos` loops."""
        types = [_is(each, ParallelType, "a parallel type").value
                 for each in _selected_types(selected_parallel_types)]
        named = {"position": _is(pos, int, "a position"), **self._selection(selected_tensors)}
        if types:
            named["types"] = ", ".join(types)
        self._command("parallelize_like", tensor, **named)

    def inline_most(self, selected_tensors: Sequence[Tensor] = ()) -> None:
        """Tensors are computed as deep in the loops of their readers as is legal."""
        named = self._selection(selected_tensors)
        self._command("inline_most", **named)

    def inline_at(self, tensor: Tensor, pos: int = -1, best_effort: bool = False,
                  selected_tensors: Sequence[Tensor] = ()) -> None:
        """Tensors, all or those of a selection, are computed inside the first `pos` loops of their readers; `pos`
        counts the loops of `tensor`. With `best_effort`, inside as many of these as is legal."""
        native = self._tensor(tensor)
        definition = self._definition._native
        loops = definition.loops(native)
        position = _is(pos, int, "a position")
        if not -loops - 1 <= position <= loops:
            raise _tokamak.ScheduleError(f"inline_at: position {pos} of a tensor with {loops} loops; legal are "
                                         f"{-loops - 1} to {loops}")
        position += loops + 1 if position < 0 else 0
        chosen = self._selected(selected_tensors) or [each for each in definition.scheduled_tensors()
                                                      if definition.may_be_inlined(each)]
        definition.inline_at(chosen, position, _is(best_effort, bool, "best_effort"))
        self._definition._is_scheduled = True

    # --- schedules by heuristics ---

    def _begin_call(self, place, inputs):
        """A call with these inputs runs schedule()."""
        self._call = place, [list(shape) if (shape := getattr(each, "shape", None)) is not None else each
                             for each in inputs]

    def _end_call(self):
        self._call = None

    def _forget_parameters(self):
        self._chosen = None

    def _target(self, device):
        """What a schedule is for: by default the device of the call that runs schedule(), else the processor."""
        place = (CPU, 0) if self._call is None else self._call[0]
        if not (device is None or isinstance(device, str) and device in ("cpu", "cuda")):
            raise ValueError(f"sched: device is 'cpu' or 'cuda', not {shown(device)}")
        if device == "cpu":
            place = CPU, 0
        if device == "cuda" and place[0] != CUDA:
            return _tokamak.KernelTarget.of_a_gpu()
        return _tokamak.KernelTarget.of(open_device(place))

    def _verdicts(self, device):
        self._definition._require_complete()
        return {SchedulerType(name): reason
                for name, reason in _tokamak.judge_kinds(self._definition._native, self._target(device))}

    def _reason(self, scheduler_type, device):
        kind = _is(scheduler_type, SchedulerType, "a scheduler type")
        reason = _NEVER[kind] if kind in _NEVER else self._verdicts(device)[kind]
        return None if reason is None else f"{kind.value}: {reason}"

    def can_schedule(self, scheduler_type: SchedulerType, *, device: str | None = None) -> tuple[bool, str]:
        """Whether the definition is a kernel of this kind, and what is against it: (True, "") or (False, reason).

        `device`: 'cpu' or 'cuda', an H200 where the call is not on a GPU; by default that of the call that runs
        schedule(), else the processor."""
        reason = self._reason(scheduler_type, device)
        return reason is None, reason or ""

    def find_compatible_schedulers(self, *, device: str | None = None) -> list[SchedulerType]:
        """The kinds of kernel that the definition is. The first one is what schedule() with parameters takes. Empty
        where the definition is no single kernel."""
        return [kind for kind, reason in self._verdicts(device).items() if reason is None]

    def _choose(self, device):
        self._definition._require_complete()
        sizes = [] if self._call is None else self._call[1]
        return _tokamak.choose_parameters(self._definition._native, self._target(device), sizes)

    def _require_kind(self, kinds, device):
        """One of the kinds, or ScheduleError with the reason against the last one."""
        verdicts = self._verdicts(device)
        if all(verdicts[kind] is not None for kind in kinds):
            raise _tokamak.ScheduleError(f"Could not schedule fusion with the SchedulerType: {kinds[-1].value}: "
                                         f"{verdicts[kinds[-1]]}")

    def schedule(self, scheduler_type: SchedulerType | ScheduleParameters | None = None, *,
                 device: str | None = None) -> None:
        """Gives all tensors the library's schedule for a kernel of this kind, or that of parameters: without any, of
        those which a compute_..._heuristics() made last. Raises ScheduleError where that cannot be, or where a tensor
        has a schedule."""
        self._definition._require_schedulable()
        if scheduler_type is None or isinstance(scheduler_type, ScheduleParameters):
            if device is not None:
                raise TypeError("sched.schedule: parameters are for the device that they were made for")
            chosen = self._chosen if scheduler_type is None else scheduler_type._chosen
            if chosen is None:
                raise _tokamak.ScheduleError("Heuristic Scheduler is not defined for this UserSchedule")
            return self._apply(chosen)
        reason = self._reason(scheduler_type, device)
        if reason is not None:
            raise _tokamak.ScheduleError(f"Could not schedule fusion with the SchedulerType: {reason}")
        chosen = self._choose(device)
        if scheduler_type is SchedulerType.pointwise:
            chosen.set("tiles_transposes", False)
        self._apply(chosen)

    def _apply(self, chosen):
        _tokamak.apply_parameters(self._definition._native, chosen)
        self._definition._is_scheduled = True
        names = set(parameters_for(chosen).__dir__())
        head = "pointwise" if self._reason(SchedulerType.pointwise, self._device_of(chosen)) is None else "reduction"
        self._definition._schedule_records.add(
            f"parameters = fd.sched.compute_{head}_heuristics(device={self._device_of(chosen)!r})",
            *(f"parameters.{name} = {chosen.value(name)!r}" for name in sorted(names)), "fd.sched.schedule()")

    def _device_of(self, chosen):
        return "cuda" if chosen.is_cuda else "cpu"

    def compute_pointwise_heuristics(self, *, device: str | None = None) -> ScheduleParameters:
        """The parameters of a kernel without reductions, which schedule() applies: an object to edit. Raises
        ScheduleError with the reason for any other kernel."""
        self._require_kind([SchedulerType.pointwise], device)
        self._chosen = self._choose(device)
        return parameters_for(self._chosen)

    def compute_reduction_heuristics(self, *, device: str | None = None) -> ScheduleParameters:
        """The same for a kernel with reductions, persistent or not."""
        self._require_kind([SchedulerType.inner_persistent, SchedulerType.outer_persistent,
                            SchedulerType.inner_outer_persistent, SchedulerType.reduction], device)
        self._chosen = self._choose(device)
        return parameters_for(self._chosen)

    def compute_heuristics(self, scheduler_type: SchedulerType, *, device: str | None = None) -> ScheduleParameters:
        """The parameters of a kernel of this kind, to edit. Raises ScheduleError with the reason for others."""
        reason = self._reason(scheduler_type, device)
        if reason is not None:
            raise _tokamak.ScheduleError(f"Could not schedule fusion with the SchedulerType: {reason}")
        self._chosen = self._choose(device)
        return parameters_for(self._chosen)

    def compute_matmul_heuristics(self) -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError(f"sched.compute_matmul_heuristics: {_NEVER[SchedulerType.matmul]}")

    def schedule_hyperparameters(self) -> SchedulerHyperParameters:
        """The definition's SchedulerHyperParameters, to edit and to read."""
        return self._hyperparameters


def _recorded(method):
    """A command that is written down, so that a script can repeat it."""
    @functools.wraps(method)
    def call(self, *args, **kwargs):
        arguments = {**{number: _read_once(each) for number, each in enumerate(args)},
                     **{name: _read_once(each) for name, each in kwargs.items()}}

        def compute():
            return method(self, *(each for name, each in arguments.items() if isinstance(name, int)),
                          **{name: each for name, each in arguments.items() if not isinstance(name, int)})

        return self._definition._schedule_records.command(method.__name__, arguments, compute)

    return call


def _read_once(value):
    return list(value) if hasattr(type(value), "__next__") else value


for _name in """tensors _set_device_mesh parallelize merge split reorder rfactor set_allocation_as_loop
                cache_after cache_before cache_fork set_memory_type transform_like parallelize_like
                inline_most inline_at""".split():
    setattr(ScheduleOperators, _name, _recorded(getattr(ScheduleOperators, _name)))
ScheduleOperators.reduction_factor = ScheduleOperators.rfactor  # type: ignore[method-assign]
