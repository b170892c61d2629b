"""Programs over several devices: this rank's part of a definition with meshes, and parts of arrays."""
from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable
from typing import Any

from . import _calls, _tokamak
from ._arguments import integer, listed, shown
from ._arrays import name_of, note_written, place_named, place_of, require_written_by_hand
from ._devices import INTERPRETER, keep_for_parent, open_device
from ._mesh import Sharding, cut, sharding_from
from ._types import DataType
from ._values import Tensor
from .communicator import Communicator
from .definition import FusionDefinition
from .program import _MOST_CALLS, _MOST_STREAMS, Input, ProgramStatistics, _count, _text_of


class MultiDeviceExecutor:
    """What one rank of a job does of a program over devices.

        ranks = tokamak.Communicator.local(2)                      # or .mpi(), .nccl()
        executor = tokamak.MultiDeviceExecutor(fd, ranks[0])       # each rank, in a thread of its own
        y, = executor.run(executor.shard([x, w]))

    `source`: a definition whose schedule has meshes (fd.sched._set_device_mesh, parallelize with ParallelType.mesh_x),
    the text of a fusion or of a host program, or the path of a file that has one. All ranks make executors of the same
    sources in the same order, and call them in the same order. Calls take and give the parts that this rank has; inputs
    and outputs of meshes without it are left out. What has no mesh is replicated. Without a communicator the program is
    for `device` alone.

    Options are those of compile(). Raises tokamak.Error for what the source says wrong, tokamak.UnsupportedError for a
    definition that draws random numbers itself, as each rank would draw its own."""

    def __init__(self, source: FusionDefinition | str | os.PathLike[str], communicator: Communicator | None = None, *,
                 device: str | None = None, streams: int = 4, calls_in_flight: int = 4, makes_kernels: bool = True,
                 proves_plans: bool = True) -> None:
        if communicator is not None and not isinstance(communicator, Communicator):
            raise TypeError(f"MultiDeviceExecutor: a Communicator is legal, not {shown(communicator)}")
        if communicator is not None and device is not None:
            raise TypeError("MultiDeviceExecutor: the device is the communicator's; leave `device` out")
        options: dict[str, Any] = {
            "streams": _count("MultiDeviceExecutor: streams", streams, most=_MOST_STREAMS),
            "calls_in_flight": _count("MultiDeviceExecutor: calls_in_flight", calls_in_flight, most=_MOST_CALLS),
            "makes_kernels": bool(makes_kernels), "proves_plans": bool(proves_plans)}
        if communicator is None:
            self._place = place_named("cpu" if device is None else device)
            opened = open_device(self._place)
        else:
            options["communicator"] = communicator._opened()
            self._place, opened = communicator._place, communicator._native.device
        self._communicator = communicator
        self._definition = source if isinstance(source, FusionDefinition) else None
        self._native, self._library = compiled_program(source, opened, options)
        self._last = _tokamak.LastCall()
        self._turns = _Turns()
        self._process = os.getpid()
        self._shardings: Any = None
        _executors.add(self)

    def run(self, inputs: Iterable[Any], out: Iterable[Any] | None = None, *, number: int | None = None) -> list[Any]:
        """Runs with this rank's parts, arrays of NumPy, torch and others, and gives its parts of the outputs, made by
        the library of the first array. `out`: arrays to write into, one for each output.

        A call of another thread meanwhile is refused, as all ranks have to have one order of calls. With `number`
        they are in the order of their numbers, 0, 1, 2, ..., each of which is given once: a call waits for those
        before it. Threads that wait let go of the interpreter's lock.

        Raises tokamak.BindError for what does not fit; tokamak.CommunicationError where a rank fails, dies or does not
        come, and in the first call where ranks have other programs or sizes. What a signal's handler raises, as at
        Ctrl-C, ends the wait for other ranks, who get a CommunicationError."""
        if number is None:
            return self._run(inputs, out)
        with self._turns.at(integer("run: number", number)):
            return self._run(inputs, out)

    __call__ = run

    def _run(self, inputs, out):
        native = self._opened()
        issued = native.issued_calls
        try:
            return self._called(native, inputs, out)
        except BaseException as error:
            # Other ranks that wait for a call hear of one that has not begun. What is refused while another thread
            # calls is none.
            if getattr(error, "code", None) != "usage":
                native.leave(f"{type(error).__name__}: {error}", issued)
            raise

    def _called(self, native, inputs, out):
        given = listed("run: inputs", inputs)
        written = None if out is None else listed("run: out", out)
        place_of(given, "cpu" if self._place == INTERPRETER else name_of(self._place))
        changed = [*(written or ()), *(given[i] for i in native.updated_inputs if i < len(given))]
        require_written_by_hand(changed)
        outputs = _calls.run(native, given, written, self._last, self._place, self._library)
        note_written(changed)
        return outputs

    # --- what it is ---

    @property
    def communicator(self) -> Communicator | None:
        """Through whom it communicates."""
        return self._communicator

    @property
    def device(self) -> str:
        """'cpu' or 'cuda:0'."""
        return name_of(self._place)

    @property
    def inputs(self) -> list[Input]:
        """Those that this rank has, in the order in which calls take them."""
        return [Input(name, DataType(dtype), ndim) for name, dtype, ndim in self._opened().inputs]

    @property
    def output_names(self) -> list[str]:
        """Those that this rank has, in the order in which calls give them."""
        return self._opened().output_names

    def host_text(self) -> str:
        """The host program of this rank as a text."""
        return self._opened().host_text()

    def statistics(self) -> ProgramStatistics:
        """What the program holds, and did."""
        return ProgramStatistics(**self._opened().statistics())

    # --- parts ---

    @property
    def input_shardings(self) -> list[Sharding | None]:
        """How each input of the definition is divided; None for numbers, and where there is no mesh."""
        return [sharding_from(each) for each in self._marks().inputs]

    @property
    def output_shardings(self) -> list[Sharding | None]:
        """How each output of the definition is divided, as propagation decides it."""
        return [sharding_from(each) for each in self._marks().outputs]

    def shard(self, inputs: Iterable[Any]) -> list[Any]:
        """This rank's parts of whole inputs, arrays and numbers: what run() takes. Parts are copies, where they are not
        the whole. Raises tokamak.BindError for sizes that do not fit the definition."""
        whole = listed("shard: inputs", inputs)
        if self._communicator is None:
            return whole
        marks = self._marks()
        sizes = [list(each.shape) if hasattr(each, "shape") else None for each in whole]
        rank = self._communicator.rank
        given = []
        for array, part, sharding in zip(whole, marks.input_parts(sizes, rank), self.input_shardings):
            if sharding is None:
                given.append(array)
            elif part is not None:
                given.append(cut(array, part))
        return given

    def gather(self, outputs: Iterable[Any]) -> list[Any]:
        """Whole outputs, on every rank, of the parts that run() gave; all ranks call it. Arrays of NumPy and torch, on
        the processor or a GPU, are legal. For results that are looked at, as it goes through the host."""
        parts = listed("gather: outputs", outputs)
        if self._communicator is None:
            return parts
        shardings = self.output_shardings
        rank = self._communicator.rank
        here = [sharding is None or rank in sharding.mesh.devices for sharding in shardings]
        if len(parts) != sum(here):
            raise _tokamak.BindError(f"gather: {len(parts)} outputs were given; this rank has {sum(here)}")
        own = iter(parts)
        told = [_packed(next(own)) if is_here else b"" for is_here in here]
        given = [_unjoined(each) for each in self._communicator._exchange("gather", _joined(told))]
        own = iter(parts)
        whole = []
        for i, sharding in enumerate(shardings):
            mine = next(own) if here[i] else None
            whole.append(mine if sharding is None else _assembled(sharding, [each[i] for each in given], mine))
        return whole

    def _marks(self):
        if self._definition is None:
            raise _tokamak.UnsupportedError("the parts of a text's tensors: a FusionDefinition is legal here; "
                                            "DeviceMesh.shard_tensor() cuts arrays")
        if self._shardings is None:
            self._shardings = _tokamak.Shardings(self._definition._native)
        return self._shardings

    def _opened(self):
        if self._process != os.getpid():
            raise _tokamak.Error("The executor is the parent's: a process that was forked makes its own")
        return self._native

    def __repr__(self) -> str:
        who = "" if self._communicator is None else f", rank {self._communicator.rank} of {self._communicator.size}"
        return f"<tokamak.MultiDeviceExecutor {self._opened().name} on {self.device}{who}>"


