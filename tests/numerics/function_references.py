"""What every elementwise function gives, written with NumPy and SciPy, and for integers with Python's integers.

TYPED       on arrays of the operand type (f32 or f64), operation by operation: compared bit for bit
WIDE        on long double: compared within the function's accuracy
INTEGER     on Python integers of `width` bits: compared exactly, after wrapping
"""

import math

import numpy as np
from scipy import special

PI = np.longdouble("3.14159265358979323846264338327950288")


def in_double(function):
    """SciPy knows no long double."""
    return lambda *operands: function(*(x.astype(np.float64) for x in operands)).astype(np.longdouble)


def erf(x):
    """The series 2/sqrt(pi) exp(-x^2) sum 2^n x^(2n+1) / (2n+1)!!, all of one sign."""
    small = np.clip(x, -2, 2)
    term, total = small, small
    for n in range(1, 70):
        term = term * 2 * small * small / (2 * n + 1)
        total = total + term
    near = 2 / np.sqrt(PI) * np.exp(-small * small) * total
    return np.where(np.abs(x) < 2, near, np.where(np.isnan(x), x, np.copysign(1 - erfc_of_large(np.abs(x)), x)))


def erfc_of_large(x):
    """The continued fraction exp(-x^2)/sqrt(pi) / (x + 1/2 / (x + 1 / (x + 3/2 / ...))), from 2 on."""
    x = np.clip(x, 2, 200)
    fraction = x
    for k in range(200, 0, -1):
        fraction = x + np.longdouble(k) / 2 / fraction
    return np.exp(-x * x) / (np.sqrt(PI) * fraction)


def erfc(x):
    return np.where(x >= 2, erfc_of_large(x), 1 - erf(x))


def inverse_erf(x):
    """Odd, so that zeros keep their sign; SciPy's does not."""
    return np.copysign(in_double(special.erfinv)(x), x)


def inverse_erfc(x):
    """SciPy's, where x is small improved by Newton steps on the logarithm; at 1 a positive zero, where SciPy's is negative."""
    value = in_double(special.erfcinv)(x) + 0
    is_small = (x > 0) & (x < 1e-3)
    y = np.where(is_small, np.minimum(value, 27), 3)
    for _ in range(4):
        tail = erfc_of_large(y)
        y = y + (np.log(tail) - np.log(np.where(is_small, x, 1e-5))) * tail * np.sqrt(PI) / 2 * np.exp(y * y)
    return np.where(is_small, y, value)


def log_gamma(x):
    """As C has it: infinite at both infinities, and -log|x| near 0, where SciPy's overflows."""
    value = np.where(np.isneginf(x), np.inf, in_double(special.gammaln)(x))
    return np.where((np.abs(x) < 1e-300) & (x != 0), -np.log(np.abs(x)), value)


def larger(x, y):
    """NaN if either is; of two zeros the positive one."""
    return np.where((x == y) & np.signbit(x), y, np.where((x == y) & np.signbit(y), x, np.maximum(x, y)))


def smaller(x, y):
    return np.where((x == y) & np.signbit(x), x, np.where((x == y) & np.signbit(y), y, np.minimum(x, y)))


def larger_number(x, y):
    """The number if one is NaN; of two zeros the positive one, which np.fmax leaves open."""
    return np.where((x == y) & np.signbit(x), y, np.where((x == y) & np.signbit(y), x, np.fmax(x, y)))


def smaller_number(x, y):
    return np.where((x == y) & np.signbit(x), x, np.where((x == y) & np.signbit(y), y, np.fmin(x, y)))


def floored_remainder(x, y):
    """As np.remainder, but a zero keeps the sign of x: only a remainder that is not zero is moved to the side of y."""
    r = np.fmod(x, y)
    return np.where((r != 0) & ((r < 0) != (y < 0)), r + y, r)


def lerp(x, y, t):
    return np.where(np.abs(t) < 0.5, x + t * (y - x), y - (y - x) * (1 - t))


TYPED = {
    "abs": np.fabs,
    "ceil": np.ceil,
    "floor": np.floor,
    "frac": lambda x: x - np.trunc(x),
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "isneginf": np.isneginf,
    "isposinf": np.isposinf,
    "isreal": np.isreal,
    "neg": np.negative,
    "reciprocal": np.reciprocal,
    "relu": lambda x: np.where(x < 0, x.dtype.type(0), x),
    "round": np.rint,
    "sign": np.sign,
    "signbit": np.signbit,
    "sqrt": np.sqrt,
    "trunc": np.trunc,
    "add": np.add,
    "div": np.divide,
    "eq": np.equal,
    "fmax": larger_number,
    "fmin": smaller_number,
    "fmod": np.fmod,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "maximum": larger,
    "minimum": smaller,
    "mul": np.multiply,
    "ne": np.not_equal,
    "nextafter": np.nextafter,
    "remainder": floored_remainder,
    "sub": np.subtract,
    "truediv": np.true_divide,
    "add_alpha": lambda x, y, z: x + y * z,
    "clamp": lambda x, low, high: smaller(larger(x, low), high),
    "lerp": lerp,
    "sub_alpha": lambda x, y, z: x - y * z,
    "threshold": lambda x, y, z: np.where(x <= y, z, x),
    "where": lambda x, y, z: np.where(x != 0, y, z),
    "addcmul": lambda x, y, z, w: x + w * (y * z),
    "logical_not": np.logical_not,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
}

