"""OpenBLAS where the machine has none: NumPy's and SciPy's wheels bring it."""
import glob
import importlib.util
import os
from collections.abc import Iterator

from . import _tokamak

# Where wheels have it, beside a package or in it.
_FILES = (("numpy", "../numpy.libs/libscipy_openblas*.so"), ("scipy", "../scipy.libs/libscipy_openblas*.so"),
          ("scipy_openblas64", "lib/libscipy_openblas*.so"), ("scipy_openblas32", "lib/libscipy_openblas*.so"))


def open_blas_files() -> Iterator[str]:
    """The files of installed wheels, best first. Nothing is imported."""
    for package, pattern in _FILES:
        try:
            spec = importlib.util.find_spec(package)
        except ValueError:  # a module that somebody made by hand
            continue
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield from sorted(glob.glob(os.path.normpath(os.path.join(glob.escape(folder), pattern))))


def offer_open_blas() -> None:
    """Tells the library of them; it takes one when the first matrix product is prepared and the machine has none."""
    for file in open_blas_files():
        _tokamak.offer_open_blas(file)
