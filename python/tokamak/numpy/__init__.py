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
from .._types import DataType as _DataType
from .creation import (
    arange, asarray, astype, empty, empty_like, eye, finfo, full, full_like, linspace, meshgrid, one_hot, ones,
    ones_like, result_type, tril, triu, zeros, zeros_like)
from .elementwise import (
    abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_invert, bitwise_left_shift,
    bitwise_or, bitwise_right_shift, bitwise_xor, ceil, clip, copysign, cos, cosh, divide, equal, erf, erfc, erfinv,
    exp, exp2, expm1, floor, floor_divide, fmax, fmin, fmod, gcd, greater, greater_equal, hypot, isfinite, isinf,
    isnan, less, less_equal, lgamma, log, log10, log1p, log2, logaddexp, logical_and, logical_not, logical_or,
    logical_xor, maximum, minimum, multiply, negative, nextafter, not_equal, positive, pow, reciprocal, relu,
    remainder, rint, round, rsqrt, sigmoid, sign, signbit, silu, sin, sinh, sqrt, square, subtract, tan, tanh,
    trunc, where)
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
    dot, einsum, matmul, outer, tensordot, vecdot)
from .reductions import (
    all, amax, amin, any, argmax, argmin, count_nonzero, max, mean, min, prod, std, sum, var)
from .shapes import (
    broadcast_arrays, broadcast_shapes, broadcast_to, concat, concatenate, expand_dims, flip, matrix_transpose,
    moveaxis, pad, permute_dims, ravel, repeat, reshape, squeeze, stack, swapaxes, tile, transpose)

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
_MISSING = frozenset("""argpartition argsort average bincount conj convolve correlate cross cummax cummin cumprod
cumsum cumulative_prod cumulative_sum diagonal flatnonzero histogram imag index_put kron median nanmedian nonzero
partition percentile quantile scatter searchsorted sort top_k topk trace trapezoid unique unique_all unique_counts
unique_inverse unique_values""".split())


def __getattr__(name):
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
