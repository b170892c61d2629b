"""Functions of elements that are made of simpler ones."""
import builtins
import math

from .._promotion import FLOATING, HALVES, INTEGERS
from .._tracing import current_trace
from .._types import DataType
from .creation import astype, finfo, full
from .elementwise import (
    _as_floating, abs, add, apply, clip, copysign, divide, equal, exp2, floor_divide, gcd, greater, isfinite,
    isinf, isnan, less, less_equal, log1p, logical_and, logical_not, logical_or, maximum, minimum, multiply,
    pow, remainder, rint, sin, subtract, trunc, where)
from .operands import array_of, operand_of
from .reductions import all, any
from .shapes import expand_dims, reshape


def real(x):
    """x, which has no imaginary part."""
    return array_of(current_trace("real"), x)


conj = real


def fabs(x):
    """The magnitude, as a fraction."""
    return abs(*_as_floating("fabs", x))


def float_power(x, y):
    """x to the power of y, in double precision."""
    trace = current_trace("float_power")
    return pow(*(astype(array_of(trace, each), DataType.Double) for each in (x, y)))


def nextafter(x, y):
    """The next number after x towards y, of the type in which they meet."""
    trace = current_trace("nextafter")
    operands = [operand_of(trace, each) for each in (x, y)]
    dtype = trace.dtype_of(operands)
    if dtype not in HALVES:
        return apply("nextafter", operands, "float")
    x, y = (astype(astype(array_of(trace, each), dtype), DataType.Float) for each in operands)
    limits = finfo(dtype)
    least = limits.smallest_normal * limits.eps
    # More than half the distance to the next number, and less than one and a half: rounding finds it.
    step = maximum(multiply(abs(x), limits.eps * 0.501), 0.75 * least)
    moved = where(greater(y, x), add(x, step), subtract(x, step))
    moved = where(isinf(x), copysign(limits.max, x), moved)
    return astype(where(equal(x, y), y, where(logical_or(isnan(x), isnan(y)), math.nan, moved)), dtype)


def round(x, decimals=0):
    """To the nearest integer (the even one of two), or to so many decimals; negative ones are tens, hundreds, ..."""
    x = array_of(current_trace("round"), x)
    if decimals == 0:
        return rint(x)
    if x._dtype in INTEGERS:
        return x if decimals > 0 else _rounded_to(x, 10**-decimals)
    if decimals < 0:
        return multiply(rint(divide(x, 10.0**-decimals)), 10.0**-decimals)
    return divide(rint(multiply(x, 10.0**decimals)), 10.0**decimals)


def _rounded_to(x, step):
    """Integers as multiples of one."""
    whole = floor_divide(x, step)
    twice = multiply(subtract(x, multiply(whole, step)), 2)
    is_up = logical_or(greater(twice, step), logical_and(equal(twice, step), equal(remainder(whole, 2), 1)))
    return multiply(add(whole, astype(is_up, x._dtype)), step)


def radians(x):
    """Degrees as radians."""
    return multiply(*_as_floating("radians", x), math.pi / 180)


def degrees(x):
    """Radians as degrees."""
    return multiply(*_as_floating("degrees", x), 180 / math.pi)


deg2rad, rad2deg = radians, degrees


def heaviside(x, at_zero):
    """0 below zero, 1 above, and `at_zero` at it."""
    x, at_zero = _as_floating("heaviside", x, at_zero)
    step = where(less(x, 0), 0, where(equal(x, 0), at_zero, 1))
    return where(isnan(x), x, step)


def sinc(x):
    """sin(pi x) / (pi x), and 1 at zero."""
    x, = _as_floating("sinc", x)
    scaled = multiply(where(equal(x, 0), 1e-20, x), math.pi)
    return divide(sin(scaled), scaled)


def cbrt(x):
    """The real cubic root."""
    x, = _as_floating("cbrt", x)
    root = pow(abs(x), 1 / 3)
    better = subtract(root, divide(subtract(root, divide(abs(x), multiply(root, root))), 3))  # a step of Newton's
    is_exact = logical_or(equal(x, 0), logical_not(isfinite(x)))
    return copysign(where(is_exact, abs(x), better), x)


