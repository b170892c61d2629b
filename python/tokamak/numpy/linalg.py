"""The extension `linalg` of the array API standard, as far as it is made of products and sums."""
from .arrangements import diagonal as _diagonal, trace as _trace
from .norms import matrix_norm, norm, vector_norm
from .products import (
    cross, inner, matmul, matrix_power, multi_dot, outer, tensordot, vdot, vecdot)
from .shapes import matrix_transpose

_MISSING = frozenset("""cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_rank pinv qr slogdet solve svd
svdvals tensorinv tensorsolve""".split())


def diagonal(x, offset=0):
    """The elements on a diagonal of the last two axes."""
    return _diagonal(x, offset, -2, -1)


def trace(x, offset=0, dtype=None):
    """The sum of a diagonal of the last two axes."""
    return _trace(x, offset, -2, -1, dtype)


def __getattr__(name):
    if name in _MISSING:
        raise NotImplementedError(f"tokamak.numpy.linalg.{name} is not there yet: factorisations come later; "
                                  "compute it before the call, and give the result as an input")
    raise AttributeError(f"tokamak.numpy.linalg has no {name}")
