"""Nested tuples, lists and dictionaries of arrays: taken apart into leaves, and put together again."""


def flatten(value, leaves, is_leaf):
    """Appends the leaves; gives what is left: a hashable description, in which _LEAF stands for each."""
    if is_leaf(value):
        leaves.append(value)
        return _LEAF
    kind = type(value)
    if kind is tuple or kind is list:
        return kind, tuple([flatten(each, leaves, is_leaf) for each in value])
    if kind is dict:
        return dict, tuple([(key, flatten(each, leaves, is_leaf)) for key, each in value.items()])
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return kind, tuple([flatten(each, leaves, is_leaf) for each in value])
    return Constant, (typed(value), value)


def unflatten(structure, leaves):
    """The value again, with the next of `leaves` (an iterator) for each leaf."""
    if structure is _LEAF:
        return next(leaves)
    kind, parts = structure
    if kind is Constant:
        return parts[1]
    if kind is dict:
        return {key: unflatten(each, leaves) for key, each in parts}
    made = [unflatten(each, leaves) for each in parts]
    return kind(*made) if hasattr(kind, "_fields") else kind(made)


def typed(value):
    """The types of a constant: 1, 1.0 and True are equal, and compute another way."""
    return tuple(map(typed, value)) if isinstance(value, (tuple, list)) else type(value)


class Constant:
    """Of values that are no leaves."""


_LEAF = "leaf"
