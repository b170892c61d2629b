"""Records: the calls that made a definition, as Python that makes it again."""
import math

from ._arguments import plain, shown
from ._types import DataType
from ._values import Handle, Tensor


class Records:
    """The calls, outermost ones alone: what an op is made of is not written down."""

    def __init__(self):
        self._lines = []
        self._names = {}  # by id, of handles that `_kept` keeps
        self._kept = []
        self._counts = {"T": 0, "S": 0}
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
        self._lines.append(f"{self._results(result)}fd.{head}({', '.join(words)})")
        return result

    def values(self):
        """What the calls gave, in that order."""
        return list(self._kept)

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
            return self._names.get(id(value), repr(value))
        value = plain(value)
        if isinstance(value, DataType):
            return shown(value)
        if isinstance(value, float) and not math.isfinite(value):
            return f"float('{value}')"
        return shown(value)
