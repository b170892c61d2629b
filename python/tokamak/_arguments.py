"""What callers give, as the package takes it: lists, integers and flags of any kind, or an error that says what is
legal."""
import operator

LEAST, MOST = -2**63, 2**63 - 1  # of integers


def plain(value):
    """Numbers and arrays of NumPy as Python's; other things as they are."""
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value


def shown(value):
    """A value in a message: in a few words, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # of the caller's own classes, or too deep
        text = None
    return text if text is not None and len(text) <= 80 else f"a {type(value).__name__}"


def listed(what, values):
    """A list of what came as one of any kind. Raises TypeError for what has no order, and for texts."""
    values = plain(values)
    if isinstance(values, (list, tuple)):
        return list(values)
    if isinstance(values, (str, bytes, bytearray, dict, set, frozenset)) or not _is_iterable(values):
        raise TypeError(f"{what}: a list is legal here, not {shown(values)}")
    return list(values)


def _is_iterable(value):
    return any(vars(base).get("__iter__") is not None for base in type(value).__mro__)  # no class' own, as of an enum's


def integer(what, value):
    """An integer of Python, of NumPy or of what has __index__(). Raises TypeError for others, truths among them, and
    ValueError for what does not fit 64 bits."""
    value = plain(value)
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise TypeError(f"{what}: {shown(value)} is no integer")
    value = operator.index(value)
    if not LEAST <= value <= MOST:
        raise ValueError(f"{what}: {shown(value)} does not fit 64 bits")
    return value


def real(what, value):
    """A number as a float. Raises TypeError for what is none."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what}: {shown(value)} is no number")
    return float(value)


def flag(what, value):
    """True or False, also as 1 or 0. Raises TypeError for what is neither."""
    value = plain(value)
    if not isinstance(value, int) or value not in (0, 1):
        raise TypeError(f"{what}: True and False are legal, not {shown(value)}")
    return bool(value)


def integers(what, values):
    """A list of integers."""
    return [integer(what, each) for each in listed(what, values)]
