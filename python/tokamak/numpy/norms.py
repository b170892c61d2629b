"""Norms of vectors and matrices, and reductions that pass over what is no number."""
from .._promotion import FLOATING
from .._tracing import current_trace
from .creation import astype
from .elementwise import abs, divide, isnan, logical_not, not_equal, pow, sqrt, square, subtract, where
from .operands import array_of, axes_of
from .reductions import all, count_nonzero, max, mean, min, sum
from .shapes import concat, squeeze

_INF = float("inf")


def norm(x, ord=None, axis=None, keepdims=False):
    """As numpy.linalg.norm: of vectors along one axis, or of matrices along two; without both `axis` and `ord`, of all
    elements."""
    x = _floating(x, "norm")
    axes = axes_of(axis, x.ndim)
    if ord is None or (ord == "fro" and len(axes) == 2):
        return sqrt(sum(square(x), axes, keepdims=keepdims))
    if len(axes) == 2:
        return _matrix_norm(x, axes, keepdims, ord)
    if len(axes) != 1:
        raise ValueError(f"norm: ord={ord!r} along {len(axes)} axes; legal is one axis, or two")
    return vector_norm(x, axes[0], keepdims, ord)


def _matrix_norm(x, axes, keepdims, ord):
    if ord not in (1, -1, _INF, -_INF):
        raise NotImplementedError(f"norm: ord={ord!r} along 2 axes; along one axis numbers are legal, along two 'fro', "
                                  "1, -1, inf and -inf")
    rows, columns = axes
    summed, compared = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = sum(abs(x), summed, keepdims=True)
    found = (max if ord > 0 else min)(sums, compared, keepdims=True)
    return found if keepdims else squeeze(found, tuple(axes))


def matrix_norm(x, keepdims=False, ord="fro"):
    """As in the array API standard: the norm of the matrices along the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


def vector_norm(x, axis=None, keepdims=False, ord=2):
    """As in the array API standard: the p-norm of the elements along axes, all by default."""
    x = _floating(x, "vector_norm")
    if not isinstance(ord, (int, float)):
        raise TypeError(f"vector_norm: ord={ord!r}; legal is a number")
    if ord in (_INF, -_INF):
        return (max if ord > 0 else min)(abs(x), axis, keepdims=keepdims)
    if ord == 0:
        return astype(count_nonzero(x, axis, keepdims), x._dtype)
    if ord == 1:
        return sum(abs(x), axis, keepdims=keepdims)
    if ord == 2:
        return sqrt(sum(square(x), axis, keepdims=keepdims))
    return pow(sum(pow(abs(x), ord), axis, keepdims=keepdims), 1 / ord)


def _floating(x, what):
    trace = current_trace(what)
    x = array_of(trace, x)
    return astype(x, trace.promotion.to_floating(x._dtype))


def diff(x, n=1, axis=-1, prepend=None, append=None):
    """The differences of neighbours along an axis, n times."""
    trace = current_trace("diff")
    x = array_of(trace, x)
    if not isinstance(n, int) or n < 0:
        raise ValueError(f"diff: n is {n!r}; legal are 0 and more")
    axis, = axes_of(axis, x.ndim)
    ends = [each if each is None else array_of(trace, each) for each in (prepend, append)]
    if any(each is not None and each.ndim != x.ndim for each in ends):
        raise NotImplementedError(f"diff: prepend and append are arrays with {x.ndim} axes, as many as x has")
    if ends != [None, None]:
        x = concat([each for each in (ends[0], x, ends[1]) if each is not None], axis)
    before = (slice(None),) * axis
    for _ in range(n):
        first, second = x[(*before, slice(None, -1))], x[(*before, slice(1, None))]
        x = not_equal(second, first) if x._dtype.value == "bool" else subtract(second, first)
    return x


def _is_missing(x, what):
    x = array_of(current_trace(what), x)
    return x, isnan(x) if x._dtype in FLOATING else None


def nansum(x, axis=None, dtype=None, keepdims=False):
    """The sum of what is not NaN."""
    x, is_missing = _is_missing(x, "nansum")
    return sum(x if is_missing is None else where(is_missing, 0, x), axis, dtype, keepdims)


def nanmean(x, axis=None, dtype=None, keepdims=False):
    """The mean of what is not NaN; NaN where all is."""
    x, is_missing = _is_missing(x, "nanmean")
    if is_missing is None:
        return mean(x, axis, dtype, keepdims)
    total = nansum(x, axis, dtype, keepdims)
    return divide(total, astype(count_nonzero(logical_not(is_missing), axis, keepdims), total._dtype))


def _nan_extreme(x, axis, keepdims, extreme, worst, what):
    x, is_missing = _is_missing(x, what)
    if is_missing is None:
        return extreme(x, axis, keepdims=keepdims)
    found = extreme(where(is_missing, worst, x), axis, keepdims=keepdims)
    return where(all(is_missing, axis, keepdims), float("nan"), found)


def nanmax(x, axis=None, keepdims=False):
    """The largest element that is not NaN; NaN where all is."""
    return _nan_extreme(x, axis, keepdims, max, -_INF, "nanmax")


def nanmin(x, axis=None, keepdims=False):
    """The smallest element that is not NaN; NaN where all is."""
    return _nan_extreme(x, axis, keepdims, min, _INF, "nanmin")
