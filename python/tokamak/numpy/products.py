"""Products of vectors and matrices."""
import functools
import operator

from .._tracing import current_trace
from .._types import DataType
from .creation import astype, eye
from .elementwise import multiply, not_equal, subtract
from .operands import array_of, axes_of, axis_of, product_of
from .reductions import sum
from .shapes import (
    broadcast_shapes, broadcast_to, expand_dims, moveaxis, permute_dims, reshape, squeeze, stack)


def _products(trace, arrays):
    dtype = trace.dtype_of(arrays)
    return dtype, [trace.rounded(astype(each, dtype)) for each in arrays]


def matmul(x, y):
    """The matrix product of the last two axes, batched over those before; a vector is a row or a column."""
    trace = current_trace("matmul")
    x, y = array_of(trace, x), array_of(trace, y)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError("matmul: an array without axes is no matrix")
    inner = x.shape[-1], y.shape[0 if y.ndim == 1 else -2]
    if inner[0] != inner[1]:
        raise ValueError(f"matmul: rows of {inner[0]} elements for columns of {inner[1]}")
    if x.ndim == 1 or y.ndim == 1:
        left = expand_dims(x, 0) if x.ndim == 1 else x
        right = expand_dims(y, -1) if y.ndim == 1 else y
        return squeeze(matmul(left, right), tuple(axis for axis, each in ((-2, x), (-1, y)) if each.ndim == 1))
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    if batch:
        x = broadcast_to(x, (*batch, *x.shape[-2:])) if y.ndim > 2 or x.ndim == len(batch) + 2 else x
        y = broadcast_to(y, (*batch, *y.shape[-2:])) if y.ndim > 2 else y
    if trace.dtype_of([x, y]) is DataType.Bool:
        return not_equal(matmul(astype(x, DataType.Int), astype(y, DataType.Int)), 0)
    dtype, (a, b) = _products(trace, [x, y])
    return trace.array(trace.definition.ops.matmul(a, b), dtype)


def dot(x, y):
    """The sum of products over the last axis of x and the last but one of y, its only one where it is a vector."""
    trace = current_trace("dot")
    x, y = array_of(trace, x), array_of(trace, y)
    if x.ndim == 0 or y.ndim == 0:
        return multiply(x, y)
    return matmul(x, y) if y.ndim <= 2 else tensordot(x, y, ([-1], [-2]))


def vecdot(x, y, axis=-1):
    """The sum of the products along an axis."""
    return sum(multiply(x, y), axis)


def outer(x, y):
    """The products of all elements of one with all of the other."""
    return multiply(reshape(x, (-1, 1)), reshape(y, (1, -1)))


def inner(x, y):
    """The sum of products over the last axes of both."""
    trace = current_trace("inner")
    x, y = array_of(trace, x), array_of(trace, y)
    return multiply(x, y) if x.ndim == 0 or y.ndim == 0 else tensordot(x, y, ([-1], [-1]))


def vdot(x, y):
    """The sum of the products of all elements."""
    return matmul(reshape(x, (-1,)), reshape(y, (-1,)))


def kron(x, y):
    """Each element of x times all of y, in its place."""
    trace = current_trace("kron")
    x, y = array_of(trace, x), array_of(trace, y)
    rank = max(x.ndim, y.ndim)
    x, y = (expand_dims(each, tuple(range(rank - each.ndim))) for each in (x, y))
    blocks = multiply(expand_dims(x, tuple(range(1, 2 * rank, 2))), expand_dims(y, tuple(range(0, 2 * rank, 2))))
    return reshape(blocks, [a * b for a, b in zip(x.shape, y.shape)])


def cross(x, y, axis=-1):
    """The vector products along an axis of three elements."""
    trace = current_trace("cross")
    x, y = (moveaxis(array_of(trace, each), axis, -1) for each in (x, y))
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError(f"cross: axes of {x.shape[-1]} and of {y.shape[-1]} elements; legal are 3")
    (a, b, c), (d, e, f) = ([each[..., i] for i in range(3)] for each in (x, y))
    parts = [subtract(multiply(p, q), multiply(r, s)) for p, q, r, s in ((b, f, c, e), (c, d, a, f), (a, e, b, d))]
    return stack(parts, axis if axis < 0 else axis_of(axis, max(x.ndim, y.ndim)))


def multi_dot(arrays):
    """The matrix product of several, from left to right."""
    return functools.reduce(matmul, arrays)


def matrix_power(x, n):
    """A square matrix times itself, n times in all."""
    x = array_of(current_trace("matrix_power"), x)
    n = operator.index(n)
    if n < 0:
        raise NotImplementedError("matrix_power: inverses are not there; legal are 0 and more")
    result = None
    while n:
        n, is_factor = divmod(n, 2)
        if is_factor:
            result = x if result is None else matmul(result, x)
        x = matmul(x, x) if n else x
    return broadcast_to(eye(x.shape[-1], dtype=x._dtype), x.shape) if result is None else result


