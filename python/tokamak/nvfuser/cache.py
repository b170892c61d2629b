"""FusionCache and LRUCache: programs that definitions share. They are kept by the library itself (_programs.py), and
compiled kernels on disk, in TOKAMAK_CACHE_DIR or ~/.cache/tokamak, as soon as they are there."""
from __future__ import annotations

import collections
import gc
import functools
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from .. import _programs, _tokamak
from .._arguments import integer, shown
from .views import Fusion, FusionExecutorCache, definition_of

MOST_FUSIONS = 16384
_ON_DISK = "compiled kernels are on disk as soon as they are there, in TOKAMAK_CACHE_DIR or ~/.cache/tokamak"


def _checked(what, max_fusions):
    count = integer(f"{what}: max_fusions", max_fusions)
    if count < 1:
        raise ValueError(f"{what}: max_fusions is {count}; legal are 1 and more")
    return count


class FusionCache:
    """The programs of this process. FusionCache.get() gives it."""

    _only: FusionCache | None = None

    @staticmethod
    def get(max_fusions: int = MOST_FUSIONS, selected_device: int | None = None,
            load_from_default_workspace: bool = True) -> FusionCache:
        """The cache. Raises tokamak.Error if there are more programs than max_fusions already; else the library keeps
        what live definitions use, and the 32 programs that were asked for last."""
        count = _checked("FusionCache.get", max_fusions)
        if _programs.program_count() > count:
            raise _tokamak.Error("The max fusions is set less than the number of fusions in the cache. "
                                 f"({count} and {_programs.program_count()})")
        if FusionCache._only is None:
            FusionCache._only = FusionCache()
        return FusionCache._only

    @staticmethod
    def reset() -> None:
        """Forgets programs: those of live definitions go with these."""
        _programs.forget_programs()
        gc.collect()  # definitions and their ops know one another

    def num_fusions(self) -> int:
        """How many programs there are: definitions that say the same share one, for each device."""
        return _programs.program_count()

    def stats(self) -> str:
        """How many programs there are, how often a definition asked for one, and how often it was there."""
        asked, found = _programs.lookups()
        share = 100 * found / asked if asked else 0.0
        return f"Total Fusions: {self.num_fusions()}\nLookups: {asked}\nCache Hits: {found} ({share:.1f} %)\n"

    def serialize(self, filename: str = "") -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError(f"FusionCache.serialize: there is nothing to write: {_ON_DISK}; `tokamak export` "
                                  "writes a program that needs no compiler")

    def deserialize(self, filename: str = "") -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError(f"FusionCache.deserialize: there is nothing to read: {_ON_DISK}; a folder of another "
                                  "machine of this kind may be copied there")

    def __repr__(self) -> str:
        return self.stats()


class LRUCache:
    """The fusions that were asked for last, at most so many. Thread safety: any threads may use it."""

    def __init__(self, max_fusions: int = MOST_FUSIONS) -> None:
        self._most = _checked("LRUCache", max_fusions)
        self._kept: collections.OrderedDict[Fusion, FusionExecutorCache] = collections.OrderedDict()
        self._hits = self._lookups = 0
        self._lock = threading.Lock()

    def cache_compile(self, fusion: Any) -> FusionExecutorCache:
        """What executes this fusion: of the first one that said the same, if it is kept."""
        key = Fusion(definition_of("LRUCache.cache_compile", fusion))
        with self._lock:
            self._lookups += 1
            self._hits += key in self._kept
            found = self._kept.setdefault(key, FusionExecutorCache(key))
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return found

    def num_fusions(self) -> int:
        """How many are kept."""
        with self._lock:
            return len(self._kept)

    def stats(self) -> str:
        """How many are kept, how often one was asked for, and how often it was there."""
        return f"Total Fusions: {self.num_fusions()}\nLookups: {self._lookups}\nCache Hits: {self._hits}\n"


class LruFusionCache:
    """A decorator of a function that makes a definition: gives the one that said the same before, if it is kept.

        @LruFusionCache(max_fusions=64)
        def make(): ...
    """

    def __init__(self, func: Callable[..., Any] | None = None, *, max_fusions: int = MOST_FUSIONS) -> None:
        if func is not None and not callable(func):
            raise TypeError(f"LruFusionCache: a function is legal, not {shown(func)}")
        self._function = func
        self.cache = LRUCache(max_fusions)
        if func is not None:
            functools.update_wrapper(self, func)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:
            self._function = args[0]
            functools.update_wrapper(self, args[0])
            return self
        return self.cache.cache_compile(self._function(*args, **kwargs))._definition

    def stats(self) -> str:
        """Those of its cache."""
        return self.cache.stats()

    def num_fusions(self) -> int:
        """Of its cache."""
        return self.cache.num_fusions()


def serialize() -> None:
    """Nothing is left to do: compiled kernels are on disk as soon as they are there."""


def enable_automatic_serialization() -> None:
    """Nothing is left to do: compiled kernels are on disk as soon as they are there."""


def disable_automatic_serialization() -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(f"disable_automatic_serialization: {_ON_DISK}; TOKAMAK_CACHE_DIR may name a folder that "
                              "goes with the process")
