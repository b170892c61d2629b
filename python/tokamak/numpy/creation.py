"""New arrays, and arrays in other types."""
import math

from .._tracing import current_trace
from .._traced_array import TracedArray
from .._promotion import FLOATING, INTEGERS
from .._types import DataType, NUMPY_NAMES
from .elementwise import add, equal, greater_equal, less_equal, multiply, subtract, where
from .operands import any_array, array_of, dtype_from, operand_of, shape_of
from .shapes import broadcast_arrays, expand_dims, reshape, swapaxes


def full(shape, fill_value, dtype=None):
    """An array of one value."""
    trace = current_trace("full")
    kind = trace.kind_of(fill_value)
    dtype = dtype_from(dtype, {float: trace.promotion.floating, int: trace.promotion.integer}.get(kind, DataType.Bool))
    value = trace.as_type(fill_value, dtype)
    return trace.array(trace.definition.ops.full(list(shape_of(shape)), value, dtype), dtype)


def zeros(shape, dtype=None):
    """An array of zeros."""
    return full(shape, 0, dtype_from(dtype, current_trace("zeros").promotion.floating))


def ones(shape, dtype=None):
    """An array of ones."""
    return full(shape, 1, dtype_from(dtype, current_trace("ones").promotion.floating))


empty = zeros


def full_like(x, fill_value, dtype=None, *, shape=None):
    """An array of one value, in the shape and of the type of another one, or in another shape."""
    x = array_of(current_trace("full_like"), x)
    return full(x.shape if shape is None else shape, fill_value, dtype_from(dtype, x._dtype))


def zeros_like(x, dtype=None, *, shape=None):
    """Zeros in the shape and of the type of another array, or in another one."""
    return full_like(x, 0, dtype, shape=shape)


def ones_like(x, dtype=None, *, shape=None):
    """Ones in the shape and of the type of another array, or in another one."""
    return full_like(x, 1, dtype, shape=shape)


empty_like = zeros_like


def arange(start, stop=None, step=1, dtype=None):
    """start, start + step, ..., before stop."""
    trace = current_trace("arange")
    if stop is None:
        start, stop = 0, start
    is_floating = float in [trace.kind_of(each) for each in (start, stop, step)]
    dtype = dtype_from(dtype, trace.promotion.floating if is_floating else trace.promotion.integer)
    if is_floating:
        length = math.ceil((float(stop) - float(start)) / float(step))
        length = length if length > 0 else 0
    elif isinstance(start, int) and start == 0 and isinstance(step, int) and step == 1:
        length = stop if stop > 0 else 0
    else:
        length = (stop - start + step - (1 if step > 0 else -1)) // step
        length = length if length > 0 else 0
    steps = trace.array(trace.definition.ops.iota(length, 0, 1, DataType.Int), DataType.Int)
    if is_floating:
        return astype(add(multiply(astype(steps, DataType.Double), step), start), dtype)
    if not (isinstance(step, int) and step == 1):
        steps = multiply(steps, step)
    if not (isinstance(start, int) and start == 0):
        steps = add(steps, start)
    return astype(steps, dtype)


def linspace(start, stop, num, dtype=None, endpoint=True):
    """So many numbers at equal distances from start to stop."""
    trace = current_trace("linspace")
    dtype = dtype_from(dtype, trace.promotion.floating)
    steps = num - 1 if endpoint else num
    if num <= 1:
        return full((num,), start, dtype)
    places = astype(arange(num, dtype=DataType.Int), DataType.Double)
    spread = add(multiply(places, (stop - start) / steps), start)
    return astype(where(equal(places, steps), stop, spread) if endpoint else spread, dtype)


def eye(rows, columns=None, k=0, dtype=None):
    """Ones on a diagonal, and zeros."""
    columns = rows if columns is None else columns
    return astype(equal(_diagonals(rows, columns), k), dtype_from(dtype, current_trace("eye").promotion.floating))


def _diagonals(rows, columns):
    """The number of the diagonal of each element."""
    across, down = (arange(each, dtype=DataType.Int) for each in (columns, rows))
    return subtract(reshape(across, (1, -1)), reshape(down, (-1, 1)))


def _triangle(x, k, compare):
    x = array_of(current_trace("tril"), x)
    if x.ndim < 2:
        raise ValueError(f"tril and triu take an array with two axes or more, not {x.ndim}")
    return where(compare(_diagonals(x.shape[-2], x.shape[-1]), k), x, 0 if x._dtype is not DataType.Bool else False)


