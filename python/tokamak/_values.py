"""The values of a definition: tensors, numbers and lists of numbers."""
from __future__ import annotations

from types import EllipsisType
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, Union, overload

from ._arguments import integer, plain
from ._types import DataType

if TYPE_CHECKING:
    from .definition import FusionDefinition


class Handle:
    """What Tensor and Scalar share: operators, each an op of the definition."""

    __slots__ = ("_definition", "_value")
    __array_ufunc__ = None  # so that NumPy leaves operators to what is here, which refuses arrays

    def __init__(self, definition: FusionDefinition, value: Any) -> None:
        self._definition = definition
        self._value = value

    @property
    def dtype(self) -> DataType:
        """The type of the elements."""
        return DataType(self._value.dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._value.ndim

    def __bool__(self) -> bool:
        raise TypeError("a value of a definition has no truth: it is computed later")

    __hash__ = object.__hash__


class Tensor(Handle):
    """A tensor of a definition."""

    __slots__ = ()

    def __repr__(self):
        return f"Tensor({self._value})"

    def size(self, dim: SupportsIndex) -> Scalar:
        """The size of an axis, a scalar."""
        return self._definition.ops.size(self, dim)

    def shape(self) -> Vector:
        """The sizes of all axes, a Vector."""
        return self._definition.ops.shape(self)

    def __getitem__(self, key: Key | tuple[Key, ...]) -> Tensor:
        """The elements at integers, in slices with steps of 1 and more, along new axes (None) and the rest of the axes
        (...): ops.select, ops.slice and ops.broadcast. Negative integers count from the end; scalars do not.

        Of an axis whose size is known, slices end where it ends, and an integer that is not there raises IndexError.
        One whose size is a symbol has all that a key names, or the call raises tokamak.BindError. Raises IndexError for
        too many keys, TypeError for others, and ValueError for a step below 1."""
        from ._indexing import item_of_tensor

        return item_of_tensor(self, key)

    __iter__ = __contains__ = None  # type: ignore[assignment]  # indices of a symbol's axis have no end

    if TYPE_CHECKING:  # operators, which are made below

        def __add__(self, other: Value) -> Tensor: ...

        def __neg__(self) -> Tensor: ...

        __sub__ = __mul__ = __truediv__ = __mod__ = __pow__ = __and__ = __or__ = __xor__ = __lshift__ = __add__
        __rshift__ = __lt__ = __le__ = __gt__ = __ge__ = __add__
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmod__ = __rpow__ = __rand__ = __ror__ = __rxor__ = __add__
        __rlshift__ = __rrshift__ = __add__
        __eq__ = __ne__ = __add__  # type: ignore[assignment]
        __abs__ = __invert__ = __neg__


class Scalar(Handle):
    """A number of a definition: an input, a constant or the size of an axis."""

    __slots__ = ()

    def __repr__(self):
        return f"Scalar({self._value})"

    if TYPE_CHECKING:

        @overload
        def __add__(self, other: Tensor) -> Tensor: ...

        @overload
        def __add__(self, other: ScalarOrNumber) -> Scalar: ...

        def __add__(self, other: Any) -> Any: ...

        def __neg__(self) -> Scalar: ...

        __sub__ = __mul__ = __truediv__ = __mod__ = __pow__ = __and__ = __or__ = __xor__ = __lshift__ = __add__
        __rshift__ = __lt__ = __le__ = __gt__ = __ge__ = __add__
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmod__ = __rpow__ = __rand__ = __ror__ = __rxor__ = __add__
        __rlshift__ = __rrshift__ = __add__
        __eq__ = __ne__ = __add__  # type: ignore[assignment]
        __abs__ = __invert__ = __neg__


# What arguments may be. (Truths, integers and NumPy's numbers are these, too.)
Number = Union[float, SupportsIndex]
ScalarOrNumber = Union[Scalar, Number]
Value = Union[Tensor, ScalarOrNumber]
Size = Union[Scalar, SupportsIndex]
Key = Union[Size, slice, EllipsisType, None]  # of an axis, in x[...]
AnyValue = TypeVar("AnyValue", Tensor, Scalar)  # of what gives the kind that it takes


class Vector(list["Scalar | int"]):
    """Scalars and integers, as a shape has them."""

    @property
    def size(self) -> int:
        """How many."""
        return len(self)

    def at(self, index: SupportsIndex) -> Scalar | int:
        """One of them. Raises IndexError for one that is not there."""
        return self[integer("ops.at: an index", index)]


def _binary(op, is_reflected=False):
    def call(self, other):
        other = plain(other)
        if not isinstance(other, (Handle, bool, int, float)):
            return NotImplemented
        operands = [other, self] if is_reflected else [self, other]
        name = self._definition._division if op == "truediv" else op
        return getattr(self._definition.ops, name)(*operands)

    return call


def _unary(op):
    def call(self):
        return getattr(self._definition.ops, op)(self)

    return call


def _invert(self):
    """Not, of truths; all bits the other way, of integers."""
    ops = self._definition.ops
    return ops.logical_not(self) if self.dtype is DataType.Bool else ops.bitwise_not(self)


for _name, _op in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "mod": "mod", "pow": "pow",
                   "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
                   "rshift": "bitwise_right_shift"}.items():
    setattr(Handle, f"__{_name}__", _binary(_op))
    setattr(Handle, f"__r{_name}__", _binary(_op, is_reflected=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Handle, f"__{_name}__", _binary(_name))
Handle.__invert__ = _invert
for _name in ("neg", "abs"):
    setattr(Handle, f"__{_name}__", _unary(_name))
