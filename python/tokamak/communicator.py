"""Communicators: the ranks of a job that run one program over several devices."""
from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from . import _tokamak
from ._arguments import integer, listed, real, shown
from ._arrays import name_of, place_named
from ._devices import CPU, CUDA, keep_for_parent, open_device

TIMEOUT = 600.0  # seconds

Exchange = Callable[[bytes], Iterable[bytes]]


class Communicator:
    """One rank of a job: what MultiDeviceExecutor communicates through. Communicator.local(), .mpi(), .nccl() and
    .peer() make them. A rank leaves its job when its communicator and all executors over it are gone; ranks that wait
    for it then get a CommunicationError.

    Any threads may use one side by side. A process that was forked makes its own."""

    def __init__(self, native: Any, place: tuple[int, int]) -> None:
        self._native = native
        self._place = place
        self._process = os.getpid()
        _communicators.add(self)

    @staticmethod
    def local(ranks: int, *, timeout: float = TIMEOUT) -> list[Communicator]:
        """The ranks of a job that are threads of this process, on the processor. A thread each makes the executor of
        its rank and runs it. `timeout`: seconds that a wait for other ranks may take."""
        place = (CPU, 0)
        made = _tokamak.local_communicators(open_device(place), integer("Communicator.local: ranks", ranks),
                                            real("Communicator.local: timeout", timeout))
        return [Communicator(each, place) for each in made]

    @staticmethod
    def mpi(*, timeout: float = TIMEOUT) -> Communicator:
        """This process of those that mpirun started, on the processor; returns when all have come. Raises
        tokamak.UnsupportedError without MPI, saying what was searched."""
        place = (CPU, 0)
        return Communicator(_tokamak.mpi_communicator(open_device(place), real("Communicator.mpi: timeout", timeout)),
                            place)

    @staticmethod
    def nccl(bootstrap: Any = None, *, rank: int | None = None, size: int | None = None,
             device: str | int | None = None, timeout: float = TIMEOUT) -> Communicator:
        """This rank of a job whose ranks have a GPU each; returns when all have come.

        `bootstrap`, by which they find one another: None, as RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say
        (torchrun and others set them; TOKAMAK_BOOTSTRAP_PORT names another port); a process group of torch.distributed;
        a store of it, with `rank` and `size`; or a function that takes bytes and gives a list of what each rank gave,
        with `rank` and `size`. It is used until all have come.
        `device`: 'cuda:1'; by default the GPU that LOCAL_RANK numbers, else the rank. Raises tokamak.UnsupportedError
        without NCCL or such a GPU; what a function raises comes out."""
        return _between_gpus("nccl", bootstrap, rank, size, device, timeout)

    @staticmethod
    def peer(bootstrap: Any = None, *, rank: int | None = None, size: int | None = None,
             device: str | int | None = None, timeout: float = TIMEOUT) -> Communicator:
        """This rank of a job whose ranks have GPUs of one host: they copy from one another's memory, without NCCL.
        Several ranks may share a GPU, and be threads of one process.

        Arguments are those of nccl(). Raises tokamak.UnsupportedError for ranks on other hosts, and for GPUs that do
        not reach each other."""
        return _between_gpus("peer", bootstrap, rank, size, device, timeout)

    @property
    def rank(self) -> int:
        """The number of this rank, from 0 on."""
        return self._opened().rank

    @property
    def size(self) -> int:
        """How many ranks the job has."""
        return self._opened().size

    @property
    def device(self) -> str:
        """'cpu' or 'cuda:0'."""
        return name_of(self._place)

    @property
    def backend(self) -> str:
        """The engine, as printed programs name it: 'Local', 'MPI', 'NCCL', or 'CUDA', which is peer copies."""
        return self._opened().backend

    def exchange(self, own: bytes) -> list[bytes]:
        """What each rank gave; all ranks call it, equally often. Raises tokamak.CommunicationError where a rank is
        gone, or does not come in time."""
        if not isinstance(own, (bytes, bytearray, memoryview)):
            raise TypeError(f"exchange takes bytes, not {shown(own)}")
        return self._exchange("of the caller", bytes(own))

    def _exchange(self, tag, own):
        native = self._opened()
        return native.exchange(tag, list(range(native.size)), own)

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        self.exchange(b"")

    def alive(self) -> list[int]:
        """The ranks that are not known to be gone."""
        return self._opened().alive()

    def close(self) -> None:
        """This rank leaves, as soon as its executors are gone."""
        self._native = None

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _opened(self):
        if self._process != os.getpid():
            raise _tokamak.Error("The communicator is the parent's: a process that was forked makes its own")
        if self._native is None:
            raise _tokamak.Error("The communicator is closed")
        return self._native

    def __repr__(self) -> str:
        if self._native is None:
            return "<tokamak.Communicator, closed>"
        return f"<tokamak.Communicator: rank {self._native.rank} of {self._native.size} on {self.device}>"


