"""Functions that move elements."""
from .._tracing import Number, current_trace
from .operands import array_of, axes_of, axis_of, is_one, moved, product_of, shape_of


def reshape(x, shape, copy=None):
    """The elements in row-major order under another shape, in which one -1 stands for what is left."""
    trace = current_trace("reshape")
    x = array_of(trace, x)
    shape = list(shape_of(shape))
    unknown = [i for i, each in enumerate(shape) if isinstance(each, int) and each == -1]
    if len(unknown) > 1:
        raise ValueError(f"reshape: {shape} has several -1")
    known = product_of(each for i, each in enumerate(shape) if i not in unknown)
    if unknown:
        value, total = trace.value_of(known), trace.value_of(x.size)
        if value == 0 or total % value:
            raise ValueError(f"reshape: {total} elements do not divide into {value}")
        shape[unknown[0]] = x.size // known
    return moved("reshape", x, shape)


def permute_dims(x, axes):
    """With its axes in another order."""
    x = array_of(current_trace("permute_dims"), x)
    if len(axes) != x.ndim:
        raise ValueError(f"permute_dims: {len(axes)} axes for an array with {x.ndim}")
    axes = axes_of(tuple(axes), x.ndim)
    return moved("permute", x, axes) if axes != sorted(axes) else x


def matrix_transpose(x):
    """With its last two axes exchanged."""
    return swapaxes(x, -1, -2)


def swapaxes(x, first, second):
    """With two axes exchanged."""
    x = array_of(current_trace("swapaxes"), x)
    order = list(range(x.ndim))
    first, second = axis_of(first, x.ndim), axis_of(second, x.ndim)
    order[first], order[second] = second, first
    return permute_dims(x, order)


def moveaxis(x, source, destination):
    """With axes at other places; the others keep their order."""
    x = array_of(current_trace("moveaxis"), x)
    sources, places = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(sources) != len(places):
        raise ValueError(f"moveaxis: {len(sources)} axes for {len(places)} places")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources)):
        order.insert(place, axis)
    return permute_dims(x, order)


def expand_dims(x, axis=0):
    """With an axis of one element at a position, or several."""
    x = array_of(current_trace("expand_dims"), x)
    places = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = sorted(axes_of(tuple(places), x.ndim + len(places)))
    rank = x.ndim + len(places)
    return moved("broadcast", x, [i in places for i in range(rank)])


def squeeze(x, axis=None):
    """Without axes of one element: all of those by default."""
    x = array_of(current_trace("squeeze"), x)
    if axis is None:
        axes = [i for i, size in enumerate(x.shape) if size == 1]
    else:
        axes = axes_of(axis, x.ndim)
    for each in axes:
        if x.shape[each] != 1:
            raise ValueError(f"squeeze: axis {each} has {x.shape[each]} elements")
    if any(isinstance(x.shape[each], Number) for each in axes):  # in this call alone
        return moved("reshape", x, [size for axis, size in enumerate(x.shape) if axis not in axes])
    return moved("squeeze", x, axes) if axes else x


def broadcast_to(x, shape):
    """The array as one of this shape, in which axes of one element are repeated."""
    x = array_of(current_trace("broadcast_to"), x)
    shape = shape_of(shape)
    if len(shape) < x.ndim:
        raise ValueError(f"broadcast_to: {len(shape)} axes for an array with {x.ndim}")
    if len(shape) > x.ndim:
        x = expand_dims(x, tuple(range(len(shape) - x.ndim)))
    for axis, (old, new) in enumerate(zip(x.shape, shape)):
        if not is_one(old) and old != new:
            raise ValueError(f"broadcast_to: axis {axis} has {old} elements, not {new}")
    if all(isinstance(old, int) and isinstance(new, int) and old == new for old, new in zip(x.shape, shape)):
        return x
    return moved("expand", x, list(shape))


