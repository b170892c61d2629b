"""What scripts for several devices name."""
from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any

from .. import _calls, _tokamak
from .. import communicator as communicators
from .. import multi_device
from .._arguments import flag, integer, shown
from .._arrays import note_written, place_of
from .._mesh import DeviceMesh, Sharding
from .._programs import STREAMS, program_for
from .._values import Tensor
from ..multi_device import compiled_program
from .enums import CommunicatorBackend
from .refused import refused_function
from .views import definition_of

__all__ = ["Communicator", "CommunicatorBackend", "DeviceMesh", "MultiDeviceExecutor", "MultiDeviceExecutorParams",
           "Sharding", "execute_with_dtensors", "shard_tensor"]

_WORLDS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")  # of torchrun and of MPI
_LOCAL_WORLDS = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")


class Communicator:
    """The processes of a program: one, or those that mpirun or torchrun started. Several processors communicate through
    MPI, several GPUs through NCCL. Raises NotImplementedError where neither is to be had."""

    def __init__(self) -> None:
        self._opened = _of_process() if _world_size() > 1 else None

    @staticmethod
    def instance() -> Communicator:
        """The communicator of this process, which the first call makes."""
        global _instance
        with _instance_lock:
            if _instance is None or _instance[0] != os.getpid():
                _instance = os.getpid(), Communicator()
            return _instance[1]

    def is_available(self) -> bool:
        """Whether there are other processes to talk to."""
        return self._opened is not None

    def size(self) -> int:
        """How many processes there are."""
        return 1 if self._opened is None else self._opened.size

    def rank(self) -> int:
        """The number of this one."""
        return 0 if self._opened is None else self._opened.rank

    def local_size(self) -> int:
        """How many there are on this machine."""
        return _number_of(_LOCAL_WORLDS, self.size())

    def local_rank(self) -> int:
        """The number of this one on this machine."""
        return 0 if self._opened is None else _tokamak.local_rank(self.rank())

    def barrier(self, backend: CommunicatorBackend = CommunicatorBackend.nccl) -> None:
        """Waits for all other processes."""
        if self._opened is not None:
            self._opened.barrier()


_instance: tuple[int, Communicator] | None = None  # of a process
_instance_lock = threading.Lock()


def _number_of(names, otherwise):
    found = next((os.environ[name] for name in names if os.environ.get(name)), None)
    if found is None:
        return otherwise
    if not found.isdecimal():
        raise ValueError(f"Communicator: a number of processes is {shown(found)}; {' or '.join(names)} say it")
    return int(found)


def _world_size():
    return _number_of(_WORLDS, 1)


def _of_process():
    if _tokamak.gpu_count() > 0:
        return communicators.Communicator.nccl()
    if "OMPI_COMM_WORLD_SIZE" in os.environ:
        return communicators.Communicator.mpi()
    raise NotImplementedError(f"Communicator: {_world_size()} processes were started, and not by mpirun; several "
                              "processors communicate through MPI, and only GPUs without it, through NCCL")


def rank_program(definition):
    """What this process does of a definition with meshes."""
    opened = Communicator.instance()._opened
    if opened is None:
        definition._require_one_device("execute")
    return compiled_program(definition, opened._opened().device, {"communicator": opened._opened()})[0]


def shard_tensor(tensor: Any, *where: Any) -> Any:
    """shard_tensor(array, tensor of a definition): the part of this process, as the marks of the tensor say.
    shard_tensor(array, axis, mesh): its part of an axis. shard_tensor(array, mesh): all of it. Raises TypeError for
    what is neither."""
    if len(where) == 1 and isinstance(where[0], Tensor):
        rank = Communicator.instance().rank()
        part = multi_device.shard_tensor(tensor, where[0], rank)
        if part is None:
            raise ValueError(f"shard_tensor: device {rank} is none of the tensor's mesh")
        return part
    if len(where) == 2 and isinstance(where[1], DeviceMesh):
        return where[1].shard_tensor(tensor, where[0], Communicator.instance().rank())
    if len(where) == 1 and isinstance(where[0], DeviceMesh):
        return tensor
    raise TypeError("shard_tensor: Cannot shard a non-distributed tensor. An array, and a tensor of a definition, or "
                    "an axis and a DeviceMesh, are legal")


