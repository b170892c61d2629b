"""The devices of this process, each opened when it is first asked for."""
import os
import threading

from . import _tokamak
from ._blas import offer_open_blas
from ._compiler import offer_compiler
from ._config import config

CPU, CUDA = 1, 2  # as DLPack tells kinds of devices
INTERPRETER = (CPU, 1)  # a device of the processor's that checks every access of its kernels

_OF_GPUS = ("memory_limit", "poisons_memory")  # the options of devices that they have, too

_devices = {}
_lock = threading.Lock()
_of_parents = []  # what processes that were forked before had; their threads are not here, and nobody waits for them


def open_device(place, told=None):
    """The device of a kind and a number, with the options that count here, or that config.part("device") once told.
    Raises tokamak.UnsupportedError for a GPU that is not there."""
    kind, number = place
    options = () if place == INTERPRETER else tuple(
        each for each in (config.part("device") if told is None else told) if kind == CPU or each[0] in _OF_GPUS)
    with _lock:
        if (place, options) not in _devices:
            offer_compiler()
            if kind == CPU:
                offer_open_blas()
            _devices[place, options] = (
                _tokamak.open_interpreter() if place == INTERPRETER else
                _tokamak.open_cpu(**dict(options)) if kind == CPU else _tokamak.open_cuda(number, **dict(options)))
        return _devices[place, options]


def has_devices():
    """Whether some device is open."""
    with _lock:
        return bool(_devices)


def keep_for_parent(objects):
    """In a forked process: what the parent had is never let go here."""
    _of_parents.append(objects)


def _begin_in_child():
    global _devices, _lock
    keep_for_parent(_devices)
    _devices = {}
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_begin_in_child)
