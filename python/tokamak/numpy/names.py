"""Functions by the names that NumPy and the library have for them."""
import inspect

from .._ops import signature_of
from .._promotion import HALVES
from .._traced_array import is_array
from .._tracing import current_trace
from .._types import DataType
from .operands import operand_of

_NUMPY_NAMES = {"absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
                "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "true_divide": "divide", "power": "pow",
                "mod": "remainder", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
                "right_shift": "bitwise_right_shift", "transpose": "transpose", "ravel": "ravel",
                "amax": "max", "amin": "min", "round_": "round", "around": "round", "fix": "trunc", "conjugate": "conj",
                "trapz": "trapezoid", "select": "_select_by_conditions"}

# The names of functions of torch that have another one here, and of those that mean something else here.
_TORCH_NAMES = {**_NUMPY_NAMES, "cat": "concat", "clamp": "clip", "div": "divide", "mul": "multiply", "neg": "negative",
                "permute": "permute_dims", "sub": "subtract", "bitwise_not": "bitwise_invert", "eq": "equal",
                "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
                "unsqueeze": "expand_dims", "unbind": "unstack"}
_OTHERS_IN_TORCH = frozenset(["split", "std", "transpose", "var"])

_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
               "logical_or": "any"}


def _functions():
    from .. import numpy

    return numpy


def _named(name, what):
    function = getattr(_functions(), _NUMPY_NAMES.get(name, name), None)
    if function is None or not callable(function):
        raise NotImplementedError(f"{what} is not there for traced arrays")
    return function


def apply_ufunc(ufunc, method, operands, options):
    """A ufunc of NumPy's on traced arrays and numbers."""
    if method == "reduce" and ufunc.__name__ in _REDUCTIONS:
        return _named(_REDUCTIONS[ufunc.__name__], f"numpy.{ufunc.__name__}.reduce")(
            operands[0], options.get("axis", 0), keepdims=options.get("keepdims", False))
    if method == "outer" and not options:
        x, y = operands
        last = tuple(range(-_functions().ndim(y), 0))
        operands, method = (_functions().expand_dims(x, last) if last else x, y), "__call__"
    if ufunc.__name__ == "divmod" and method == "__call__" and not options:
        return _functions().floor_divide(*operands), _functions().remainder(*operands)
    unknown = set(options) - {"dtype"}
    if method != "__call__" or unknown:
        raise NotImplementedError(f"numpy.{ufunc.__name__}{'' if method == '__call__' else '.' + method} with "
                                  f"{', '.join(sorted(unknown)) or 'these arguments'} is not there for traced arrays")
    result = _named(ufunc.__name__, f"numpy.{ufunc.__name__}")(*operands)
    return _functions().astype(result, options["dtype"]) if options.get("dtype") is not None else result


_WITHOUT_EFFECT = {"out": (None,), "order": (None, "C", "K", "A"), "subok": (True, False), "like": (None,)}


def apply_function(function, args, kwargs):
    """A function of NumPy's on traced arrays. Raises NotImplementedError, naming them, for a function and for arguments
    that are not there."""
    name = f"{function.__module__}.{function.__name__}"
    if function.__module__ == "numpy.linalg":
        found = getattr(_functions().linalg, function.__name__, None)
    elif function.__module__.startswith(("numpy.core", "numpy._core")) or function.__module__ == "numpy":
        found = _named(function.__name__, name)
    else:
        found = None
    if found is None:
        raise NotImplementedError(f"{name} is not there for traced arrays")
    kwargs = {key: value for key, value in kwargs.items() if not _is_default(key, value)}
    _require_arguments(found, name, args, kwargs)
    return found(*args, **kwargs)


def _is_default(key, value):
    return any(value is each or (isinstance(value, str) and value == each) for each in _WITHOUT_EFFECT.get(key, ()))


def _require_arguments(function, name, args, kwargs):
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        legal = ", ".join(signature.parameters)
        raise NotImplementedError(f"{name}: {error}; for traced arrays legal are {legal}") from None


def refusal_of_torch(function):
    """What a function of torch's says of a traced array."""
    name = getattr(function, "__name__", str(function))
    ours = name.removeprefix("special_").removeprefix("linalg_")
    ours = _TORCH_NAMES.get(ours, ours)
    said = f"torch's {name} takes tensors, not an array of a function that tokamak.fuse traces"
    if name in _OTHERS_IN_TORCH or ours not in dir(_functions()) or not callable(getattr(_functions(), ours)):
        return f"{said}; the functions of tokamak.numpy are legal, and operators"
    return f"{said}; tokamak.numpy.{ours} is legal"


def library_op(name):
    signature = signature_of(name)

    def call(*args, **kwargs):
        trace = current_trace(name)
        bound = signature.bind(*args, **kwargs)
        first = None

        def given(value):
            nonlocal first
            if isinstance(value, (list, tuple)):
                return [given(each) for each in value]
            if not is_array(value):
                return value
            array = operand_of(trace, value)
            first = array._dtype if first is None else first
            return array._tensor

        results = getattr(trace.definition.ops, name)(**{key: given(each) for key, each in bound.arguments.items()})
        wants = bound.arguments.get("dtype")

        def typed(tensor):
            is_rounded = wants is None and first in HALVES and tensor.dtype is DataType.Float
            return trace.array(tensor, first if is_rounded else tensor.dtype)

        return tuple(map(typed, results)) if isinstance(results, tuple) else typed(results)

    call.__name__ = name
    call.__doc__ = f"fd.ops.{name}, of arrays."
    call.__signature__ = signature
    return call
