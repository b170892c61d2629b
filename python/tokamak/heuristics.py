"""Parameters of the library's schedules, as objects whose fields a user may edit."""
from . import _tokamak
from ._arguments import shown


def _field(name, is_flag, says):
    def get(self):
        return self._chosen.value(self._used(name))

    def put(self, value):
        if is_flag and not isinstance(value, bool):
            raise TypeError(f"{type(self).__name__}: {name} is True or False, not {shown(value)}")
        if not is_flag and (isinstance(value, bool) or not isinstance(value, int)):
            raise TypeError(f"{type(self).__name__}: {name} is an int, not {shown(value)}")
        if not -2**63 <= value < 2**63:
            raise ValueError(f"{type(self).__name__}: {name} is {value}, which does not fit 64 bits")
        self._chosen.set(name, value)

    return property(get, put, doc=f"{says[0].upper()}{says[1:]}.")


class ScheduleParameters:
    """Fields are those that the kernel depends on, and others are refused. Numbers that are legal for no kernel are
    refused when they are applied; those that are not legal for this one are lowered then."""

    __slots__ = ("_chosen", "_names")

    def __init__(self, chosen):
        object.__setattr__(self, "_chosen", chosen)
        object.__setattr__(self, "_names", tuple(chosen.names))

    def _used(self, name):
        if name not in self._names:
            raise AttributeError(f"{type(self).__name__}: {name} is no parameter of this kernel; "
                                 f"these are {', '.join(self._names)}")
        return name

    def __setattr__(self, name, value):
        self._used(name)
        object.__setattr__(self, name, value)

    def __dir__(self):
        return self._names

    def __repr__(self):
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._names)
        return f"{type(self).__name__}({values})"


def _class_of(name, is_cuda, doc):
    fields = {field[0]: _field(*field) for field in _tokamak.parameters_of(is_cuda)}
    return type(name, (ScheduleParameters,),
                {"__slots__": (), "__module__": __name__, "__doc__": f"{doc} {ScheduleParameters.__doc__}", **fields})


CpuScheduleParameters = _class_of("CpuScheduleParameters", False, "What a schedule for a processor is made from.")
CudaScheduleParameters = _class_of("CudaScheduleParameters", True, "What a schedule for an NVIDIA GPU is made from.")


def parameters_for(chosen):
    """The object for parameters that the library has chosen."""
    return (CudaScheduleParameters if chosen.is_cuda else CpuScheduleParameters)(chosen)


class SchedulerHyperParameters:
    """Numbers for a schedule() of the user's own, all 1 at first. The library does not read them."""

    __slots__ = _FIELDS = ("vectorize_factor", "unroll_factor", "threads_per_block_min", "threads_per_block_max")

    def __init__(self, vectorize_factor=1, unroll_factor=1, threads_per_block_min=1, threads_per_block_max=1):
        self.vectorize_factor = vectorize_factor
        self.unroll_factor = unroll_factor
        self.threads_per_block_min = threads_per_block_min
        self.threads_per_block_max = threads_per_block_max

    def __setattr__(self, name, value):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"SchedulerHyperParameters: {name} is an int, not {shown(value)}")
        if value < 1:
            raise ValueError(f"SchedulerHyperParameters: {name} is {value}; legal are 1 and more")
        object.__setattr__(self, name, value)

    def __repr__(self):
        return f"SchedulerHyperParameters({', '.join(f'{each}={getattr(self, each)}' for each in self._FIELDS)})"
