"""fd.sched: schedules by hand, on a copy of the definition's fusion."""
import enum

from . import _tokamak
from ._ops import Namespace
from .definition import Tensor


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


class MemoryType(_Names):
    """Where a tensor lies while a kernel runs."""

    local = "local"
    shared = "shared"
    # `global` is no word that Python takes after a dot: getattr(MemoryType, "global").
    locals()["global"] = "global"


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
    globally = "Global"


# Names that scripts know and the library lacks.
MISSING = """can_schedule compute_matmul_heuristics compute_pointwise_heuristics compute_reduction_heuristics
find_compatible_schedulers schedule schedule_hyperparameters""".split()


def _is(value, kind, what):
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"sched: {what} is a {kind.__name__}, not {value!r}")
    return value


class ScheduleOperators(Namespace):
    """The schedule commands of a definition: fd.sched.split(y, 0, 128), and fd.execute() runs exactly these loops.

    Axes are counted over the loops of a tensor as they are by then; -1 is the last."""

    _name = "sched"
    _missing = MISSING

    def _tensor(self, tensor):
        return self._definition._schedulable(_is(tensor, Tensor, "a tensor"))

    def _command(self, name, tensor=None, **named):
        if tensor is not None:
            named = {"tensor": self._tensor(tensor), **named}
        made = self._definition._schedule_command(name, named)
        return None if made is None else Tensor(self._definition, made)

    def _selected(self, tensors):
        return [self._tensor(each) for each in tensors]

    def to_string(self, tensor):
        """The tensor with its loops, in words."""
        native = self._tensor(tensor)
        return self._definition._native.scheduled_tensor(native)

    def user_schedule_ir(self):
        """The fusion with its schedule as a text, which the command line reads, too."""
        return self._definition._native.scheduled_text()

    def tensors(self):
        """All tensors of the schedule, also those that commands made."""
        self._definition._require_schedulable()
        return [Tensor(self._definition, each) for each in self._definition._native.scheduled_tensors()]

    def is_reduction(self, tensor):
        """Whether the tensor is computed by summing, or the like, over some axis."""
        native = self._tensor(tensor)
        return self._definition._native.is_reduction(native)

    def _set_device_mesh(self, tensor, mesh):
        raise NotImplementedError("sched._set_device_mesh: meshes of several devices are not there yet")

    def parallelize(self, tensor, axis, parallel_type):
        """The iterations of a loop become blocks, threads, elements of a vector, ..."""
        kind = _is(parallel_type, ParallelType, "a parallel type")
        self._command("parallelize", tensor, axis=_is(axis, int, "an axis"), type=kind.value)

    def merge(self, arg, dim):
        """Axes dim and dim + 1 become one."""
        self._command("merge", arg, axis=_is(dim, int, "an axis"))

    def split(self, arg, dim, factor, inner_split=True):
        """One axis becomes two, of which the inner one (or the outer one) has `factor` iterations."""
        self._command("split", arg, axis=_is(dim, int, "an axis"), factor=_is(factor, int, "a factor"),
                      inner_split=_is(inner_split, bool, "inner_split"))

    def reorder(self, arg, old2new):
        """Axis `old` goes to place `new`, for each pair; the others keep their order."""
        rank = self._definition._native.loops(self._tensor(arg))
        places = {}
        for old, new in dict(old2new).items():
            for axis in (_is(old, int, "an axis"), _is(new, int, "an axis")):
                if not -rank <= axis < rank:
                    raise _tokamak.ScheduleError(f"reorder: axis {axis} of a tensor with {rank} loops")
            places[old % rank if rank else 0] = new % rank if rank else 0
        if len(set(places.values())) != len(places) or len(places) != len(dict(old2new)):
            raise _tokamak.ScheduleError(f"reorder: {old2new} has an axis twice")
        taken = {new: old for old, new in places.items()}
        rest = iter([axis for axis in range(rank) if axis not in places])
        self._command("reorder", arg, order=[taken[place] if place in taken else next(rest) for place in range(rank)])

    def rfactor(self, arg, dims):
        """The reduction over axes `dims` becomes one of its own: gives the tensor of partial results."""
        return self._command("rfactor", arg, axes=[_is(each, int, "an axis") for each in dims])

    reduction_factor = rfactor

    def set_allocation_as_loop(self, arg):
        """The tensor lies in memory in the order of its loops."""
        self._command("set_allocation_as_loop", arg)

    def _cached(self, command, tensor, op_type, cache_op):
        kind = _is(op_type, LoadStoreOpType, "op_type")
        if kind is not LoadStoreOpType.set:
            raise NotImplementedError(f"sched.{command}: op_type {kind} is not there; heuristics copy ahead")
        return self._command(command, tensor, cache_op=_is(cache_op, CacheOp, "cache_op").value)

    def cache_after(self, tensor, op_type=LoadStoreOpType.set, cache_op=CacheOp.unspecified):
        """Readers get a copy of the tensor, which is given."""
        return self._cached("cache_after", tensor, op_type, cache_op)

    def cache_before(self, tensor, op_type=LoadStoreOpType.set):
        """The tensor is computed into a copy first, which is given."""
        return self._cached("cache_before", tensor, op_type, CacheOp.unspecified)

    def cache_fork(self, tensor):
        """An output that is read, too, gets a copy that is the output; the copy is given."""
        return self._command("cache_fork", tensor)

    def set_memory_type(self, tensor, memory_type):
        """Where the tensor lies while the kernel runs."""
        self._command("set_memory_type", tensor, type=_is(memory_type, MemoryType, "a memory type").value)

    def transform_like(self, tensor, selected_tensors=()):
        """All tensors that the loops of this one fit get them, or those of a selection, through these alone."""
        named = {"tensors": self._selected(selected_tensors)} if selected_tensors else {}
        self._command("transform_like", tensor, **named)

    def parallelize_like(self, tensor, pos=-1, selected_tensors=(), selected_parallel_types=(), propagate_padding=True):
        """Loops that stand for the same axes as this tensor's get their parallel types, of its first `pos` loops."""
        named = {"position": _is(pos, int, "a position")}
        if selected_tensors:
            named["tensors"] = self._selected(selected_tensors)
        if selected_parallel_types:
            named["types"] = ", ".join(_is(each, ParallelType, "a parallel type").value
                                       for each in selected_parallel_types)
        self._command("parallelize_like", tensor, **named)

    def inline_most(self, selected_tensors=()):
        """Tensors are computed as deep in the loops of their readers as is legal."""
        named = {"tensors": self._selected(selected_tensors)} if selected_tensors else {}
        self._command("inline_most", **named)

    def inline_at(self, tensor, pos=-1, best_effort=False, selected_tensors=()):
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
        for each in reversed(chosen):  # readers first
            self._inline(each, min(position, definition.loops(each)), best_effort)

    def _inline(self, native, position, best_effort):
        while True:
            try:
                return self._definition._schedule_command("inline_at", {"tensor": native, "position": position})
            except _tokamak.ScheduleError:
                if not best_effort or position == 0:
                    raise
                position -= 1
