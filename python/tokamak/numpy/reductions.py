"""Functions that take axes away."""
import math

from .._promotion import FLOATING, INTEGERS
from .._types import DataType
from .._tracing import current_trace
from .creation import arange, astype, iinfo
from .elementwise import add, divide, equal, isnan, logical_or, maximum, minimum, multiply, sqrt, to_truth, where
from .operands import array_of, axes_of, axis_of, dtype_from, product_of
from .shapes import broadcast_to, reshape


_NEUTRAL = {"sum": 0, "prod": 1, "max": -math.inf, "min": math.inf}
_PAIRS = {"sum": add, "prod": multiply, "max": maximum, "min": minimum}


def _reduced(op, x, axis, keepdims, dtype=None, initial=None, mask=None):
    """`initial`: a number that takes part. `mask`: of the elements that do; None for all."""
    trace = current_trace(op)
    x = array_of(trace, x)
    dtype = x._dtype if dtype is None else dtype
    if mask is not None:
        x = where(mask, astype(x, dtype), _neutral(op, dtype))
    axes = axes_of(axis, x.ndim)
    value = astype(x, dtype)
    if axes:
        tensor = getattr(trace.definition.ops, op)(trace.as_type(x, dtype), axes, keepdims)
        value = trace.array(tensor, dtype)
    return value if initial is None else astype(_PAIRS[op](value, initial), dtype)


def _neutral(op, dtype):
    """What changes no result of an op."""
    value = _NEUTRAL[op]
    if math.isinf(value) and dtype is DataType.Bool:
        return value > 0
    if math.isinf(value) and dtype in INTEGERS:
        return iinfo(dtype).min if value < 0 else iinfo(dtype).max
    return bool(value) if dtype is DataType.Bool else value


def _require_initial(mask, initial, what):
    if mask is not None and initial is None:
        raise ValueError(f"{what}: of no elements there is none: where= takes initial=, too")


def sum(x, axis=None, dtype=None, keepdims=False, *, initial=None, where=None):
    """The sum along axes, all by default; of `initial`, too, and of the elements `where` alone."""
    trace = current_trace("sum")
    x = array_of(trace, x)
    dtype = dtype_from(dtype, trace.promotion.of_sum(x._dtype))
    return _reduced("sum", x, axis, keepdims, dtype, initial, where)


def prod(x, axis=None, dtype=None, keepdims=False, *, initial=None, where=None):
    """The product along axes, all by default; of `initial`, too, and of the elements `where` alone."""
    trace = current_trace("prod")
    x = array_of(trace, x)
    dtype = dtype_from(dtype, trace.promotion.of_sum(x._dtype))
    return _reduced("prod", x, axis, keepdims, dtype, initial, where)


def _require_some(x, axis, what):
    x = array_of(current_trace(what), x)
    if _count(x, axes_of(axis, x.ndim)) == 0:
        raise ValueError(f"{what} of no elements")


def max(x, axis=None, keepdims=False, *, initial=None, where=None):
    """The largest element along axes, all by default; NaN if one is. Of `initial`, too, and of elements `where`."""
    _require_initial(where, initial, "max")
    if initial is None:
        _require_some(x, axis, "max")
    return _reduced("max", x, axis, keepdims, None, initial, where)


def min(x, axis=None, keepdims=False, *, initial=None, where=None):
    """The smallest element along axes, all by default; NaN if one is. Of `initial`, too, and of elements `where`."""
    _require_initial(where, initial, "min")
    if initial is None:
        _require_some(x, axis, "min")
    return _reduced("min", x, axis, keepdims, None, initial, where)


amax, amin = max, min


def any(x, axis=None, keepdims=False, *, where=None):
    """Whether one element along axes is not zero; of the elements `where` alone."""
    return _reduced("max", to_truth(x), axis, keepdims, mask=where)


def all(x, axis=None, keepdims=False, *, where=None):
    """Whether no element along axes is zero; of the elements `where` alone."""
    return _reduced("min", to_truth(x), axis, keepdims, mask=where)


def count_nonzero(x, axis=None, keepdims=False):
    """How many elements along axes are not zero."""
    return sum(to_truth(x), axis, keepdims=keepdims)


def _count(x, axes):
    return product_of(x.shape[axis] for axis in axes)


def mean(x, axis=None, dtype=None, keepdims=False, *, where=None):
    """The mean along axes, all by default; of the elements `where` alone."""
    trace = current_trace("mean")
    x = array_of(trace, x)
    dtype = dtype_from(dtype, trace.promotion.to_floating(x._dtype))
    axes = axes_of(axis, x.ndim)
    if where is not None:
        total = _reduced("sum", x, axes, keepdims, dtype, mask=where)
        return divide(total, astype(count_nonzero(broadcast_to(where, x.shape), axes, keepdims), dtype))
    return divide(_reduced("sum", x, axes, keepdims, dtype), _count(x, axes)) if axes else astype(x, dtype)


def var(x, axis=None, correction=0, keepdims=False, *, ddof=None, dtype=None):
    """The variance along axes; divided by the count less the correction."""
    trace = current_trace("var")
    x = array_of(trace, x)
    dtype = dtype_from(dtype, trace.promotion.to_floating(x._dtype))
    axes = axes_of(axis, x.ndim)
    correction = float(correction if ddof is None else ddof)
    if not axes:
        return multiply(astype(x, dtype), 0.0)
    return trace.array(trace.definition.ops.var(trace.as_type(x, dtype), axes, correction, keepdims), dtype)


def std(x, axis=None, correction=0, keepdims=False, *, ddof=None, dtype=None):
    """The square root of the variance along axes."""
    return sqrt(var(x, axis, correction, keepdims, ddof=ddof, dtype=dtype))


def _arg_extreme(x, axis, keepdims, extreme):
    trace = current_trace("argmax")
    x = array_of(trace, x)
    if axis is None:
        flat = _arg_extreme(reshape(x, (-1,)), 0, False, extreme)
        return reshape(flat, (1,) * x.ndim) if keepdims else flat
    axis = axis_of(axis, x.ndim)
    is_it = equal(x, extreme(x, axis, keepdims=True))
    if x._dtype in FLOATING:
        is_it = logical_or(is_it, isnan(x))
    count = x.shape[axis]
    places = reshape(arange(count, dtype=DataType.Int), [-1 if i == axis else 1 for i in range(x.ndim)])
    found = min(where(is_it, places, count), axis, keepdims=keepdims)
    return astype(found, trace.promotion.integer)


def argmax(x, axis=None, keepdims=False):
    """The index of the first largest element along an axis, of all elements by default."""
    return _arg_extreme(x, axis, keepdims, max)


def argmin(x, axis=None, keepdims=False):
    """The index of the first smallest element along an axis, of all elements by default."""
    return _arg_extreme(x, axis, keepdims, min)
