"""python -m tokamak: the command line."""
import sys

from . import _tokamak
from ._blas import offer_open_blas
from ._compiler import offer_compiler


def main():
    """Carries out sys.argv; gives the exit code. It takes over the process: signals end it, and are not Python's."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    offer_compiler()
    offer_open_blas()
    return _tokamak.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