class MultiDeviceExecutorParams:
    """Parameters of a MultiDeviceExecutor. `number_of_streams`: of each call, for axes that are marked as
    ParallelType.stream. Those that steer communication change nothing on one device."""

    __slots__ = ("use_allocation_cache", "number_of_streams", "backend_type", "offset_stream_indexing_by_rank",
                 "inter_stream_synchronization")

    def __init__(self, *, use_allocation_cache: bool = False, number_of_streams: int = STREAMS,
                 backend_type: CommunicatorBackend = CommunicatorBackend.nccl,
                 offset_stream_indexing_by_rank: bool = False, inter_stream_synchronization: bool = False) -> None:
        self.use_allocation_cache = use_allocation_cache
        self.number_of_streams = number_of_streams
        self.backend_type = backend_type
        self.offset_stream_indexing_by_rank = offset_stream_indexing_by_rank
        self.inter_stream_synchronization = inter_stream_synchronization

    def __setattr__(self, name: str, value: Any) -> None:
        where = f"MultiDeviceExecutorParams: {name}"
        if name not in self.__slots__:
            raise AttributeError(f"{where} is no parameter; these are {', '.join(self.__slots__)}")
        if name == "backend_type":
            if not isinstance(value, CommunicatorBackend):
                raise TypeError(f"{where}: a CommunicatorBackend is legal, not {shown(value)}")
        elif name == "number_of_streams":
            value = integer(where, value)
            if value < 1:
                raise ValueError(f"{where}: {value} is no number of streams; legal are 1 and more")
        else:
            value = flag(where, value)
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"MultiDeviceExecutorParams({', '.join(f'{each}={getattr(self, each)!r}' for each in self.__slots__)})"


class MultiDeviceExecutor:
    """A definition as a host program: axes that its schedule marks as ParallelType.stream are dealt out to streams.
    With a tokamak.Communicator, or in one of several processes, it is this rank's part of a definition with meshes, for
    one thread at a time; else any threads may call run() side by side."""

    def __init__(self, fusion: Any, params: MultiDeviceExecutorParams | None = None,
                 communicator: communicators.Communicator | None = None) -> None:
        params = MultiDeviceExecutorParams() if params is None else params
        if not isinstance(params, MultiDeviceExecutorParams):
            raise TypeError(f"MultiDeviceExecutor: MultiDeviceExecutorParams are legal, not {shown(params)}")
        if communicator is not None and not isinstance(communicator, communicators.Communicator):
            raise TypeError(f"MultiDeviceExecutor: a tokamak.Communicator is legal, not {shown(communicator)}")
        self._definition = definition_of("MultiDeviceExecutor", fusion)
        self._communicator = communicator
        self._streams = params.number_of_streams
        self._programs: dict[Any, Any] = {}  # and last calls, by process and device: a forked one compiles again
        self._lock = threading.Lock()

    def run(self, inputs: Iterable[Any]) -> list[Any]:
        """fd.execute(inputs)."""
        definition = self._definition
        inputs = definition._with_seed(definition._flat(list(inputs)))
        place = place_of(inputs, None)
        program, last = self._compiled(place)
        outputs: list[Any] = _calls.run(program, inputs, None, last, place, definition._library)
        if definition._updated:
            note_written(definition._written(inputs, None))
        return outputs

    def _compiled(self, place):
        key = os.getpid(), place
        with self._lock:
            if key not in self._programs:
                definition = self._definition
                definition._define()
                definition._mark_meshes()
                program = self._program(definition, place)
                self._programs[key] = program, _tokamak.LastCall()
            return self._programs[key]

    def _program(self, definition, place):
        devices = _tokamak.mesh_devices(definition._native)
        if self._communicator is None and len(devices) < 2:
            return program_for(definition._native, place, definition._is_scheduled, self._streams)
        opened = self._communicator or Communicator.instance()._opened
        if opened is None:
            definition._require_one_device("MultiDeviceExecutor")
        return compiled_program(definition, opened._opened().device,
                                {"communicator": opened._opened(), "streams": self._streams})[0]


execute_with_dtensors = refused_function(
    "execute_with_dtensors", "tensors that are divided among devices come later; fd.execute() takes those of one",
    __name__)