def _between_gpus(engine, bootstrap, rank, size, device, timeout):
    name = f"Communicator.{engine}"
    seconds = real(f"{name}: timeout", timeout)
    made = _bootstrap_of(name, bootstrap, rank, size, seconds)
    if device is None:
        place = (CUDA, _tokamak.local_rank(made.rank) % max(1, _tokamak.gpu_count()))
    else:
        place = place_named(device)
    open_rank = _tokamak.nccl_communicator if engine == "nccl" else _tokamak.peer_communicator
    return Communicator(open_rank(made, open_device(place), seconds), place)


def _bootstrap_of(name, given, rank, size, timeout):
    """What the native side meets by; `name` is the caller's. Raises TypeError for what is no bootstrap."""
    if given is None:
        if rank is not None or size is not None:
            raise TypeError(f"{name}: rank and size are for a function or a store; RANK and WORLD_SIZE say "
                            "them otherwise")
        return _tokamak.environment_bootstrap(timeout)
    if _is_of_torch(given, "ProcessGroup"):
        if rank is not None or size is not None:
            raise TypeError(f"{name}: a process group knows its rank and size")
        return _tokamak.function_bootstrap(given.rank(), given.size(), _checked(name, _over_group(given), given.size()))
    is_store = _is_of_torch(given, "Store")
    if not is_store and not callable(given):
        raise TypeError(f"{name}: a bootstrap is None, a process group or a store of torch.distributed, or a "
                        f"function, not {shown(given)}")
    if rank is None or size is None:
        raise TypeError(f"{name}: a function, or a store, comes with rank and size")
    rank, size = integer(f"{name}: rank", rank), integer(f"{name}: size", size)
    exchange = _over_store(given, rank, size) if is_store else given
    return _tokamak.function_bootstrap(rank, size, _checked(name, exchange, size))


def _is_of_torch(given, name):
    return any(each.__name__ == name and each.__module__.partition(".")[0] == "torch" for each in type(given).__mro__)


def _over_group(group):
    def exchange(own):
        import torch.distributed

        parts = [None] * group.size()
        torch.distributed.all_gather_object(parts, own, group=group)
        return parts

    return exchange


def _over_store(store, rank, size):
    """Keys have the number of the exchange in them."""
    count = 0

    def exchange(own):
        nonlocal count
        count += 1
        store.set(f"tokamak/{count}/{rank}", own)
        return [store.get(f"tokamak/{count}/{each}") for each in range(size)]

    return exchange


def _checked(name, exchange, size):
    """The function, with what it gives looked at."""
    def call(own):
        parts = listed(f"{name}: what the function gave", exchange(own))
        if len(parts) != size or not all(isinstance(each, (bytes, bytearray)) for each in parts):
            raise TypeError(f"{name}: the function gave {shown(parts)}; a list of the bytes of each of "
                            f"{size} ranks is legal")
        return [bytes(each) for each in parts]

    return call


_communicators: weakref.WeakSet[Communicator] = weakref.WeakSet()


def _begin_in_child():
    for each in list(_communicators):
        keep_for_parent(each._native)


os.register_at_fork(after_in_child=_begin_in_child)
