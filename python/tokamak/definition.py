"""FusionDefinition: a tensor program, defined by calls and run on arrays."""
import os
import threading
import weakref

from . import _tokamak
from ._arrays import make_outputs, maker_for, place_of
from ._devices import keep_for_parent, open_device
from ._ops import Operators
from ._types import DataType, data_type_of, native_name


class _Handle:
    """What Tensor and Scalar share: operators, each an op of the definition."""

    __slots__ = ("_definition", "_value")
    __array_ufunc__ = None  # so that NumPy leaves operators to what is here, which refuses arrays

    def __init__(self, definition, value):
        self._definition = definition
        self._value = value

    @property
    def dtype(self):
        """The type of the elements."""
        return DataType(self._value.dtype)

    @property
    def ndim(self):
        """The number of axes."""
        return self._value.ndim

    def __bool__(self):
        raise TypeError("a value of a definition has no truth: it is computed later")

    __hash__ = object.__hash__


class Tensor(_Handle):
    """A tensor of a definition."""

    __slots__ = ()

    def __repr__(self):
        return f"Tensor({self._value})"


class Scalar(_Handle):
    """A number of a definition: an input, a constant or the size of an axis."""

    __slots__ = ()

    def __repr__(self):
        return f"Scalar({self._value})"


def _binary(op, is_reflected=False):
    def call(self, other):
        if not isinstance(other, (_Handle, bool, int, float)):
            return NotImplemented
        operands = [other, self] if is_reflected else [self, other]
        return self._definition._call(op, operands, {})

    return call


