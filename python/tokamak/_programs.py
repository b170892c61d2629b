"""Programs: definitions that say the same share one on each device."""
import collections
import os
import threading
import weakref

from . import _tokamak
from ._config import config
from ._devices import keep_for_parent, open_device

STREAMS = 4  # of a call
KEPT = 32  # programs that no definition needs any more, those that were asked for last

_lock = threading.Lock()
_programs = weakref.WeakValueDictionary()
_recent = collections.OrderedDict()
_lookups = _found = 0  # of programs


def program_for(native, place, is_by_hand, streams=None, is_row_major=False):
    """The program of a native definition for a device (as DLPack tells it), by its text: with the schedule where
    `is_by_hand`, and with the options that count here. `streams`: of each call, for axes that are marked as stream;
    None: as the options say. `is_row_major`: outputs do not lie like the inputs that they follow."""
    options = dict(config.part("compile"))
    if streams is not None:
        options["streams"] = streams
    if is_row_major:
        options["is_row_major"] = True
    key = (native.scheduled_text() if is_by_hand else native.text(), place, is_by_hand, tuple(options.items()),
           config.part("device"))
    global _lookups, _found
    with _lock:
        program = _programs.get(key)
        _lookups += 1
        _found += program is not None
    if program is None:
        made = _tokamak.compile_definition(native, open_device(place), {
            "keeps_schedule": is_by_hand, "takes_schedule": is_by_hand, **options})
        with _lock:
            program = _programs.setdefault(key, made)  # another thread may have been faster
    with _lock:
        _recent[key] = program
        _recent.move_to_end(key)
        gone = _recent.popitem(last=False) if len(_recent) > KEPT else None
    del gone  # which may wait for its calls: not under the lock
    return program


def forget_programs():
    """Programs go with the last definition that has run with them, from now on, and those of nobody at once."""
    with _lock:
        gone = list(_recent.values())
        _recent.clear()
    del gone


def program_count():
    """How many programs there are."""
    with _lock:
        return len(_programs)


def lookups():
    """How often a definition asked for its program, and how often it was there."""
    with _lock:
        return _lookups, _found


def _begin_in_child():
    global _lock, _programs, _recent
    keep_for_parent((_programs, _recent))
    _lock = threading.Lock()
    _programs = weakref.WeakValueDictionary()
    _recent = collections.OrderedDict()


os.register_at_fork(after_in_child=_begin_in_child)
