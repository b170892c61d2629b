"""Refuses subinterpreters, before the extension module is loaded: its types belong to one interpreter, and the process
would crash when the other one ends."""


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


_known = _module()
if _known is not None and not _is_main(_known):
    raise ImportError("tokamak runs in a process's main interpreter alone, not in a subinterpreter; use threads, or "
                      "processes")
