"""Functions that take axes away."""
from .._promotion import FLOATING
from .._types import DataType
from .._tracing import current_trace
from .creation import arange, astype
from .elementwise import divide, equal, isnan, logical_or, multiply, sqrt, to_truth, where
from .operands import array_of, axes_of, axis_of, dtype_from, product_of
from .shapes import reshape


def _reduced(op, x, axis, keepdims, dtype=None):
    trace = current_trace(op)
    x = array_of(trace, x)
    axes = axes_of(axis, x.ndim)
    dtype = x._dtype if dtype is None else dtype
    if not axes:
        return astype(x, dtype)
    value = trace.as_type(x, dtype)
    return trace.array(getattr(trace.definition.ops, op)(value, axes, keepdims), dtype)


def sum(x, axis=None, dtype=None, keepdims=False):
    """The sum along axes, all by default."""
    trace = current_trace("sum")
    x = array_of(trace, x)
    return _reduced("sum", x, axis, keepdims, dtype_from(dtype, trace.promotion.of_sum(x._dtype)))


def prod(x, axis=None, dtype=None, keepdims=False):
    """The product along axes, all by default."""
    trace = current_trace("prod")
    x = array_of(trace, x)
    return _reduced("prod", x, axis, keepdims, dtype_from(dtype, trace.promotion.of_sum(x._dtype)))


def _require_some(x, axis, what):
    x = array_of(current_trace(what), x)
    if _count(x, axes_of(axis, x.ndim)) == 0:
        raise ValueError(f"{what} of no elements")


def max(x, axis=None, keepdims=False):
    """The largest element along axes, all by default; NaN if one is."""
    _require_some(x, axis, "max")
    return _reduced("max", x, axis, keepdims)


def min(x, axis=None, keepdims=False):
    """The smallest element along axes, all by default; NaN if one is."""
    _require_some(x, axis, "min")
    return _reduced("min", x, axis, keepdims)


amax, amin = max, min


def any(x, axis=None, keepdims=False):
    """Whether one element along axes is not zero."""
    return _reduced("max", to_truth(x), axis, keepdims)


def all(x, axis=None, keepdims=False):
    """Whether no element along axes is zero."""
    return _reduced("min", to_truth(x), axis, keepdims)


def count_nonzero(x, axis=None, keepdims=False):
    """How many elements along axes are not zero."""
    return sum(to_truth(x), axis, keepdims=keepdims)


def _count(x, axes):
    return product_of(x.shape[axis] for axis in axes)


def mean(x, axis=None, dtype=None, keepdims=False):
    """The mean along axes, all by default."""
    trace = current_trace("mean")
    x = array_of(trace, x)
    dtype = dtype_from(dtype, trace.promotion.to_floating(x._dtype))
    axes = axes_of(axis, x.ndim)
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
