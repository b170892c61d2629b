"""Records: the calls that made a definition, as Python that makes it again."""
import enum
import keyword
import math
import re
from collections.abc import Mapping

from ._arguments import plain, shown
from ._types import DataType
from ._values import Handle, Tensor


class Records:
    """The calls, outermost ones alone: what an op is made of is not written down."""

    def __init__(self, names_of=None):
        """`names_of`: other records, whose names are these' too."""
        self._lines = []
        self._names = {} if names_of is None else names_of._names  # by id, of handles that `_kept` keeps
        self._kept = [] if names_of is None else names_of._kept
        self._names_of_values = {} if names_of is None else names_of._names_of_values  # that several handles may have
        self._handles_of_values = {} if names_of is None else names_of._handles_of_values  # the first of each
        self._counts = {"T": 0, "S": 0} if names_of is None else names_of._counts
        self._depth = 0

    def call(self, head, arguments, compute):
        """compute(), written down as `head(arguments)`; `arguments` is a dictionary whose positional ones have numbers
        for names. What raises is not written down."""
        if self._depth > 0:
            return compute()
        words = [self._text(value) if isinstance(name, int) else f"{name}={self._text(value)}"
                 for name, value in arguments.items()]
        self._depth = 1
        try:
            result = compute()
        finally:
            self._depth = 0
        is_known = isinstance(result, list) and all(id(each) in self._names for each in result)
        if not is_known:  # it would give names a second time
            self._lines.append(f"{self._results(result)}fd.{head}({', '.join(words)})")
        return result

    def handle(self, value):
        """What a call gave for this value, if it did."""
        return self._handles_of_values.get(value.identity)

    def values(self):
        """What the calls gave, in that order."""
        return list(self._kept)

    def lines(self):
        """The calls, a line each."""
        return list(self._lines)

    def text(self, name):
        """A function that makes the definition again."""
        lines = self._lines or ["pass"]
        return "\n".join([f"def {name}(fd: FusionDefinition) -> None:", *(f"    {line}" for line in lines)])

    def _results(self, result):
        if result is None:
            return ""
        if isinstance(result, Handle):
            return f"{self._name(result)} = "
        names = [self._name(each) for each in result]
        return "" if not names else f"{names[0]}, = " if len(names) == 1 else f"{', '.join(names)} = "

    def _name(self, handle):
        if id(handle) not in self._names:
            letter = "T" if isinstance(handle, Tensor) else "S"
            self._names[id(handle)] = f"{letter}{self._counts[letter]}"
            self._counts[letter] += 1
            self._kept.append(handle)
            self._names_of_values.setdefault(handle._value.identity, self._names[id(handle)])
            self._handles_of_values.setdefault(handle._value.identity, handle)
        return self._names[id(handle)]

    def _text(self, value):
        value = plain(value)
        if not isinstance(value, (list, tuple)):
            return self._word(value)
        if any(isinstance(each, (list, tuple)) for each in value):
            raise TypeError("a list of lists is no argument; legal are lists of tensors, scalars and numbers")
        return f"[{', '.join(map(self._word, value))}]"

    def _word(self, value):
        if isinstance(value, Handle):
            name = self._names.get(id(value))
            return self._names_of_values.get(value._value.identity, repr(value)) if name is None else name
        value = plain(value)
        if isinstance(value, enum.Enum):
            kind = type(value).__name__
            return f"getattr({kind}, {value.name!r})" if keyword.iskeyword(value.name) else f"{kind}.{value.name}"
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{self._word(key)}: {self._word(each)}' for key, each in value.items())}}}"
        if isinstance(value, float) and not math.isfinite(value):
            return f"float('{value}')"
        return shown(value)


class ScheduleRecords(Records):
    """The calls of fd.sched, with the names of a definition's records."""

    def command(self, head, arguments, compute):
        """call(), with arguments that are read once as lists."""
        return self.call(f"sched.{head}", {name: _listed(each) for name, each in arguments.items()}, compute)

    def add(self, *lines):
        """Lines as they are."""
        self._lines.extend(lines)

    def forget(self):
        """As if there had been no calls."""
        self._lines.clear()

    def names(self):
        """The names that the lines need besides fd."""
        return sorted(set(re.findall(r"\b(ParallelType|MemoryType|LoadStoreOpType|CacheOp|SchedulerType|DeviceMesh)\b",
                                     "\n".join(self._lines))))


def _listed(value):
    """What a call would read once, or in no order, as a list."""
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    return list(value) if hasattr(type(value), "__next__") else value
