"""Arrays joined, cut and turned, and their diagonals."""
import operator

from .._tracing import Number, current_trace
from .._types import DataType
from .creation import _diagonals, arange, astype, eye, zeros
from .elementwise import add, equal, less_equal, multiply, where
from .indexing import split, take
from .operands import array_of, axes_of, axis_of, dtype_from, product_of
from .reductions import sum
from .shapes import concat, expand_dims, flip, moveaxis, permute_dims, reshape, swapaxes


def atleast_1d(*arrays):
    """The arrays, with one axis at least; one array as itself."""
    return _each(arrays, lambda x: reshape(x, (1,)) if x.ndim == 0 else x)


def atleast_2d(*arrays):
    """The arrays, with two axes at least: vectors become rows."""
    return _each(arrays, lambda x: expand_dims(x, tuple(range(2 - x.ndim))) if x.ndim < 2 else x)


def atleast_3d(*arrays):
    """The arrays, with three axes at least: a matrix gets a last one, a vector a first and a last one."""
    places = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _each(arrays, lambda x: expand_dims(x, places[x.ndim]) if x.ndim < 3 else x)


def _each(arrays, function):
    trace = current_trace("a function of arrays")
    results = [function(array_of(trace, each)) for each in arrays]
    return results[0] if len(results) == 1 else results


def _listed(arrays, least):
    results = least(*arrays)
    return results if isinstance(results, list) else [results]


def vstack(arrays):
    """Rows one below the other."""
    return concat(_listed(arrays, atleast_2d), 0)


row_stack = vstack


def hstack(arrays):
    """Columns side by side; vectors one after the other."""
    arrays = _listed(arrays, atleast_1d)
    return concat(arrays, 0 if arrays[0].ndim == 1 else 1)


def dstack(arrays):
    """Side by side along the third axis."""
    return concat(_listed(arrays, atleast_3d), 2)


def column_stack(arrays):
    """Vectors as the columns of a matrix, and matrices beside them."""
    trace = current_trace("column_stack")
    arrays = [array_of(trace, each) for each in arrays]
    return concat([reshape(each, (-1, 1)) if each.ndim < 2 else each for each in arrays], 1)


def append(x, values, axis=None):
    """The values behind x along an axis; without one, behind its elements in row-major order."""
    return concat([x, values], axis)


def array_split(x, indices_or_sections, axis=0):
    """Parts along an axis, as split() has them, but so many of lengths that may differ by one."""
    x = array_of(current_trace("array_split"), x)
    if not isinstance(indices_or_sections, (int, Number)):
        return split(x, indices_or_sections, axis)
    size, sections = operator.index(x.shape[axis_of(axis, x.ndim)]), operator.index(indices_or_sections)
    if sections < 1:
        raise ValueError(f"array_split: {sections} parts; legal are 1 and more")
    short, longer = divmod(size, sections)
    return split(x, [i * short + min(i, longer) for i in range(1, sections)], axis)


def hsplit(x, indices_or_sections):
    """Parts along the second axis, of a vector along its only one."""
    x = array_of(current_trace("hsplit"), x)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(x, indices_or_sections):
    """Parts along the first axis."""
    return split(x, indices_or_sections, 0)


def dsplit(x, indices_or_sections):
    """Parts along the third axis."""
    return split(x, indices_or_sections, 2)


def flipud(x):
    """The rows in reverse order."""
    return flip(x, 0)


def fliplr(x):
    """The columns in reverse order."""
    return flip(x, 1)


def rot90(x, k=1, axes=(0, 1)):
    """Turned by so many right angles, from the first of two axes towards the second."""
    x = array_of(current_trace("rot90"), x)
    first, second = axes_of(tuple(axes), x.ndim)
    turns = operator.index(k) % 4
    if turns == 2:
        return flip(x, (first, second))
    if turns % 2 == 0:
        return x
    return swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)


def rollaxis(x, axis, start=0):
    """With an axis before another one."""
    x = array_of(current_trace("rollaxis"), x)
    axis = axis_of(axis, x.ndim)
    start = axis_of(start, x.ndim + 1)
    return moveaxis(x, axis, start - 1 if axis < start else start)


# --- diagonals ---


def diagonal(x, offset=0, axis1=0, axis2=1):
    """The elements on a diagonal of two axes, along a new last axis."""
    x = array_of(current_trace("diagonal"), x)
    if x.ndim < 2:
        raise ValueError(f"diagonal takes an array with two axes or more, not {x.ndim}")
    first, second = axes_of((axis1, axis2), x.ndim)
    others = [i for i in range(x.ndim) if i not in (first, second)]
    x = permute_dims(x, [*others, first, second])
    rows, columns = x.shape[-2:]
    row, column = (0, offset) if offset >= 0 else (-offset, 0)
    length = rows - row if rows - row < columns - column else columns - column
    length = length if length > 0 else 0
    at = arange(length, dtype=DataType.Int)
    index = add(multiply(add(at, row), columns), add(at, column))
    return take(reshape(x, [*x.shape[:-2], product_of((rows, columns))]), index, -1)


def trace(x, offset=0, axis1=0, axis2=1, dtype=None):
    """The sum of a diagonal of two axes."""
    return sum(diagonal(x, offset, axis1, axis2), -1, dtype)


def diag(v, k=0):
    """A diagonal of a matrix; of a vector the matrix that has it, and zeros."""
    v = array_of(current_trace("diag"), v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError(f"diag takes a vector or a matrix, not an array with {v.ndim} axes")
    size = v.shape[0] + abs(k)
    row = concat([_zeros_of(v, k), v]) if k > 0 else concat([v, _zeros_of(v, -k)]) if k < 0 else v
    return where(equal(_diagonals(size, size), k), row, False if v._dtype is DataType.Bool else 0)


def diagflat(v, k=0):
    """The matrix that has all elements on a diagonal, and zeros."""
    return diag(reshape(v, (-1,)), k)


def _zeros_of(x, count):
    return zeros((count,), x._dtype)


def identity(n, dtype=None):
    """The square matrix with ones on its diagonal, and zeros."""
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=None):
    """Ones on and below a diagonal, and zeros."""
    below = less_equal(_diagonals(N, N if M is None else M), k)
    return astype(below, dtype_from(dtype, current_trace("tri").promotion.floating))
