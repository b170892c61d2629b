"""Elements that are repeated."""
import operator

from .._traced_array import TracedArray
from .._tracing import Number, current_trace
from .._types import DataType
from .creation import arange
from .elementwise import abs, clip, less, remainder, subtract, where
from .indexing import item_of, take
from .operands import array_of, axis_of, moved
from .shapes import broadcast_to, expand_dims, reshape


def _reflected(at, size):
    turn = 2 * size - 2 if size > 1 else 1
    return subtract(size - 1, abs(subtract(size - 1, remainder(at, turn))))


def _mirrored(at, size):
    at = remainder(at, 2 * size)
    return where(less(at, size), at, subtract(2 * size - 1, at))


_PLACES = {"edge": lambda at, size: clip(at, 0, size - 1), "reflect": _reflected, "symmetric": _mirrored,
           "wrap": remainder}


def _padded_by_its_own(x, pairs, place):
    """`place`: from where in an axis of a size an element comes that lies at some position, before or behind, too."""
    for axis, (before, after) in enumerate(pairs):
        size = x.shape[axis]
        if (before, after) == (0, 0):
            continue
        if size == 0:
            raise ValueError(f"pad: axis {axis} has no elements to repeat")
        x = take(x, place(arange(-before, size + after, dtype=DataType.Int), size), axis)
    return x


def pad(x, pad_width, mode="constant", constant_values=0):
    """Elements around: a pair of widths (before, after) for each axis, one pair for all, or a number. They are of one
    value, or by `mode` "edge", "reflect", "symmetric" and "wrap" the array's own."""
    x = array_of(current_trace("pad"), x)
    if mode != "constant" and mode not in _PLACES:
        raise NotImplementedError(f"pad: mode {mode!r} is not there; legal are 'constant', "
                                  f"{', '.join(map(repr, _PLACES))}")
    if isinstance(pad_width, (int, Number)):
        pad_width = (pad_width, pad_width)
    pairs = [tuple(each) for each in pad_width] if isinstance(pad_width[0], (tuple, list)) else [tuple(pad_width)]
    pairs = pairs * x.ndim if len(pairs) == 1 else pairs
    if len(pairs) != x.ndim or any(len(each) != 2 or each[0] < 0 or each[1] < 0 for each in pairs):
        raise ValueError(f"pad: {pad_width} are no widths of {x.ndim} axes")
    if mode != "constant":
        return _padded_by_its_own(x, pairs, _PLACES[mode])
    widths = [width for pair in reversed(pairs) for width in pair]
    return moved("pad", x, widths, constant_values)


def repeat(x, repeats, axis=None):
    """Each element so many times along an axis; a list has a number for each."""
    x = array_of(current_trace("repeat"), x)
    if isinstance(repeats, TracedArray):
        raise NotImplementedError("repeat: how often elements are repeated is known before a call: a number, or a list "
                                  "of these")
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = axis_of(axis, x.ndim)
    if not hasattr(type(repeats), "__index__"):
        if len(repeats) != x.shape[axis]:
            raise ValueError(f"repeat: {len(repeats)} numbers for {x.shape[axis]} elements")
        places = [i for i, count in enumerate(repeats) for _ in range(operator.index(count))]
        return take(x, places, axis) if places else item_of(x, (slice(None),) * axis + (slice(0, 0),))
    shape = list(x.shape)
    wide = broadcast_to(expand_dims(x, axis + 1), [*shape[:axis + 1], repeats, *shape[axis + 1:]])
    shape[axis] = shape[axis] * repeats
    return reshape(wide, shape)
