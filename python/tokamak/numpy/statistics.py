"""Means with weights, spreads and integrals; reductions that pass over what is no number."""
from .._tracing import current_trace
from .creation import astype, ones_like
from .elementwise import add, divide, logical_not, multiply, sqrt, square, subtract, where
from .indexing import item_of
from .norms import _is_missing, diff, nanmean
from .operands import array_of, axes_of, axis_of
from .products import matmul
from .reductions import argmax, argmin, count_nonzero, max, mean, min, prod, sum, var
from .shapes import broadcast_to, reshape

_INF = float("inf")


def average(x, axis=None, weights=None, returned=False, *, keepdims=False):
    """The mean along axes, with weights: of the shape of x, or a vector for one axis."""
    trace = current_trace("average")
    x = array_of(trace, x)
    if weights is None:
        weights = ones_like(x)
    weights = array_of(trace, weights)
    if weights.ndim != x.ndim:
        at, = axes_of(axis, x.ndim)
        weights = broadcast_to(reshape(weights, [-1 if i == at else 1 for i in range(x.ndim)]), x.shape)
    weights = astype(weights, trace.promotion.to_floating(trace.dtype_of([x, weights])))
    scale = sum(weights, axis, keepdims=keepdims)
    result = divide(sum(multiply(x, weights), axis, keepdims=keepdims), scale)
    return (result, scale) if returned else result


def ptp(x, axis=None, keepdims=False):
    """The largest element less the smallest one."""
    return subtract(max(x, axis, keepdims), min(x, axis, keepdims))


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral along an axis by trapezoids, of values at the positions x, or dx apart."""
    trace = current_trace("trapezoid")
    y = array_of(trace, y)
    axis = axis_of(axis, y.ndim)
    steps = dx
    if x is not None:
        x = array_of(trace, x)
        steps = diff(x, axis=axis if x.ndim > 1 else -1)
        if steps.ndim == 1:
            steps = reshape(steps, [-1 if i == axis else 1 for i in range(y.ndim)])
    whole = (slice(None),) * axis
    pairs = add(item_of(y, (*whole, slice(1, None))), item_of(y, (*whole, slice(None, -1))))
    return sum(divide(multiply(pairs, steps), 2.0), axis)


def cov(m, y=None, rowvar=True, bias=False, ddof=None):
    """The covariances of the rows, each of which is a variable; of the columns where `rowvar` is false."""
    trace = current_trace("cov")
    m = array_of(trace, m)
    if y is not None:
        raise NotImplementedError("cov: y is not there; concat() makes one array of both")
    if m.ndim > 2:
        raise ValueError(f"cov takes a vector or a matrix, not an array with {m.ndim} axes")
    m = reshape(m, (1, -1)) if m.ndim < 2 else m if rowvar else m.T
    m = astype(m, trace.promotion.floating)
    centred = subtract(m, mean(m, -1, keepdims=True))
    count = m.shape[-1] - ((0 if bias else 1) if ddof is None else ddof)
    found = divide(matmul(centred, centred.T), count)
    return reshape(found, ()) if found.shape == (1, 1) else found


# --- without NaN ---


def nanprod(x, axis=None, dtype=None, keepdims=False):
    """The product of what is not NaN."""
    x, is_missing = _is_missing(x, "nanprod")
    return prod(x if is_missing is None else where(is_missing, 1, x), axis, dtype, keepdims)


def nanvar(x, axis=None, dtype=None, ddof=0, keepdims=False):
    """The variance of what is not NaN; NaN where that are `ddof` elements or fewer."""
    x, is_missing = _is_missing(x, "nanvar")
    if is_missing is None:
        return var(x, axis, keepdims=keepdims, ddof=ddof, dtype=dtype)
    x = x if dtype is None else astype(x, dtype)
    deviations = where(is_missing, 0, subtract(x, nanmean(x, axis, keepdims=True)))
    count = subtract(astype(count_nonzero(logical_not(is_missing), axis, keepdims), x._dtype), float(ddof))
    return divide(sum(square(deviations), axis, keepdims=keepdims), where(count > 0, count, float("nan")))


def nanstd(x, axis=None, dtype=None, ddof=0, keepdims=False):
    """The square root of nanvar()."""
    return sqrt(nanvar(x, axis, dtype, ddof, keepdims))


def nanargmax(x, axis=None, keepdims=False):
    """The index of the first largest element that is not NaN; 0 where all is, which NumPy refuses."""
    x, is_missing = _is_missing(x, "nanargmax")
    return argmax(x if is_missing is None else where(is_missing, -_INF, x), axis, keepdims)


def nanargmin(x, axis=None, keepdims=False):
    """The index of the first smallest element that is not NaN; 0 where all is, which NumPy refuses."""
    x, is_missing = _is_missing(x, "nanargmin")
    return argmin(x if is_missing is None else where(is_missing, _INF, x), axis, keepdims)

