"""What scripts for nvFuser name and the library does not have: a class whose use raises NotImplementedError."""


def refused_class(name, sentence, module):
    """A class that may be named, as in annotations and isinstance(), and not made."""

    def init(self, *args, **kwargs):
        raise NotImplementedError(f"{name}: {sentence}")

    return type(name, (), {"__init__": init, "__module__": module, "__doc__": f"Not there: {sentence}."})


def refused_function(name, sentence, module):
    """A function that raises by its name."""

    def call(*args, **kwargs):
        raise NotImplementedError(f"{name}: {sentence}")

    call.__name__ = call.__qualname__ = name
    call.__module__ = module
    call.__doc__ = f"Not there: {sentence}."
    return call