def logaddexp2(x, y):
    """log2(2**x + 2**y), without overflow in between."""
    x, y = _as_floating("logaddexp2", x, y)
    large, small = maximum(x, y), minimum(x, y)
    more = multiply(log1p(exp2(subtract(small, large))), 1 / math.log(2))
    return where(equal(x, y), add(x, 1), add(large, more))


def ldexp(x, exponent):
    """x times 2 to the power of an integer."""
    trace = current_trace("ldexp")
    x, = _as_floating("ldexp", x)
    exponent = array_of(trace, exponent)
    if exponent._dtype in FLOATING:
        raise TypeError(f"ldexp takes integers as exponents, not {exponent._dtype}")
    # In three factors, as 2 to the power alone may be none of the type's numbers.
    exponent = clip(exponent, -2200, 2200)
    third = floor_divide(exponent, 3)
    factor = exp2(astype(third, DataType.Double))
    rest = exp2(astype(subtract(exponent, multiply(third, 2)), DataType.Double))
    return astype(multiply(multiply(multiply(astype(x, DataType.Double), factor), factor), rest), x._dtype)


def lcm(x, y):
    """The least common multiple of integers."""
    divisor = gcd(x, y)
    return abs(multiply(floor_divide(x, where(equal(divisor, 0), 1, divisor)), y))


def modf(x):
    """What is behind the point, and what is before it."""
    x, = _as_floating("modf", x)
    whole = trunc(x)
    rest = where(isinf(x), 0, subtract(x, whole))
    return copysign(rest, x), whole


def isclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |x - y| <= atol + rtol |y|, or both are the same infinity."""
    x, y = _as_floating("isclose", x, y)
    is_near = less_equal(abs(subtract(x, y)), add(multiply(abs(y), rtol), atol))
    found = where(logical_and(isfinite(x), isfinite(y)), is_near, equal(x, y))
    return logical_or(found, logical_and(isnan(x), isnan(y))) if equal_nan else found


def allclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether isclose() holds for all elements."""
    return all(isclose(x, y, rtol, atol, equal_nan))


def array_equal(x, y, equal_nan=False):
    """Whether both have one shape, and all elements are equal."""
    trace = current_trace("array_equal")
    x, y = array_of(trace, x), array_of(trace, y)
    if x.ndim != y.ndim or builtins.any(i != j for i, j in zip(x.shape, y.shape)):
        return full((), False)
    same = equal(x, y)
    if equal_nan and x._dtype in FLOATING and y._dtype in FLOATING:
        same = logical_or(same, logical_and(isnan(x), isnan(y)))
    return all(same)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """With numbers for what is none: by default 0 for NaN, and the largest ones for infinities."""
    x = array_of(current_trace("nan_to_num"), x)
    if x._dtype not in FLOATING:
        return x
    most = finfo(x._dtype).max
    above = where(greater(x, 0), most if posinf is None else posinf, -most if neginf is None else neginf)
    return where(isnan(x), nan, where(isinf(x), astype(above, x._dtype), x))


def select_by_conditions(condlist, choicelist, default=0):
    """As numpy.select: of each element the choice whose condition is the first to hold."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select: {len(condlist)} conditions for {len(choicelist)} choices")
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        result = where(condition, choice, result)
    return result


def isin(x, values, assume_unique=False, invert=False):
    """Whether an element is one of the values."""
    trace = current_trace("isin")
    x, values = array_of(trace, x), reshape(array_of(trace, values), (-1,))
    found = any(equal(expand_dims(x, -1), values), -1)
    return logical_not(found) if invert else found


def polyval(p, x):
    """The polynomial with these coefficients, the highest power's first, at x: by Horner's rule."""
    trace = current_trace("polyval")
    p, x = array_of(trace, p), array_of(trace, x)
    result = multiply(x, 0)
    for each in p:
        result = add(multiply(result, x), each)
    return result