for _name, _op in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "mod": "mod", "pow": "pow",
                   "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
                   "rshift": "bitwise_right_shift"}.items():
    setattr(_Handle, f"__{_name}__", _binary(_op))
    setattr(_Handle, f"__r{_name}__", _binary(_op, is_reflected=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(_Handle, f"__{_name}__", _binary(_name))
for _name in ("neg", "abs"):
    setattr(_Handle, f"__{_name}__", lambda self, op=_name: self._definition._call(op, [self], {}))


def _numbers_of(what, values):
    values = list(values)
    for each in values:
        if isinstance(each, bool) or not isinstance(each, int):
            raise TypeError(f"{what}: {each!r} is no integer")
        if not -2**63 <= each < 2**63:
            raise ValueError(f"{what}: {each} does not fit 64 bits")
    return values


def _strided(sizes, strides):
    """The contiguity of each axis, slowest first, and the ranks of axes, 0 the fastest, of an array."""
    if len(sizes) != len(strides):
        raise ValueError(f"The number of sizes does not match the number of strides. ({len(sizes)} and {len(strides)})")
    rank = len(sizes)
    # The slower axis first; of axes with one stride, the order of the shape.
    order = sorted(range(rank), key=lambda axis: (-abs(strides[axis]), axis))
    contiguity, dense = [], 1
    for axis in reversed(order):
        if sizes[axis] == 1:
            contiguity.append(None)
            continue
        contiguity.append(strides[axis] == dense)
        dense = strides[axis] * sizes[axis]
    ranks = [0] * rank
    for rank_of_axis, axis in enumerate(reversed(order)):
        ranks[axis] = rank_of_axis
    return contiguity[::-1], ranks


class FusionDefinition:
    """A tensor program.

        with FusionDefinition() as fd:
            x = fd.define_tensor([-1, -1])
            fd.add_output(fd.ops.sum(x, 1))
        y, = fd.execute([array])

    A subclass may define itself in `definition(self)` instead. One thread defines; any threads execute.
    """

    def __init__(self, id=None, max_length=1024):
        self._name = "fusion" if id is None else f"fusion_{id}"
        self._max_length = max_length
        self._begin()
        self._forget_programs()
        self._is_defining = False
        self._lock = threading.RLock()
        self.ops = Operators(self)
        self.sched = ScheduleOperators(self)
        _definitions.add(self)

    def _begin(self):
        self._native = _tokamak.Definition(self._name)
        self._is_complete = False
        self._calls = 0
        self._stride_orders = {}

    def _forget_programs(self):
        self._program = None  # that ran last
        self._programs = {}  # by device, and whether they are as if nothing had been scheduled by hand
        self._has_run = False  # its schedule()

    # --- states ---

    def __enter__(self):
        self._require_open()
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self._complete()

    def definition(self):
        """What a subclass defines."""
        raise NotImplementedError("definition() should be implemented by a subclass")

    def schedule(self):
        """What a subclass schedules, by calls of self.sched."""
        raise NotImplementedError("schedule() should be implemented by a subclass")

    def _complete(self):
        if self._calls == 0:
            raise _tokamak.DefinitionError("Can't make a FusionDefinition with 0 records!")
        self._is_complete = True

    def _require_open(self):
        if self._is_complete:
            raise _tokamak.DefinitionError("Attempting to add to a completed definition!")

    def _count(self):
        self._require_open()
        self._calls += 1
        if self._calls > self._max_length:
            raise _tokamak.DefinitionError(f"The fusion definition has exceeded {self._max_length} operations. "
                                           "The max_length for FusionDefinition's might need to be increased")

    # --- inputs ---

    def define_tensor(self, *args, **kwargs):
        """An input tensor.

        define_tensor(shape, contiguity=False, dtype=DataType.Float, is_cpu=False, stride_order=[])
        define_tensor(sizes, strides, dtype=DataType.Float, static_sizes=False, is_cpu=False)

        In `shape`, -1 is a symbol, 1 an axis that broadcasts, and other numbers are sizes. `contiguity` says of each
        axis, the slowest first, whether it is dense with the next one in memory (None where it broadcasts). The second
        form takes both from an array's sizes and strides.
        """
        self._count()
        second = args[1] if len(args) > 1 else None
        is_of_array = "strides" in kwargs or "sizes" in kwargs or (
            isinstance(second, (list, tuple)) and len(second) > 0 and all(
                isinstance(each, int) and not isinstance(each, bool) for each in second))
        return self._strided_input(*args, **kwargs) if is_of_array else self._shaped_input(*args, **kwargs)

    def _shaped_input(self, shape, contiguity=False, dtype=DataType.Float, is_cpu=False, stride_order=()):
        sizes = _numbers_of("define_tensor", shape)
        order = _numbers_of("define_tensor", stride_order)
        if isinstance(contiguity, bool):
            axes = range(len(sizes))
            slowest_first = sorted(axes, key=lambda axis: -order[axis]) if len(order) == len(sizes) else axes
            contiguity = [None if sizes[axis] == 1 else contiguity for axis in slowest_first]
        return Tensor(self, self._native.input(native_name(dtype), sizes, list(contiguity), order))

    def _strided_input(self, sizes, strides, dtype=DataType.Float, static_sizes=False, is_cpu=False):
        sizes, strides = _numbers_of("define_tensor", sizes), _numbers_of("define_tensor", strides)
        contiguity, order = _strided(sizes, strides)
        if not static_sizes:
            sizes = [size if size == 1 else -1 for size in sizes]
        return Tensor(self, self._native.input(native_name(dtype), sizes, contiguity, order))

    def from_array(self, array, static_sizes=False):
        """An input tensor for arrays like this one."""
        if not getattr(array, "shape", ()):
            return self.define_tensor([], dtype=data_type_of(array.dtype))
        unit = array.itemsize if hasattr(array, "itemsize") and not hasattr(array, "element_size") else 1
        strides = array.stride() if hasattr(array, "element_size") else array.strides
        return self.define_tensor(sizes=list(array.shape), strides=[stride // unit for stride in strides],
                                  dtype=data_type_of(array.dtype), static_sizes=static_sizes)

    def from_pytorch(self, tensor, static_sizes=False):
        """An input tensor for tensors of torch like this one."""
        return self.from_array(tensor, static_sizes)

    def define_scalar(self, value=None, dtype=None):
        """define_scalar(dtype=DataType.Double): an input. define_scalar(value, dtype): a constant."""
        self._count()
        if isinstance(value, DataType):
            value, dtype = None, value
        if value is None:
            return Scalar(self, self._native.scalar_input(native_name(dtype or DataType.Double)))
        if dtype is None:
            dtype = (DataType.Bool if isinstance(value, bool) else
                     DataType.Int if isinstance(value, int) else DataType.Double)
        return Scalar(self, self._native.constant(value, native_name(dtype)))

    def define_vector(self, values, dtype=DataType.Int):
        """define_vector(size): so many integer inputs. define_vector(values): numbers and scalars, as a list."""
        if isinstance(values, int):
            return [self.define_scalar(dtype) for _ in range(values)]
        return [each if isinstance(each, Scalar) else self.define_scalar(each, dtype) for each in values]

    # --- ops and outputs ---

    def _native_of(self, value):
        if isinstance(value, _Handle):
            return value._value
        if isinstance(value, DataType):
            return _tokamak.TypeArgument(native_name(value))
        if isinstance(value, (list, tuple)):
            return [self._native_of(each) for each in value]
        return value

    def _wrap(self, value):
        return (Tensor if value.is_tensor else Scalar)(self, value)

    def _call(self, name, positional, named):
        self._count()
        results = self._native.call(name, [self._native_of(each) for each in positional],
                                    {key: self._native_of(value) for key, value in named.items()})
        wrapped = [self._wrap(each) for each in results]
        return wrapped[0] if len(wrapped) == 1 else tuple(wrapped)

    def _require_tensor(self, op, value):
        if not isinstance(value, Tensor):
            raise TypeError(f"ops.{op} takes a tensor, not a {type(value).__name__}")

    def _size(self, tensor, axis):
        self._count()
        return self._wrap(self._native.size(tensor._value, axis))

    def add_output(self, output, alias_input=None, stride_order=None):
        """Gives a tensor to callers; with `alias_input` it is written into that input's memory instead. `stride_order`:
        the rank of each axis in memory, 0 the fastest."""
        self._count()
        if not isinstance(output, Tensor):
            raise TypeError(f"add_output takes a tensor of the definition, not a {type(output).__name__}")
        if isinstance(alias_input, (list, tuple)):
            alias_input, stride_order = None, alias_input
        if alias_input is not None:
            if not isinstance(alias_input, Tensor):
                raise TypeError(f"alias_input is a tensor of the definition, not a {type(alias_input).__name__}")
            self._native.update(output._value, alias_input._value)
            return
        if stride_order is None:
            stride_order = self._stride_orders.get(id(output), (None, ()))[1]
        self._native.output(output._value, _numbers_of("add_output", stride_order))

    # --- schedules ---

    def _require_schedulable(self):
        if not self._is_complete:
            raise _tokamak.ScheduleError("Attempting to use a SchedOperators Op prior to definition!")
        if any(not is_overridden for _, is_overridden in self._programs):
            raise _tokamak.ScheduleError("Fusion Schedule is already found! The definition has run with it")

    def _schedulable(self, tensor):
        self._require_schedulable()
        return tensor._value

    def _schedule_command(self, name, named):
        self._require_schedulable()
        return self._native.command(name, named)

    def _run_schedule(self):
        if type(self).schedule is FusionDefinition.schedule:
            return
        try:
            self.schedule()
        except BaseException:
            self._native.drop_schedule()  # the next call begins anew
            raise

    # --- running ---

    def _compiled(self, place, override_user_schedule):
        """The program for a device, compiled when it is first asked for."""
        with self._lock:
            self._define()
            key = place, override_user_schedule
            if key not in self._programs:
                if not override_user_schedule and not self._has_run:
                    self._run_schedule()
                    self._has_run = True
                is_by_hand = self._native.is_scheduled and not override_user_schedule
                self._programs[key] = _tokamak.Compiled(self._native, open_device(place), is_by_hand)
            return self._programs[key]

    def _define(self):
        if self._is_complete:
            return
        if type(self).definition is FusionDefinition.definition:
            raise _tokamak.DefinitionError("Valid fusion schedule is not available! The definition is not finished: "
                                           "leave its `with` first")
        if self._is_defining:
            raise _tokamak.DefinitionError("Valid fusion schedule is not available! The definition is not finished: "
                                           "leave its definition() first")
        self._is_defining = True
        try:
            self.definition()
            self._complete()
        except BaseException:
            self._begin()  # the next call begins anew
            raise
        finally:
            self._is_defining = False

    def execute(self, inputs, *, device=None, override_user_schedule=False, out=None):
        """Runs on arrays and numbers, one for each input in the order of their definition; gives a list of arrays.

        Arrays are those of NumPy, torch, JAX, CuPy and all others that have DLPack, on the CPU or on one GPU, without a
        copy; outputs are made by the library of the first one. On a GPU the call returns at once, in order with the
        current stream of that library. Gradients do not flow through it.

        `out`: arrays to write into, one for each output. What a size needs is compiled when it first comes, and kept.
        `device`: 'cpu', 'cuda' or 'cuda:0', for calls without arrays.
        `override_user_schedule`: as if nothing had been scheduled by hand."""
        if not isinstance(inputs, (list, tuple)):
            inputs = list(inputs)
        if out is not None and not isinstance(out, (list, tuple)):
            out = list(out)
        if self._program is not None and device is None and not override_user_schedule:
            outputs = self._program.try_execute(inputs, out)
            if outputs is not None:
                return outputs
        return self._execute(list(inputs), out, device, override_user_schedule)

    def _execute(self, inputs, out, device, override_user_schedule):
        """Calls of any kind."""
        place = place_of(inputs, device)
        program = self._compiled(place, override_user_schedule)
        if not override_user_schedule:
            self._program = program
        outputs = program.try_execute(inputs, out)
        if outputs is not None:
            return outputs
        maker = maker_for(inputs if out is None else [*inputs, *out], place)
        call = program.call(inputs, maker.stream)
        if out is None:
            arrays, given = make_outputs(maker, call.output_layouts(), inputs)
            call.run(given)
            return [maker.given(each) for each in arrays]
        if len(out) != program.output_count:
            raise _tokamak.BindError(f"out: {len(out)} arrays for {program.output_count} outputs")
        for i, each in enumerate(out):
            if each is None:
                raise TypeError(f"out: entry {i} is None; out has an array for each output, or is left out")
        call.run(out)
        return list(out)

    def fusion_ir(self):
        """The fusion as a text, which the command line reads, too."""
        return self._native.text()

    __str__ = fusion_ir


from .schedule import ScheduleOperators  # noqa: E402 (which needs Tensor)

_definitions = weakref.WeakSet()


def _begin_in_child():
    """A forked process compiles again."""
    for each in list(_definitions):
        keep_for_parent((each._program, each._programs))
        each._lock = threading.RLock()
        each._forget_programs()


os.register_at_fork(after_in_child=_begin_in_child)