def tril(x, k=0):
    """The elements on and below a diagonal of the last two axes, and zeros."""
    return _triangle(x, k, less_equal)


def triu(x, k=0):
    """The elements on and above a diagonal of the last two axes, and zeros."""
    return _triangle(x, k, greater_equal)


def one_hot(x, classes, dtype=None):
    """A one at the place that each element names, along a new last axis, and zeros."""
    trace = current_trace("one_hot")
    hot = equal(expand_dims(x, -1), arange(classes, dtype=DataType.Int))
    return astype(hot, dtype_from(dtype, trace.promotion.floating))


def meshgrid(*arrays, indexing="xy"):
    """The coordinates of a grid along its axes."""
    trace = current_trace("meshgrid")
    arrays = [array_of(trace, each) for each in arrays]
    rank = len(arrays)
    grids = [reshape(each, [-1 if i == axis else 1 for i in range(rank)]) for axis, each in enumerate(arrays)]
    grids = broadcast_arrays(*grids)
    return [swapaxes(each, 0, 1) for each in grids] if indexing == "xy" and rank > 1 else grids


def asarray(x, dtype=None):
    """The array, or a number as an array without axes."""
    x = array_of(current_trace("asarray"), x)
    return x if dtype is None else astype(x, dtype)


def astype(x, dtype, copy=True):
    """The elements in another type."""
    trace = current_trace("astype")
    x = array_of(trace, x)
    dtype = dtype_from(dtype, x._dtype)
    if dtype is x._dtype:
        return x
    return trace.array(trace.rounded(x, dtype), dtype)


def result_type(*values):
    """The type in which arrays and numbers meet."""
    trace = current_trace("result_type")
    types = [each for each in values if isinstance(each, DataType)]
    operands = [operand_of(trace, each) for each in values if not isinstance(each, DataType)]
    if any_array(*operands):
        types.append(trace.dtype_of(operands))
    result = types[0]
    for each in types[1:]:
        result = trace.promotion.of_types(result, each)
    return result


class _FloatingInfo:
    def __init__(self, bits, eps, max, smallest_normal):
        self.bits, self.eps, self.max, self.min = bits, eps, max, -max
        self.smallest_normal = self.tiny = smallest_normal


_FINFO = {DataType.Double: (64, 2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022),
          DataType.Float: (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126),
          DataType.Half: (16, 2.0**-10, 65504.0, 2.0**-14),
          DataType.BFloat16: (16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126)}


class _IntegerInfo:
    def __init__(self, bits):
        self.bits, self.min, self.max = bits, -2**(bits - 1), 2**(bits - 1) - 1


def iinfo(dtype):
    """The range of an integer type."""
    dtype = dtype._dtype if isinstance(dtype, TracedArray) else dtype_from(dtype, None)
    if dtype not in INTEGERS:
        raise ValueError(f"{dtype} is no integer type")
    return _IntegerInfo(32 if dtype is DataType.Int32 else 64)


_KINDS = {"bool": (DataType.Bool,), "signed integer": INTEGERS, "unsigned integer": (), "integral": INTEGERS,
          "real floating": FLOATING, "complex floating": (), "numeric": (*INTEGERS, *FLOATING)}


def isdtype(dtype, kind):
    """Whether a type is of a kind: a type, one of the standard's words ("integral", ...), or a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str) and kind not in NUMPY_NAMES.values():
        if kind not in _KINDS:
            raise ValueError(f"isdtype: {kind!r} is no kind of types; legal are {', '.join(_KINDS)}")
        return dtype_from(dtype, None) in _KINDS[kind]
    return dtype_from(dtype, None) is dtype_from(kind, None)


def can_cast(start, to):
    """Whether the promotion of an array's type, or of a type, to another one is that one."""
    start = start._dtype if isinstance(start, TracedArray) else dtype_from(start, None)
    to = dtype_from(to, None)
    return current_trace("can_cast").promotion.of_types(start, to) is to


def finfo(dtype):
    """Range and precision of a floating type."""
    dtype = dtype._dtype if isinstance(dtype, TracedArray) else dtype_from(dtype, None)
    if dtype not in _FINFO:
        raise ValueError(f"{dtype} is no floating type")
    return _FloatingInfo(*_FINFO[dtype])