def tensordot(x, y, axes=2):
    """The sum of products over axes of both: the last of x and the first of y, or a list for each."""
    trace = current_trace("tensordot")
    x, y = array_of(trace, x), array_of(trace, y)
    if isinstance(axes, int):
        of_x, of_y = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    else:
        of_x, of_y = axes_of(axes[0], x.ndim), axes_of(axes[1], y.ndim)
    for i, j in zip(of_x, of_y, strict=True):
        if x.shape[i] != y.shape[j]:
            raise ValueError(f"tensordot: axes of {x.shape[i]} and of {y.shape[j]} elements do not meet")
    free_x = [i for i in range(x.ndim) if i not in of_x]
    free_y = [i for i in range(y.ndim) if i not in of_y]
    inner = product_of(x.shape[i] for i in of_x)
    a = reshape(permute_dims(x, free_x + of_x), (product_of(x.shape[i] for i in free_x), inner))
    b = reshape(permute_dims(y, of_y + free_y), (inner, product_of(y.shape[i] for i in free_y)))
    return reshape(matmul(a, b), [x.shape[i] for i in free_x] + [y.shape[i] for i in free_y])


def einsum(subscripts, *operands, optimize=False):
    """Sums of products, by Einstein's convention: einsum("bij,bjk->bik", x, y). Products are taken from left to right,
    as matrix products, whatever `optimize` says."""
    trace = current_trace("einsum")
    if not isinstance(subscripts, str):
        raise NotImplementedError('einsum: subscripts are a string: einsum("ij,jk->ik", x, y)')
    operands = [array_of(trace, each) for each in operands]
    terms, result = _subscripts(subscripts, operands)
    operands, terms = zip(*map(_with_letters_once, operands, terms))
    dtype = trace.dtype_of(operands)
    operands = [astype(each, dtype) for each in operands]
    value, letters = operands[0], list(terms[0])
    for i in range(1, len(operands)):
        later = set(result).union(*terms[i + 1:])
        value, letters = _contracted(value, letters, operands[i], terms[i], later)
    gone = [i for i, letter in enumerate(letters) if letter not in result]
    if gone:
        value, letters = sum(value, tuple(gone), dtype=dtype), [each for each in letters if each in result]
    return permute_dims(value, [letters.index(each) for each in result])


def _subscripts(subscripts, operands):
    """A letter for each axis of each operand, and of the result; ... has letters of its own."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"einsum: {len(terms)} terms for {len(operands)} arrays")
    spare = [chr(code) for code in range(0x3b1, 0x3b1 + 24)]
    expanded, most = [], 0
    for term, operand in zip(terms, operands):
        named = len(term.replace("...", ""))
        hidden = operand.ndim - named
        if hidden < 0 or (hidden > 0 and "..." not in term):
            raise ValueError(f"einsum: {term!r} for an array with {operand.ndim} axes")
        most = hidden if hidden > most else most
        expanded.append(list(term.replace("...", "".join(spare[24 - hidden:]))))
    if arrow:
        result = list(right.replace("...", "".join(spare[24 - most:])))
    else:
        letters = [each for term in expanded for each in term]
        result = spare[24 - most:] + sorted(each for each in set(letters)
                                            if letters.count(each) == 1 and each not in spare)
    for each in result:
        if not any(each in term for term in expanded):
            raise ValueError(f"einsum: {each!r} of the result is in no term")
    return expanded, result


def _with_letters_once(x, letters):
    """The diagonals that a letter twice in a term means."""
    from .arrangements import diagonal

    for each in dict.fromkeys(letters):
        while letters.count(each) > 1:
            first, second = [i for i, letter in enumerate(letters) if letter == each][:2]
            if x.shape[first] != x.shape[second]:
                raise ValueError(f"einsum: {each!r} is an axis of {x.shape[first]} and of {x.shape[second]} elements")
            x = diagonal(x, 0, first, second)
            letters = [letter for i, letter in enumerate(letters) if i not in (first, second)] + [each]
    return x, letters


def _contracted(x, of_x, y, of_y, later):
    """The product of two terms, summed over letters that nobody needs later."""
    for name in ("x", "y"):
        value, letters, other = (x, of_x, of_y) if name == "x" else (y, of_y, of_x)
        alone = [i for i, each in enumerate(letters) if each not in other and each not in later]
        if alone:
            value = sum(value, tuple(alone), dtype=value._dtype)
            letters = [each for each in letters if each in other or each in later]
            x, of_x, y, of_y = (value, letters, y, of_y) if name == "x" else (x, of_x, value, letters)
    batch = [each for each in of_x if each in of_y and each in later]
    inner = [each for each in of_x if each in of_y and each not in later]
    rows = [each for each in of_x if each not in of_y]
    columns = [each for each in of_y if each not in of_x]
    x = permute_dims(x, [of_x.index(each) for each in batch + rows + inner])
    y = permute_dims(y, [of_y.index(each) for each in batch + inner + columns])
    letters = batch + rows + columns
    at = len(batch)
    if not inner:
        return multiply(reshape(x, [*x.shape, *([1] * len(columns))]),
                        reshape(y, [*y.shape[:at], *([1] * len(rows)), *y.shape[at:]])), letters
    sizes = broadcast_shapes(x.shape[:at], y.shape[:at])
    free_rows, free_columns = x.shape[at:at + len(rows)], y.shape[at + len(inner):]
    terms = product_of(broadcast_shapes(x.shape[at + len(rows):], y.shape[at:at + len(inner)]))
    a = reshape(x, [*x.shape[:at], product_of(free_rows), terms])
    b = reshape(y, [*y.shape[:at], terms, product_of(free_columns)])
    return reshape(matmul(a, b), [*sizes, *free_rows, *free_columns]), letters
