"""Functions over arrays, for functions that tokamak.fuse traces, by the names of the array API standard.

    import tokamak, tokamak.numpy as tnp

    @tokamak.fuse
    def softmax(x):
        e = tnp.exp(x - tnp.max(x, axis=-1, keepdims=True))
        return e / tnp.sum(e, axis=-1, keepdims=True)

NumPy's own functions (np.exp, np.sum, ...) do the same with traced arrays. Every op of fd.ops that the standard has no
name for is here too (softmax, layer_norm, gelu, attention, ...). Results have the types that the library of the
function's first array would give them; half types are rounded where results are stored, not in between.
"""
import math as _math

from .._missing_ops import MISSING_OPS as _MISSING_OPS
from .._ops import ROWS as _ROWS
from .._types import DataType as _DataType, NUMPY_NAMES as _NUMPY_NAMES
from . import linalg
from .arrangements import (
    append, array_split, atleast_1d, atleast_2d, atleast_3d, column_stack, diag, diagflat, diagonal, dsplit, dstack,
    fliplr, flipud, hsplit, hstack, identity, rollaxis, rot90, row_stack, trace, tri, vsplit, vstack)
from .composites import (
    allclose, array_equal, cbrt, conj, deg2rad, degrees, fabs, float_power, heaviside, isclose, isin, lcm, ldexp,
    logaddexp2, modf, nan_to_num, nextafter, polyval, rad2deg, radians, real, round, sinc)
from .composites import select_by_conditions as _select_by_conditions
from .creation import (
    arange, asarray, astype, can_cast, empty, empty_like, eye, finfo, full, full_like, iinfo, isdtype, linspace,
    meshgrid, one_hot, ones, ones_like, result_type, tril, triu, zeros, zeros_like)
from .elementwise import (
    abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_invert, bitwise_left_shift,
    bitwise_or, bitwise_right_shift, bitwise_xor, ceil, clip, copysign, cos, cosh, divide, equal, erf, erfc, erfinv,
    exp, exp2, expm1, floor, floor_divide, fmax, fmin, fmod, gcd, greater, greater_equal, hypot, isfinite, isinf,
    isnan, less, less_equal, lgamma, log, log10, log1p, log2, logaddexp, logical_and, logical_not, logical_or,
    logical_xor, maximum, minimum, multiply, negative, not_equal, positive, pow, reciprocal, relu, remainder, rint,
    rsqrt, sigmoid, sign, signbit, silu, sin, sinh, sqrt, square, subtract, tan, tanh, trunc, where)
from .indexing import (
    roll, split, take, take_along_axis, unstack)
from .indexing import item_of as _item_of
from .names import (
    apply_function as _apply_function, apply_ufunc as _apply_ufunc, library_op as _library_op,
    refusal_of_torch as _refusal_of_torch)
from .norms import (
    diff, nanmax, nanmean, nanmin, nansum, vector_norm)
from .operands import is_operand as _is_operand, product_of as _product_of
from .products import (
    cross, dot, einsum, inner, kron, matmul, outer, tensordot, vdot, vecdot)
from .reductions import (
    all, amax, amin, any, argmax, argmin, count_nonzero, max, mean, min, prod, std, sum, var)
from .repeats import (
    pad, repeat)
from .shapes import (
    broadcast_arrays, broadcast_shapes, broadcast_to, concat, concatenate, expand_dims, flip, matrix_transpose,
    moveaxis, ndim, permute_dims, ravel, reshape, shape, size, squeeze, stack, swapaxes, tile, transpose)
from .statistics import (
    average, cov, nanargmax, nanargmin, nanprod, nanstd, nanvar, ptp, trapezoid)

bool = _DataType.Bool
int32 = _DataType.Int32
int64 = _DataType.Int
float16 = _DataType.Half
bfloat16 = _DataType.BFloat16
float32 = _DataType.Float
float64 = _DataType.Double
pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan
newaxis = None

# Names of the standard, and of NumPy's, that the library has nothing for.
_MISSING = frozenset("""apply_along_axis argpartition argsort argwhere bincount choose compress convolve corrcoef
correlate cummax cummin cumprod cumsum cumulative_prod cumulative_sum delete digitize extract fft flatnonzero frexp
gradient histogram imag index_put insert interp interpolate lexsort median nancumprod nancumsum nanmedian nanpercentile
nanquantile nonzero partition percentile piecewise quantile resize scatter searchsorted sort spacing top_k topk unique
unique_all unique_counts unique_inverse unique_values vander""".split())
_MISSING_TYPES = frozenset("int8 int16 uint8 uint16 uint32 uint64 complex64 complex128".split())


def __getattr__(name):
    if name in _MISSING_TYPES:
        raise NotImplementedError(f"tokamak.numpy.{name} is not there yet; legal are "
                                  f"{', '.join(_NUMPY_NAMES.values())}")
    if name in _MISSING or name in _MISSING_OPS:
        reason = f": {_MISSING_OPS[name].replace('ops.', 'tokamak.numpy.')}" if name in _MISSING_OPS else ""
        raise NotImplementedError(f"tokamak.numpy.{name} is not there yet{reason}")
    if name in _ROWS:
        globals()[name] = _library_op(name)
        return globals()[name]
    raise AttributeError(f"tokamak.numpy has no {name}")


def __dir__():
    own = (name for name, value in globals().items() if not name.startswith("_") and type(value) is not type(_math))
    return sorted({*own, *_ROWS})
