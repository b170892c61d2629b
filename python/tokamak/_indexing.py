"""x[key], of traced arrays and of tensors of a definition: what a key says of each axis."""
import operator

from ._arguments import plain, shown
from ._values import Scalar


def keys_of_axes(keys, rank):
    """A key for each axis, in their order, and the None between them: `...` stands for whole axes. Raises IndexError
    for too many."""
    if sum(each is Ellipsis for each in keys) > 1:
        raise IndexError("an index has one ... at most")
    taken = sum(each is not None and each is not Ellipsis for each in keys)
    if taken > rank:
        raise IndexError(f"{taken} indices for an array with {rank} axes")
    at = next((i for i, each in enumerate(keys) if each is Ellipsis), len(keys))
    return [*keys[:at], *[slice(None)] * (rank - taken), *keys[at + 1:]]


def indexed(x, keys, add_axis, cut, pick):
    """The functions, each of x, an axis and but for the first a key, one after the other."""
    axis = 0
    for each in keys:
        if each is None:
            x, axis = add_axis(x, axis), axis + 1
        elif isinstance(each, slice):
            x, axis = cut(x, axis, each), axis + 1
        else:
            x = pick(x, axis, each)
    return x


def index_from_start(index, size):
    """An index of an axis of this size, counted from its first element. Raises IndexError for one that is not there."""
    if not -size <= index < size:
        raise IndexError(f"index {index} of an axis with {size} elements")
    return index + size if index < 0 else index


def step_of(part):
    """The step of a slice. Raises ValueError for 0."""
    step = 1 if part.step is None else operator.index(part.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    return step


def bound(position, size, fallback, least=0):
    """A start or an end of a slice as Python counts it: between 0 and the size, or, for steps backwards, one less."""
    if position is None:
        return fallback
    if not isinstance(position, Scalar):
        position = operator.index(position)
    if position < 0:
        position = position + size
        return position if position >= 0 else least
    most = size + least
    return position if position <= most else most


def range_of(part, size):
    """Where a slice with steps forwards begins and ends."""
    start, stop = bound(part.start, size, 0), bound(part.stop, size, size)
    return start, start if stop < start else stop


# --- tensors of a definition, whose sizes may be symbols that nobody compares ---


def item_of_tensor(x, key):
    """x[key]: integers, slices with steps forwards, None and ... ."""
    keys = [_legal(plain(each)) for each in (key if isinstance(key, tuple) else (key,))]
    return indexed(x, keys_of_axes(keys, x.ndim), _with_axis, _cut, _picked)


def _legal(key):
    """Raises TypeError for what is no key."""
    parts = (key.start, key.stop, key.step) if isinstance(key, slice) else (key,)
    for each in map(plain, parts):
        is_index = isinstance(each, Scalar) or hasattr(type(each), "__index__") and not isinstance(each, bool)
        if each is not None and not is_index and not (each is Ellipsis and each is key):
            raise TypeError(f"an index of a tensor is an integer, a slice of integers, None or ..., not {shown(each)}; "
                            "ops.index_select takes a tensor of indices")
    if isinstance(key, slice):
        if isinstance(key.step, Scalar) or step_of(key) < 1:
            raise ValueError(f"a slice of a tensor has a step of 1 and more, a constant, not {shown(key.step)}; "
                             "ops.flip reverses an axis")
        return slice(plain(key.start), plain(key.stop), plain(key.step))
    return key


def _with_axis(x, axis):
    return x._definition.ops.broadcast(x, [i == axis for i in range(x.ndim + 1)])


def _picked(x, axis, index):
    size = _known_size(x, axis)
    if not isinstance(index, Scalar):
        index = operator.index(index)
        if size is not None:
            index = index_from_start(index, size)
    return x._definition.ops.select(x, index, axis)


def _cut(x, axis, part):
    step = step_of(part)
    if part.start is None and part.stop is None and step == 1:
        return x
    sizes = [_known_size(x, i) for i in range(x.ndim)]
    start, stop = _range(part, sizes[axis])
    stops = [x.size(i) if size is None and (i != axis or stop is None) else size for i, size in enumerate(sizes)]
    starts, steps = [0] * x.ndim, [1] * x.ndim
    starts[axis], steps[axis] = start, step
    if stop is not None:
        stops[axis] = stop
    return x._definition.ops.slice(x, starts, stops, steps)


def _range(part, size):
    """Where a slice begins and ends. `size`: None for a symbol, whose calls ops.slice checks; the end is None, too,
    where it is the axis' own."""
    bounds = [each if each is None or isinstance(each, Scalar) else operator.index(each)
              for each in (part.start, part.stop)]
    if size is not None and not any(isinstance(each, Scalar) for each in bounds):
        return range_of(part, size)
    start, stop = 0 if bounds[0] is None else bounds[0], size if bounds[1] is None else bounds[1]
    if type(start) is type(stop) is int and (start < 0) == (stop < 0):
        stop = max(start, stop)
    return start, stop


def _known_size(x, axis):
    """None for a symbol."""
    size = x._definition._native.size(x._value, axis).constant
    return None if size is None else int(size)
