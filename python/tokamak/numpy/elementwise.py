"""Functions of arrays, element by element."""
import math

from .._promotion import FLOATING
from .._traced_array import TracedArray, is_array
from .._tracing import current_trace
from .._types import DataType
from .operands import any_array, array_of, met, operand_of


def apply(op, operands, kind="same"):
    """An op of the library on operands of one type. `kind` says which result it has: "same", "float" or "truth"."""
    trace = current_trace(op)
    operands = [operand_of(trace, each) for each in operands]
    if not any(isinstance(each, TracedArray) for each in operands):
        return trace.number(op, *operands)
    operands = met(trace, operands)
    dtype = trace.dtype_of(operands)
    if kind == "float":
        dtype = trace.promotion.to_floating(dtype)
    tensor = getattr(trace.definition.ops, op)(*(trace.as_type(each, dtype) for each in operands))
    return trace.array(tensor, DataType.Bool if kind == "truth" else dtype)


def is_bool(operands):
    """Whether operands meet as truths."""
    trace = current_trace("a function of arrays")
    operands = [operand_of(trace, each) for each in operands]
    return any(isinstance(each, TracedArray) for each in operands) and trace.dtype_of(operands) is DataType.Bool


def _elementwise(name, op, kind="same", of_bools=None):
    def call(x, y):
        if of_bools is not None and is_bool((x, y)):
            return apply(of_bools, (x, y))
        return apply(op, (x, y), kind)

    call.__name__ = name
    call.__doc__ = f"{op}, element by element."
    return call


def _function(op, kind="float"):
    def call(x):
        return apply(op, (x,), kind)

    call.__name__ = op
    call.__doc__ = f"{op}, element by element."
    return call


acos = _function("acos")
acosh = _function("acosh")
asin = _function("asin")
asinh = _function("asinh")
atan = _function("atan")
atanh = _function("atanh")
cos = _function("cos")
cosh = _function("cosh")
exp = _function("exp")
exp2 = _function("exp2")
expm1 = _function("expm1")
log = _function("log")
log1p = _function("log1p")
log2 = _function("log2")
log10 = _function("log10")
sin = _function("sin")
sinh = _function("sinh")
sqrt = _function("sqrt")
tan = _function("tan")
tanh = _function("tanh")
rsqrt = _function("rsqrt")
reciprocal = _function("reciprocal")
erf = _function("erf")
erfc = _function("erfc")
erfinv = _function("erfinv")
lgamma = _function("lgamma")
sigmoid = _function("sigmoid")
silu = _function("silu")
abs = _function("abs", "same")
sign = _function("sign", "same")
relu = _function("relu", "same")
isfinite = _function("isfinite", "truth")
isinf = _function("isinf", "truth")
isnan = _function("isnan", "truth")
signbit = _function("signbit", "truth")

add = _elementwise("add", "add", of_bools="logical_or")
_subtract = _elementwise("subtract", "sub")
multiply = _elementwise("multiply", "mul", of_bools="logical_and")
divide = _elementwise("divide", "truediv", "float")
maximum = _elementwise("maximum", "maximum", of_bools="logical_or")
minimum = _elementwise("minimum", "minimum", of_bools="logical_and")
atan2 = _elementwise("atan2", "atan2", "float")
equal = _elementwise("equal", "eq", "truth")
not_equal = _elementwise("not_equal", "ne", "truth")
less = _elementwise("less", "lt", "truth")
less_equal = _elementwise("less_equal", "le", "truth")
greater = _elementwise("greater", "gt", "truth")
greater_equal = _elementwise("greater_equal", "ge", "truth")
fmax = _elementwise("fmax", "fmax")
fmin = _elementwise("fmin", "fmin")
fmod = _elementwise("fmod", "fmod")
gcd = _elementwise("gcd", "gcd")


def _on_integers(name):
    def call(x, y):
        trace = current_trace(name)
        operands = [operand_of(trace, each) for each in (x, y)]
        dtype = trace.dtype_of(operands)
        if dtype in FLOATING:
            raise TypeError(f"{name} takes integers and truths, not {dtype}")
        return apply(name, operands)

    call.__name__ = name
    call.__doc__ = f"{name}, element by element, of integers and truths."
    return call


bitwise_and = _on_integers("bitwise_and")
bitwise_or = _on_integers("bitwise_or")
bitwise_xor = _on_integers("bitwise_xor")
bitwise_left_shift = _on_integers("bitwise_left_shift")
bitwise_right_shift = _on_integers("bitwise_right_shift")


def bitwise_invert(x):
    """All bits the other way; not, of truths."""
    x = array_of(current_trace("bitwise_invert"), x)
    if x._dtype in FLOATING:
        raise TypeError(f"bitwise_invert takes integers and truths, not {x._dtype}")
    return apply("logical_not", (x,), "truth") if x._dtype is DataType.Bool else apply("bitwise_not", (x,))


def subtract(x, y):
    """sub, element by element."""
    if is_bool((x, y)):
        raise TypeError("subtract takes numbers, not truths; logical_xor says where truths differ")
    return _subtract(x, y)


def negative(x):
    """-x."""
    if is_bool((x,)):
        raise TypeError("negative takes numbers, not truths; logical_not is the other truth")
    return apply("neg", (x,))


