"""What functions of arrays take: traced arrays, numbers, arrays that a function knows by itself."""
import operator

from .._traced_array import TracedArray, is_array
from .._tracing import Number, current_trace, is_known_equal
from .._types import DataType, data_type_of

NUMBERS = (bool, int, float, Number)


def is_operand(value):
    """Whether an operator may take the value: an array or a number."""
    return isinstance(value, (*NUMBERS, list)) or is_array(value)


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
    if isinstance(value, (list, tuple)) and value and not any(isinstance(each, TracedArray) for each in value):
        import numpy

        return trace.capture(numpy.asarray(value))
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


def is_one(size):
    """Whether the axis has one element in all calls."""
    return isinstance(size, int) and size == 1


def met(trace, operands):
    """Operands whose axes have one size, or one element, which those that have one in this call alone are told."""
    arrays = [each for each in operands if isinstance(each, TracedArray) and each.ndim]
    if len(arrays) < 2:
        return operands
    rank = max(each.ndim for each in arrays)
    wanted = [_size_of_axis(trace, arrays, axis - rank) for axis in range(rank)]
    return [_with_ones(trace, each, wanted) if isinstance(each, TracedArray) else each for each in operands]


def _size_of_axis(trace, arrays, axis):
    """The size in which axes meet, counted from the last one."""
    sizes = [each.shape[axis] for each in arrays if each.ndim >= -axis]
    longest = 1
    for size in sizes:
        if is_one(longest):
            longest = size
        elif not is_one(size) and not is_known_equal(size, longest):
            if trace.is_equal(size, longest) or trace.is_equal(size, 1):
                continue
            if not trace.is_equal(longest, 1):
                raise ValueError(f"axis {axis} has {longest} elements in one array, {size} in another")
            longest = size
    return longest


def _with_ones(trace, array, wanted):
    """With axes of one element where others have more."""
    sizes = array.shape
    is_one = [isinstance(size, Number) and not is_known_equal(size, other) and trace.value_of(size) == 1
              and not trace.is_equal(other, 1) for size, other in zip(sizes, wanted[len(wanted) - len(sizes):])]
    if not any(is_one):
        return array
    return moved("reshape", array, [1 if each else size for each, size in zip(is_one, sizes)])


def moved(op, x, *args, **kwargs):
    """An op of the library that gives elements of an array, in its type."""
    trace = current_trace(op)
    x = array_of(trace, x)
    return trace.array(getattr(trace.definition.ops, op)(x._tensor, *args, **kwargs), x._dtype)


def any_array(*values):
    """Whether one of the values is no number."""
    return not all(isinstance(each, NUMBERS) for each in values)
