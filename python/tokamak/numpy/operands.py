"""What functions of arrays take: traced arrays, numbers, arrays that a function knows by itself."""
import operator

from .._traced_array import TracedArray
from .._tracing import Number, current_trace
from .._types import DataType, data_type_of

NUMBERS = (bool, int, float, Number)


def is_array(value):
    """Whether it looks like an array, of whatever library."""
    return isinstance(value, TracedArray) or (hasattr(value, "shape") and hasattr(value, "dtype"))


def is_operand(value):
    """Whether an operator may take the value: an array or a number."""
    return isinstance(value, NUMBERS) or is_array(value)


def operand_of(trace, value):
    """An array of the trace, or a number; an array that the function knows by itself becomes one of the trace."""
    if isinstance(value, TracedArray):
        if value._trace is not trace:
            raise RuntimeError("an array that was traced by another call is none of this one: functions give their "
                               "results back, and keep none")
        return value
    if isinstance(value, NUMBERS):
        return value
    if is_array(value):
        return trace.capture(value)
    raise TypeError(f"an array or a number is legal here, not a {type(value).__name__}")


def array_of(trace, value):
    """An array of the trace, also for a number."""
    operand = operand_of(trace, value)
    if isinstance(operand, TracedArray):
        return operand
    from .creation import full

    return full((), operand)


def product_of(sizes):
    """The product of numbers."""
    product = 1
    for each in sizes:
        product = product * each
    return product


def dtype_from(dtype, fallback):
    """The type that NumPy, torch, Python or tokamak call so; `fallback` for None."""
    if dtype is None:
        return fallback
    if dtype in (float, int, bool):
        promotion = current_trace("a type").promotion
        return {float: promotion.floating, int: promotion.integer}.get(dtype, DataType.Bool)
    name = getattr(dtype, "__name__", None) if isinstance(dtype, type) else None
    return data_type_of(name or dtype)


def axis_of(axis, rank):
    """The axis, counted from the first one."""
    axis = operator.index(axis)
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} of an array with {rank} axes")
    return axis % rank


def axes_of(axis, rank):
    """A list of axes, counted from the first one: all for None."""
    if axis is None:
        return list(range(rank))
    axes = [axis_of(each, rank) for each in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    if len(set(axes)) != len(axes):
        raise ValueError(f"axis {axis} has an axis twice")
    return axes


def shape_of(shape):
    """A tuple of sizes, also for a single one."""
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def moved(op, x, *args, **kwargs):
    """An op of the library that gives elements of an array, in its type."""
    trace = current_trace(op)
    x = array_of(trace, x)
    return trace.array(getattr(trace.definition.ops, op)(x._tensor, *args, **kwargs), x.dtype)


def any_array(*values):
    """Whether one of the values is no number."""
    return not all(isinstance(each, NUMBERS) for each in values)