def compiled_program(source, device, options):
    """The native program of a definition, a text or a path, and the library that makes outputs of calls without
    arrays."""
    if isinstance(source, FusionDefinition):
        native = source._for_programs("MultiDeviceExecutor")
        told = {**options, "takes_schedule": native.is_scheduled}
        return _tokamak.compile_definition(native, device, told), source._library
    text, name = _text_of(source)
    return _tokamak.compile_text(text, name, device, options), "numpy"


class _Turns:
    """Calls in the order of their numbers."""

    def __init__(self):
        self._changed = threading.Condition()
        self._next = 0
        self._given = set()  # those that wait, or have the turn

    def at(self, number):
        return _Turn(self, number)

    def begin(self, number):
        with self._changed:
            if number < self._next or number in self._given:
                raise _tokamak.Error(f"run: number {number} was given before; the next one is {self._next}")
            self._given.add(number)
            try:
                self._changed.wait_for(lambda: self._next == number)
            except BaseException:  # a signal's handler raised: the call will not come
                self._given.discard(number)
                raise

    def end(self, number):
        with self._changed:
            self._given.discard(number)
            self._next = number + 1
            self._changed.notify_all()


class _Turn:
    def __init__(self, turns, number):
        self._turns, self._number = turns, number

    def __enter__(self):
        self._turns.begin(self._number)

    def __exit__(self, *error):
        self._turns.end(self._number)


