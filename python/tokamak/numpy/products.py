"""Products of vectors and matrices."""
from .._tracing import current_trace
from .creation import astype
from .elementwise import multiply
from .operands import NUMBERS, array_of, axes_of, product_of
from .reductions import sum
from .shapes import broadcast_shapes, broadcast_to, expand_dims, permute_dims, reshape, squeeze


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
    dtype, (a, b) = _products(trace, [x, y])
    return trace.array(trace.definition.ops.matmul(a, b), dtype)


def dot(x, y):
    """The product of vectors or matrices; of an array with more axes and a vector or a matrix."""
    return multiply(x, y) if _has_scalar(x, y) else matmul(x, y)


def _has_scalar(*values):
    """Whether one of the values has no axes."""
    return any(isinstance(each, NUMBERS) or not each.shape for each in values)


def vecdot(x, y, axis=-1):
    """The sum of the products along an axis."""
    return sum(multiply(x, y), axis)


def outer(x, y):
    """The products of all elements of one with all of the other."""
    return multiply(reshape(x, (-1, 1)), reshape(y, (1, -1)))


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


def einsum(subscripts, *operands):
    """Sums of products, by Einstein's convention: einsum("bij,bjk->bik", x, y). Products are taken from left to right,
    as matrix products."""
    trace = current_trace("einsum")
    operands = [array_of(trace, each) for each in operands]
    terms, result = _subscripts(subscripts, operands)
    dtype = trace.dtype_of(operands)
    operands = [astype(each, dtype) for each in operands]
    value, letters = operands[0], terms[0]
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
        if len(set(expanded[-1])) != len(expanded[-1]):
            raise NotImplementedError(f"einsum: {term!r} has a letter twice")
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