WIDE = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": erf,
    "erfc": erfc,
    "erfcinv": inverse_erfc,
    "erfinv": inverse_erf,
    "exp": np.exp,
    "exp2": np.exp2,
    "exp_term": np.exp,
    "expm1": np.expm1,
    "lgamma": log_gamma,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
    "atan2": np.arctan2,
    "pow": np.power,
}


def truncated_quotient(x, y):
    """x / 0 is 0."""
    if y == 0:
        return 0
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def truncated_remainder(x, y):
    return 0 if y == 0 else x - y * truncated_quotient(x, y)


def power(x, y, width):
    """A negative exponent gives 1/x truncated; 0 to it is 0."""
    if y >= 0:
        return pow(x, y, 1 << width)
    return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)


def sign(x):
    return (x > 0) - (x < 0)


INTEGER = {
    "abs": lambda x, width: abs(x),
    "bitwise_not": lambda x, width: 1 - x if width == 1 else -1 - x,
    "ceil": lambda x, width: x,
    "floor": lambda x, width: x,
    "frac": lambda x, width: 0,
    "isfinite": lambda x, width: 1,
    "isinf": lambda x, width: 0,
    "isnan": lambda x, width: 0,
    "isneginf": lambda x, width: 0,
    "isposinf": lambda x, width: 0,
    "isreal": lambda x, width: 1,
    "logical_not": lambda x, width: x == 0,
    "neg": lambda x, width: -x,
    "relu": lambda x, width: max(x, 0),
    "round": lambda x, width: x,
    "sign": lambda x, width: sign(x),
    "signbit": lambda x, width: x < 0,
    "trunc": lambda x, width: x,
    "add": lambda x, y, width: x + y,
    "bitwise_and": lambda x, y, width: x & y,
    "bitwise_left_shift": lambda x, y, width: x << y if 0 <= y < width else 0,
    "bitwise_or": lambda x, y, width: x | y,
    "bitwise_right_shift": lambda x, y, width: x >> (y if 0 <= y < width else width),
    "bitwise_xor": lambda x, y, width: x ^ y,
    "div": lambda x, y, width: truncated_quotient(x, y),
    "eq": lambda x, y, width: x == y,
    "fmax": lambda x, y, width: max(x, y),
    "fmin": lambda x, y, width: min(x, y),
    "fmod": lambda x, y, width: truncated_remainder(x, y),
    "gcd": lambda x, y, width: math.gcd(x, y),
    "ge": lambda x, y, width: x >= y,
    "gt": lambda x, y, width: x > y,
    "le": lambda x, y, width: x <= y,
    "logical_and": lambda x, y, width: x != 0 and y != 0,
    "logical_or": lambda x, y, width: x != 0 or y != 0,
    "logical_right_shift": lambda x, y, width: (x % (1 << width)) >> y if 0 <= y < width else 0,
    "lt": lambda x, y, width: x < y,
    "maximum": lambda x, y, width: max(x, y),
    "minimum": lambda x, y, width: min(x, y),
    "mod": lambda x, y, width: truncated_remainder(x, y),
    "mul": lambda x, y, width: x * y,
    "ne": lambda x, y, width: x != y,
    "pow": power,
    "remainder": lambda x, y, width: 0 if y == 0 else x % y,
    "sub": lambda x, y, width: x - y,
    "add_alpha": lambda x, y, z, width: x + y * z,
    "clamp": lambda x, y, z, width: min(max(x, y), z),
    "sub_alpha": lambda x, y, z, width: x - y * z,
    "threshold": lambda x, y, z, width: z if x <= y else x,
    "where": lambda x, y, z, width: y if x else z,
    "addcmul": lambda x, y, z, w, width: x + w * (y * z),
    "philox": lambda x, y, z, w, width: philox(x, y, z, w),
}


def philox(index, number, seed, offset):
    """A word of Philox 4x32-10: of the counter number * 2^64 + index / 4 + offset."""
    low, high, key = (value % 2**64 for value in ((index % 2**64) // 4 + offset, number, seed))
    counter = [low % 2**32, low >> 32, high % 2**32, high >> 32]
    keys = [key % 2**32, key >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            (second >> 32) ^ counter[1] ^ keys[0],
            second % 2**32,
            (first >> 32) ^ counter[3] ^ keys[1],
            first % 2**32,
        ]
        keys = [(keys[0] + 0x9E3779B9) % 2**32, (keys[1] + 0xBB67AE85) % 2**32]
    return counter[index % 4]


def integer_results(name, operands, width, result_type):
    """INTEGER[name] on every element, wrapped to `width` bits."""
    function = INTEGER[name]
    values = [function(*row, width) for row in zip(*(x.tolist() for x in operands), strict=True)]
    if result_type == np.bool_:
        return np.array([bool(value) for value in values], np.bool_)
    half = 1 << (width - 1)
    return np.array([(int(value) + half) % (2 * half) - half for value in values], result_type)
