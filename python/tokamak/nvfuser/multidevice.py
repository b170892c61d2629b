"""What scripts for several devices name. One device works; several come later, and are refused by name."""
from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any

from .. import _calls, _tokamak
from .._arguments import flag, integer, shown
from .._arrays import place_of
from .._mesh import DeviceMesh
from .._programs import STREAMS, program_for
from .._values import Tensor
from ..schedule import ParallelType
from .enums import CommunicatorBackend
from .refused import refused_function
from .views import definition_of

__all__ = ["Communicator", "CommunicatorBackend", "DeviceMesh", "MultiDeviceExecutor", "MultiDeviceExecutorParams",
           "Sharding", "execute_with_dtensors", "shard_tensor"]

_WORLDS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")  # of torchrun and of MPI


class Communicator:
    """The processes of a program: one. Raises NotImplementedError in a process that was started as one of several."""

    def __init__(self) -> None:
        for name in _WORLDS:
            if os.environ.get(name, "1") != "1":
                raise NotImplementedError(f"Communicator: {name} is {shown(os.environ[name])}: several processes come "
                                          "later, with communication between devices; one is legal")

    @staticmethod
    def instance() -> Communicator:
        """The communicator."""
        return Communicator()

    def is_available(self) -> bool:
        """Whether there are other processes to talk to: no."""
        return False

    def size(self) -> int:
        """How many processes there are."""
        return 1

    def rank(self) -> int:
        """The number of this one."""
        return 0

    def local_size(self) -> int:
        """How many there are on this machine."""
        return 1

    def local_rank(self) -> int:
        """The number of this one on this machine."""
        return 0

    def barrier(self, backend: CommunicatorBackend = CommunicatorBackend.nccl) -> None:
        """Waits for all other processes, of which there are none."""


class Sharding:
    """How an output is divided among the devices of a mesh: not at all."""

    __slots__ = ("_mesh",)

    def __init__(self, mesh: DeviceMesh) -> None:
        if not isinstance(mesh, DeviceMesh):
            raise TypeError(f"Sharding: a DeviceMesh is legal, not {shown(mesh)}")
        self._mesh = mesh

    @property
    def mesh(self) -> DeviceMesh:
        """The devices."""
        return self._mesh

    def axis_sharded_on(self, parallel_type: ParallelType) -> int:
        """The axis that is divided over a mesh's axis: -1 for none."""
        if not isinstance(parallel_type, ParallelType):
            raise TypeError(f"axis_sharded_on: a ParallelType is legal, not {shown(parallel_type)}")
        return -1


def shard_tensor(tensor: Any, *where: Any) -> Any:
    """shard_tensor(array, mesh) or shard_tensor(array, tensor of a definition): the part of this device, which is
    all of it. Raises TypeError for what is neither."""
    if not where or not isinstance(where[-1], (DeviceMesh, Tensor)) and not isinstance(where[0], (DeviceMesh, Tensor)):
        raise TypeError("shard_tensor: Cannot shard a non-distributed tensor. An array, and a DeviceMesh or a tensor "
                        "of a definition are legal")
    return tensor


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
    """A definition as a host program on one device: axes that its schedule marks as ParallelType.stream are dealt out
    to streams. Thread safety: any threads may call run() side by side."""

    def __init__(self, fusion: Any, params: MultiDeviceExecutorParams | None = None) -> None:
        params = MultiDeviceExecutorParams() if params is None else params
        if not isinstance(params, MultiDeviceExecutorParams):
            raise TypeError(f"MultiDeviceExecutor: MultiDeviceExecutorParams are legal, not {shown(params)}")
        self._definition = definition_of("MultiDeviceExecutor", fusion)
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
            definition._note_written(inputs, None)
        return outputs

    def _compiled(self, place):
        key = os.getpid(), place
        with self._lock:
            if key not in self._programs:
                definition = self._definition
                definition._define()
                is_by_hand = definition._is_scheduled
                program = program_for(definition._native, place, is_by_hand, self._streams)
                self._programs[key] = program, _tokamak.LastCall()
            return self._programs[key]


execute_with_dtensors = refused_function(
    "execute_with_dtensors", "tensors that are divided among devices come later; fd.execute() takes those of one",
    __name__)