def positive(x):
    """x."""
    return array_of(current_trace("positive"), x)


def to_truth(x):
    """Whether elements are not zero."""
    x = array_of(current_trace("a truth"), x)
    return x if x._dtype is DataType.Bool else apply("ne", (x, 0), "truth")


def logical_and(x, y):
    """Whether both are not zero."""
    return apply("logical_and", (to_truth(x), to_truth(y)), "truth")


def logical_or(x, y):
    """Whether one is not zero."""
    return apply("logical_or", (to_truth(x), to_truth(y)), "truth")


def logical_xor(x, y):
    """Whether one alone is not zero."""
    return apply("ne", (to_truth(x), to_truth(y)), "truth")


def logical_not(x):
    """Whether it is zero."""
    return apply("logical_not", (to_truth(x),), "truth")


def _rounding(op):
    def call(x):
        x = array_of(current_trace(op), x)
        return apply(op, (x,)) if x._dtype in FLOATING else x

    call.__name__ = op
    call.__doc__ = f"{op}, element by element; integers as they are."
    return call


ceil = _rounding("ceil")
floor = _rounding("floor")
trunc = _rounding("trunc")
rint = _rounding("round")


def pow(x, y):
    """x to the power of y."""
    if isinstance(x, TracedArray) and x._dtype not in FLOATING and not is_array(y) and y < 0 and (
            current_trace("pow").kind_of(y) is not float):
        raise ValueError("integers to negative powers are no integers: astype() makes them fractions")
    if not isinstance(x, TracedArray) or not isinstance(y, (int, float)) or y not in (2, 1, 0.5):
        return apply("pow", (x, y))
    return multiply(x, x) if y == 2 else positive(x) if y == 1 else sqrt(x)


def square(x):
    """x * x."""
    return multiply(x, x)


def remainder(x, y):
    """What is left of x / y, with the sign of y."""
    return apply("remainder", (x, y))


def floor_divide(x, y):
    """The largest whole number that is at most x / y."""
    from .creation import astype

    trace = current_trace("floor_divide")
    if not any_array(x, y):
        return trace.number("floordiv", x, y)
    rest = fmod(x, y)  # with the sign of x
    is_below = logical_and(not_equal(rest, 0), not_equal(less(rest, 0), less(y, 0)))
    if trace.dtype_of([operand_of(trace, each) for each in (x, y)]) not in FLOATING:
        whole = apply("div", (x, y))
        return _subtract(whole, astype(is_below, whole._dtype))
    quotient = divide(_subtract(x, rest), y)
    quotient = where(is_below, _subtract(quotient, 1), quotient)
    whole = floor(quotient)
    whole = where(greater(_subtract(quotient, whole), 0.5), add(whole, 1), whole)  # which rounding has made less
    ratio = divide(x, y)
    return where(equal(y, 0), ratio, where(equal(quotient, 0), copysign(0.0, ratio), whole))


def _as_floating(name, *operands):
    """The operands in the floating type in which they meet."""
    from .creation import astype

    trace = current_trace(name)
    dtype = trace.promotion.to_floating(trace.dtype_of([operand_of(trace, each) for each in operands]))
    return [astype(each, dtype) for each in operands]


def hypot(x, y):
    """sqrt(x * x + y * y), without overflow in between."""
    x, y = map(abs, _as_floating("hypot", x, y))
    large, small = maximum(x, y), minimum(x, y)
    ratio = divide(small, where(equal(large, 0), 1, large))
    return where(logical_or(isinf(x), isinf(y)), math.inf, multiply(large, sqrt(add(multiply(ratio, ratio), 1))))


def logaddexp(x, y):
    """log(exp(x) + exp(y)), without overflow in between."""
    x, y = _as_floating("logaddexp", x, y)
    large, small = maximum(x, y), minimum(x, y)
    return where(equal(x, y), add(x, math.log(2)), add(large, log1p(exp(subtract(small, large)))))


def copysign(x, y):
    """The magnitude of x with the sign of y."""
    x, y = _as_floating("copysign", x, y)
    x = abs(x)
    return where(signbit(y), negative(x), x)


def where(condition, x, y):
    """x where the condition is true, else y."""
    trace = current_trace("where")
    condition = to_truth(condition)
    operands = [operand_of(trace, each) for each in (x, y)]
    if not any_array(*operands):
        kinds = [trace.kind_of(each) for each in operands]
        numbers = trace.promotion
        dtype = numbers.floating if float in kinds else numbers.integer if int in kinds else DataType.Bool
        from .creation import full

        operands[0] = full((), operands[0], dtype=dtype)
    condition, *operands = met(trace, [condition, *operands])
    dtype = trace.dtype_of(operands)
    tensor = trace.definition.ops.where(condition._tensor, *(trace.as_type(each, dtype) for each in operands))
    return trace.array(tensor, dtype)


def clip(x, min=None, max=None, *, a_min=None, a_max=None):
    """x, but at least min and at most max, which NumPy calls a_min and a_max."""
    min, max = a_min if min is None else min, a_max if max is None else max
    if min is not None:
        x = maximum(x, min)
    return x if max is None else minimum(x, max)
