"""x[key], and elements by their numbers."""
import operator

from .._indexing import bound, index_from_start, indexed, keys_of_axes, range_of, step_of
from .._promotion import INTEGERS
from .._traced_array import TracedArray, is_array
from .._tracing import Number, current_trace
from .._types import DataType
from .creation import astype
from .elementwise import add, clip, less, multiply, remainder, where
from .operands import array_of, axis_of, moved, product_of
from .shapes import broadcast_arrays, concat, expand_dims, permute_dims, reshape, squeeze


def _select(x, axis, index):
    return moved("select", x, index_from_start(index, x.shape[axis]), axis)


def _sliced(x, axis, part):
    size = x.shape[axis]
    step = step_of(part)
    if part == slice(None) or (part.start is None and part.stop is None and step == 1):
        return x
    if step < 0:
        first, last = bound(part.start, size, size - 1, -1), bound(part.stop, size, -1, -1)
        begin, end = size - 1 - first, size - 1 - last
        return _sliced(moved("flip", x, axes=[axis]), axis, slice(begin, end if end > begin else begin, -step))
    start, stop = range_of(part, size)
    starts, stops, steps = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], stops[axis], steps[axis] = start, stop, step
    return moved("slice", x, starts, stops, steps)


def _without_mask(key):
    """An array of truths that is known already as arrays of integers; other keys as they are."""
    if isinstance(key, TracedArray) or not is_array(key) or not key.shape or "bool" not in str(key.dtype):
        return [key]
    import numpy

    return numpy.nonzero(numpy.asarray(key))


def item_of(x, key):
    """x[key]: numbers, slices, None, ..., and arrays of integers."""
    trace = current_trace("indexing")
    keys = [part for each in (key if isinstance(key, tuple) else [key]) for part in _without_mask(each)]
    keys = [array_of(trace, each) if is_array(each) or isinstance(each, list) else each for each in keys]
    keys = keys_of_axes(keys, x.ndim)
    arrays = [i for i, each in enumerate(keys) if isinstance(each, TracedArray) and each.ndim]
    if arrays:
        return _gathered(x, keys, arrays)
    return indexed(x, keys, expand_dims, _sliced, _at)


def _at(x, axis, index):
    if isinstance(index, TracedArray):  # without axes
        return squeeze(take(x, reshape(index, (1,)), axis), axis)
    if isinstance(index, (bool, float)):
        raise IndexError(f"an index is an integer, a slice, None, ... or an array of integers, not {index!r}")
    return _select(x, axis, index if isinstance(index, Number) else operator.index(index))


def _gathered(x, keys, arrays):
    """With arrays of integers for some axes, which stand side by side."""
    if any(keys[i]._dtype not in INTEGERS for i in arrays):
        raise NotImplementedError("an array as an index has integers: how many elements a mask leaves is not known "
                                  "before a call; where() chooses between values")
    indices = broadcast_arrays(*[keys[i] for i in arrays]) if len(arrays) > 1 else [keys[arrays[0]]]
    others = [slice(None) if i in arrays else each for i, each in enumerate(keys)]
    x = item_of(x, tuple(others))
    axes = [sum(each is None or isinstance(each, slice) for each in others[:i]) for i in arrays]
    axis = axes[0]
    if not _are_neighbours(keys):
        x = permute_dims(x, axes + [each for each in range(x.ndim) if each not in axes])
        axis = 0
    sizes = x.shape[axis:axis + len(arrays)]
    linear = _counted(indices[0], sizes[0])
    for index, size in zip(indices[1:], sizes[1:]):
        linear = add(multiply(linear, size), _counted(index, size))
    merged = reshape(x, [*x.shape[:axis], product_of(sizes), *x.shape[axis + len(arrays):]])
    return _taken_of(merged, linear, axis)


def _are_neighbours(keys):
    """Whether the indices, arrays and numbers alike, stand side by side; else their axes come first, as in NumPy."""
    indices = [i for i, each in enumerate(keys) if each is not None and not isinstance(each, slice)]
    return indices == list(range(indices[0], indices[-1] + 1))


def _counted(index, size):
    """Negative indices count from the end."""
    index = astype(index, DataType.Int)
    return where(less(index, 0), add(index, size), index)


def _taken_of(x, index, axis):
    flat = index if index.ndim == 1 else reshape(index, (-1,))
    picked = moved("index_select", x, flat._tensor, axis)
    if index.ndim == 1:
        return picked
    return reshape(picked, [*x.shape[:axis], *index.shape, *x.shape[axis + 1:]])


def take(x, indices, axis=None, mode=None):
    """The slices of an axis at these positions; of all elements in row-major order by default. By `mode` positions
    that are not there "wrap" around, or are those of the ends ("clip"); else they are the caller's fault."""
    trace = current_trace("take")
    x, indices = array_of(trace, x), array_of(trace, indices)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = axis_of(axis, x.ndim)
    if mode not in (None, "raise", "wrap", "clip"):
        raise ValueError(f"take: mode {mode!r}; legal are 'raise', 'wrap' and 'clip'")
    if mode == "wrap":
        return _taken_of(x, remainder(astype(indices, DataType.Int), x.shape[axis]), axis)
    if mode == "clip":
        return _taken_of(x, clip(astype(indices, DataType.Int), 0, x.shape[axis] - 1), axis)
    return _taken_of(x, _counted(indices, x.shape[axis]), axis)


def take_along_axis(x, indices, axis=-1):
    """out[..i..] = x[..indices[..i..]..] along an axis."""
    trace = current_trace("take_along_axis")
    x, indices = array_of(trace, x), array_of(trace, indices)
    axis = axis_of(axis, x.ndim)
    index = _counted(indices, x.shape[axis])
    return trace.array(trace.definition.ops.take_along_axis(x._tensor, index._tensor, axis), x._dtype)


def unstack(x, axis=0):
    """The slices along an axis, whose length has to be known."""
    x = array_of(current_trace("unstack"), x)
    axis = axis_of(axis, x.ndim)
    return tuple(_select(x, axis, i) for i in range(operator.index(x.shape[axis])))


def split(x, indices_or_sections, axis=0):
    """Parts along an axis: so many of one length, or those that begin at these positions."""
    x = array_of(current_trace("split"), x)
    axis = axis_of(axis, x.ndim)
    size = x.shape[axis]
    if isinstance(indices_or_sections, (int, Number)):
        sections = operator.index(indices_or_sections)
        if size % sections != 0:
            raise ValueError(f"split: {size} elements do not divide into {sections} parts")
        starts = [i * (size // sections) for i in range(sections)]
    else:
        starts = [0, *indices_or_sections]
    whole = (slice(None),) * axis
    return [item_of(x, (*whole, slice(start, stop))) for start, stop in zip(starts, [*starts[1:], None])]


def roll(x, shift, axis=None):
    """The elements moved along axes; those that leave at one end come back at the other."""
    x = array_of(current_trace("roll"), x)
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, 0), x.shape)
    axes = [axis_of(each, x.ndim) for each in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    for each, by in zip(axes, shifts):
        size = x.shape[each]
        if size == 0:
            continue
        start = (-by) % size if isinstance(size, int) else size - by % size if by % size != 0 else 0
        whole = (slice(None),) * each
        if not (isinstance(start, int) and start == 0):
            x = concat([item_of(x, (*whole, slice(start, None))), item_of(x, (*whole, slice(None, start)))], each)
    return x
