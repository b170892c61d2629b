"""Progress of long compilations: a bar, or a line in the log."""
from __future__ import annotations

import sys
import threading
from typing import Any

from . import _tokamak
from ._config import config

PATIENCE = 2.0  # seconds, before anything is shown

_of_thread = threading.local()  # bar: what is shown


def _told(done: int, all_kernels: int, seconds: float) -> None:
    """Called every 50 ms by a thread that waits for compilers, and when it ends: then `seconds` are below 0."""
    shown = getattr(_of_thread, "bar", None)
    if seconds < 0:
        _of_thread.bar = None
        if shown is not None:
            shown.end(done)
        return
    if shown is None:
        if seconds < PATIENCE or not config.get("progress"):
            return
        shown = _of_thread.bar = _bar(all_kernels)
    shown.show(done, seconds)


def _bar(all_kernels):
    tqdm = _tqdm()
    return _Line(all_kernels) if tqdm is None else _Tqdm(tqdm, all_kernels)


def _tqdm() -> Any:
    """tqdm's class where it is installed, and somebody looks."""
    is_notebook = "ipykernel" in sys.modules
    if not is_notebook and not (sys.stderr is not None and sys.stderr.isatty()):
        return None
    try:
        if is_notebook:
            from tqdm.notebook import tqdm
        else:
            from tqdm import tqdm
    except ImportError:
        return None
    return tqdm


class _Tqdm:
    def __init__(self, tqdm, all_kernels):
        self._bar = tqdm(total=all_kernels, desc="tokamak: compiling kernels", unit="kernel", leave=False)

    def show(self, done, seconds):
        self._bar.update(done - self._bar.n)

    def end(self, done):
        self._bar.update(done - self._bar.n)
        self._bar.close()


class _Line:
    """One line, when it begins to be long."""

    def __init__(self, all_kernels):
        self._all = all_kernels
        self._is_told = False

    def show(self, done, seconds):
        if not self._is_told:
            import logging

            self._is_told = True
            logging.getLogger("tokamak").info(
                "compiling kernels: %d of %d are there after %.0f s", done, self._all, seconds)

    def end(self, done):
        pass


_tokamak.watch_compilers(_told)