def shard_tensor(array: Any, tensor: Tensor, rank: int | Communicator) -> Any:
    """What a rank has of a whole array for a tensor of a definition, as the marks of its schedule say; None where it is
    not in the tensor's mesh."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"shard_tensor: a tensor of a definition is legal, not {shown(tensor)}")
    number = rank.rank if isinstance(rank, Communicator) else integer("shard_tensor: rank", rank)
    part = _tokamak.part_of(tensor._definition._native, tensor._value, list(array.shape), number)
    return None if part is None else cut(array, part)


# --- arrays as bytes ---

def _packed(array):
    """What the array is, a line, and its elements, row-major."""
    import json

    root = type(array).__module__.partition(".")[0]
    if root == "torch":
        import torch

        kind, dtype = "torch", str(array.dtype).removeprefix("torch.")
        data = array.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    elif root == "numpy":
        kind, dtype, data = "numpy", array.dtype.name, array.tobytes()
    else:
        raise TypeError(f"gather: arrays of NumPy and torch are legal, not {shown(array)}")
    return json.dumps([kind, dtype, list(array.shape)]).encode() + b"\n" + data


def _unpacked(told):
    import json

    head, data = told.split(b"\n", 1)
    kind, dtype, shape = json.loads(head)
    if kind == "torch":
        import torch

        flat = torch.frombuffer(bytearray(data), dtype=getattr(torch, dtype)) if data else torch.empty(
            0, dtype=getattr(torch, dtype))
        return flat.reshape(shape)
    import numpy

    return numpy.frombuffer(bytearray(data), numpy.dtype(dtype)).reshape(shape)


def _joined(parts):
    import json

    lengths = json.dumps([len(each) for each in parts]).encode()
    return lengths + b"\n" + b"".join(parts)


def _unjoined(told):
    import json

    head, rest = told.split(b"\n", 1)
    parts = []
    for length in json.loads(head):
        parts.append(rest[:length])
        rest = rest[length:]
    return parts


def _assembled(sharding, told, own):
    """The whole array of the parts of all ranks, on the device of `own`."""
    mesh = sharding.mesh
    axes = {dimension: axis for axis, dimension in sharding.axes.items()}

    def joined(place):
        if len(place) == len(mesh.shape):
            number = 0
            for at, count in zip(place, mesh.shape):
                number = number * count + at
            return _unpacked(told[mesh.devices[number]])
        count = mesh.shape[len(place)] if len(place) in axes else 1
        pieces = [joined((*place, i)) for i in range(count)]
        return pieces[0] if count == 1 else _concatenated(pieces, axes[len(place)])

    whole = joined(())
    return whole.to(own.device) if own is not None and hasattr(whole, "clone") else whole


def _concatenated(pieces, axis):
    if hasattr(pieces[0], "clone"):
        import torch

        return torch.cat(pieces, axis)
    import numpy

    return numpy.concatenate(pieces, axis)


_executors: weakref.WeakSet[MultiDeviceExecutor] = weakref.WeakSet()


def _begin_in_child():
    for each in list(_executors):
        keep_for_parent((each._native, each._last))


os.register_at_fork(after_in_child=_begin_in_child)
