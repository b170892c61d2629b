"""Refuses, before the extension module is loaded, what that would crash in: its types belong to one interpreter, and its
calls count on the interpreter's lock, which free-threaded Python takes when it loads the module, unless it is told not
to."""
import sys


def _module():
    for name in ("_interpreters", "_xxsubinterpreters"):  # from Python 3.13 on, and before
        try:
            return __import__(name)
        except ImportError:
            pass
    return None


def _is_main(module):
    current, main = module.get_current(), module.get_main()
    return current[0] == main[0] if isinstance(current, tuple) else current == main


if getattr(sys.flags, "gil", None) == 0:
    raise ImportError("tokamak needs the interpreter's lock: start Python without -X gil=0, and without PYTHON_GIL=0")
_known = _module()
if _known is not None and not _is_main(_known):
    raise ImportError("tokamak runs in a process's main interpreter alone, not in a subinterpreter; use threads, or "
                      "processes")
