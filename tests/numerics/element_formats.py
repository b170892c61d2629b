"""Element types as NumPy sees them: exact values in long double, correct rounding, units in the last place.

Floating values travel as long double, which holds every f64, f32, f16 and bf16; NumPy has no bfloat16, so that files carry
its bits as uint16.
"""

import numpy as np

LONG = np.longdouble
FLOATS = ("f64", "f32", "f16", "bf16")
INTEGERS = ("i32", "i64")
ALL = (*FLOATS, *INTEGERS, "bool")
NUMPY_TYPE = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.uint16,
    "i32": np.int32,
    "i64": np.int64,
    "bool": np.bool_,
}
PRECISION = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}
LOWEST_EXPONENT = {"f64": -1022, "f32": -126, "f16": -14, "bf16": -126}
HIGHEST_EXPONENT = {"f64": 1023, "f32": 127, "f16": 15, "bf16": 127}


def epsilon(dtype):
    return np.ldexp(LONG(1), 1 - PRECISION[dtype])


def smallest_normal(dtype):
    return np.ldexp(LONG(1), LOWEST_EXPONENT[dtype])


def largest(dtype):
    return np.ldexp(LONG(2) - epsilon(dtype), HIGHEST_EXPONENT[dtype])


def ulp(dtype, values):
    """The distance of neighbours around `values`; that of the largest numbers for infinities."""
    finite = np.where(np.isfinite(values), np.abs(values), largest(dtype))
    exponent = np.frexp(finite)[1] - 1
    exponent = np.where(finite == 0, LOWEST_EXPONENT[dtype], exponent)
    exponent = np.clip(exponent, LOWEST_EXPONENT[dtype], HIGHEST_EXPONENT[dtype])
    return np.ldexp(LONG(1), exponent - (PRECISION[dtype] - 1))


def rounded(dtype, values):
    """Rounded once, to nearest even; beyond the largest number infinite."""
    values = np.asarray(values, LONG)
    unit = ulp(dtype, values)
    with np.errstate(invalid="ignore"):
        result = np.rint(values / unit) * unit
    result = np.where(np.abs(result) > largest(dtype), np.copysign(LONG(np.inf), values), result)
    return np.where(np.isfinite(values), np.copysign(result, values), values)


def stored(dtype, values):
    """As a file holds them; floating `values` are rounded."""
    if dtype not in FLOATS:
        return np.asarray(values).astype(NUMPY_TYPE[dtype])
    if dtype != "bf16":
        return rounded(dtype, values).astype(NUMPY_TYPE[dtype])
    return (rounded(dtype, values).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def exact(dtype, array):
    """The values of a file's elements: long double, or the integers or booleans themselves."""
    if dtype not in FLOATS:
        return array
    if dtype == "bf16":
        array = (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    with np.errstate(invalid="ignore"):  # of signalling NaNs
        return array.astype(LONG)


def from_bits(dtype, bits):
    """A file's elements from bit patterns (uint64, of which the low ones count)."""
    width = {"f64": np.uint64, "f32": np.uint32, "f16": np.uint16, "bf16": np.uint16}[dtype]
    return bits.astype(width).view(NUMPY_TYPE[dtype])