def broadcast_shapes(*shapes):
    """The shape in which arrays of these shapes meet."""
    rank = max((len(each) for each in shapes), default=0)
    result = []
    for axis in range(rank):
        sizes = [each[axis - rank + len(each)] for each in shapes if axis - rank + len(each) >= 0]
        longer = [each for each in sizes if not is_one(each)]
        for each in longer[1:]:
            if each != longer[0]:
                raise ValueError(f"axis {axis} has {longer[0]} elements in one array, {each} in another")
        result.append(longer[0] if longer else 1)
    return tuple(result)


def broadcast_arrays(*arrays):
    """The arrays in the shape in which they meet."""
    trace = current_trace("broadcast_arrays")
    arrays = [array_of(trace, each) for each in arrays]
    shape = broadcast_shapes(*[each.shape for each in arrays])
    return [broadcast_to(each, shape) for each in arrays]


def concat(arrays, axis=0):
    """Arrays one after the other along an axis; without one, their elements in row-major order."""
    trace = current_trace("concat")
    arrays = [array_of(trace, each) for each in arrays]
    if not arrays:
        raise ValueError("concat: no arrays")
    if axis is None:
        arrays, axis = [reshape(each, (-1,)) for each in arrays], 0
    rank = arrays[0].ndim
    axis = axis_of(axis, rank)
    for each in arrays:
        if each.ndim != rank:
            raise ValueError(f"concat: an array with {each.ndim} axes beside one with {rank}")
    shapes = [each.shape[:axis] + each.shape[axis + 1:] for each in arrays]
    for i in range(rank - 1):
        for each in shapes:
            if each[i] != shapes[0][i]:
                raise ValueError(f"concat: axis {i + (i >= axis)} has {shapes[0][i]} elements in one array, {each[i]} "
                                 "in another")
    dtype = trace.dtype_of(arrays)
    if len(arrays) == 1:
        return arrays[0]
    return trace.array(trace.definition.ops.cat([trace.as_type(each, dtype) for each in arrays], axis), dtype)


concatenate = concat


def stack(arrays, axis=0):
    """Arrays of one shape side by side along a new axis."""
    trace = current_trace("stack")
    arrays = [array_of(trace, each) for each in arrays]
    if not arrays:
        raise ValueError("stack: no arrays")
    axis = axis_of(axis, arrays[0].ndim + 1)
    return concat([expand_dims(each, axis) for each in arrays], axis)


def flip(x, axis=None):
    """The elements in reverse order along axes, all by default."""
    x = array_of(current_trace("flip"), x)
    axes = axes_of(axis, x.ndim)
    return moved("flip", x, axes=axes) if axes else x


def tile(x, repetitions):
    """The array so many times along each axis, side by side."""
    x = array_of(current_trace("tile"), x)
    repetitions = shape_of(repetitions)
    rank = max((x.ndim, len(repetitions)), default=0)
    repetitions = (1,) * (rank - len(repetitions)) + tuple(repetitions)
    if rank > x.ndim:
        x = expand_dims(x, tuple(range(rank - x.ndim)))
    shape = x.shape
    x = expand_dims(x, tuple(range(0, 2 * rank, 2)))
    wide = [each for pair in zip(repetitions, shape) for each in pair]
    return reshape(broadcast_to(x, wide), [count * size for count, size in zip(repetitions, shape)])


def transpose(x, axes=None):
    """With its axes in another order, the reverse one by default."""
    x = array_of(current_trace("transpose"), x)
    return permute_dims(x, tuple(reversed(range(x.ndim))) if axes is None else axes)


def ravel(x):
    """The elements in row-major order along one axis."""
    return reshape(x, (-1,))


def shape(x):
    """The sizes of the axes."""
    return array_of(current_trace("shape"), x).shape


def ndim(x):
    """The number of axes."""
    return array_of(current_trace("ndim"), x).ndim


def size(x, axis=None):
    """The number of elements, or of those along an axis."""
    x = array_of(current_trace("size"), x)
    return x.size if axis is None else x.shape[axis_of(axis, x.ndim)]
