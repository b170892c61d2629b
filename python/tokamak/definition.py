"""FusionDefinition: a tensor program, defined by calls and run on arrays."""
from __future__ import annotations

import contextlib
import os
import re
import threading
import types
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from . import _calls, _profile, _repro, _tokamak
from ._arguments import flag, integer, integers, listed, plain, real, shown
from ._arrays import name_of, note_written, place_of, require_written_by_hand, strides_of
from ._compare import difference
from ._config import config
from ._devices import keep_for_parent
from ._html import page_of
from ._legacy_options import DISABLE_OPTIONS, ENABLE_OPTIONS
from ._ops import Operators
from ._programs import program_for
from ._records import Records, ScheduleRecords
from ._types import DataType, data_type_of, native_name
from ._values import Handle, Number, Scalar, Size, Tensor, Vector
from .explain import Explanation, explanation_of

if TYPE_CHECKING:
    from .schedule import ScheduleOperators


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


def compute_contiguity(sizes, strides):
    """Of each axis of an array, the slowest first, whether it is dense with the next one in memory; None for an axis
    with one element. Raises ValueError where there is not a stride, in elements, for each size."""
    return compute_tensor_descriptor(sizes, strides)[0]


def compute_tensor_descriptor(sizes, strides):
    """compute_contiguity(), and the rank of each axis in memory, 0 the fastest: what define_tensor() takes as
    `contiguity` and `stride_order`."""
    return _strided(integers("compute_tensor_descriptor: sizes", sizes),
                    integers("compute_tensor_descriptor: strides", strides))


def _list_of_inputs(what, inputs):
    """A list of what came as one. Raises TypeError for an array, whose rows would be taken for inputs."""
    if hasattr(inputs, "shape") and hasattr(inputs, "dtype"):
        raise TypeError(f"{what} takes a list of inputs, one for each of the definition; this is an array: "
                        f"{what}([x])")
    return listed(f"{what}: inputs", inputs)


class FusionDefinition:
    """A tensor program.

        with FusionDefinition() as fd:
            x = fd.define_tensor([-1, -1])
            fd.add_output(fd.ops.sum(x, 1))
        y, = fd.execute([array])

    A subclass may define itself in `definition(self)` instead. One thread defines; any threads execute.
    """

    _division = "truediv"  # what `/` is
    _library = "numpy"  # which makes the outputs of calls without arrays
    _tensor_class: type[Tensor] = Tensor

    def __init__(self, id: object = None, max_length: int = 1024) -> None:
        max_length = integer("FusionDefinition: max_length", max_length)
        self._id = id
        words = "" if id is None else f"_{id if isinstance(id, str) else shown(id)}"
        self._name = re.sub(r"\W", "_", f"fusion{words}", flags=re.ASCII)
        self._max_length = max_length
        self._begin()
        self._forget_programs()
        self._is_defining = False
        self._is_scheduling = False
        self._lock = threading.RLock()
        self.ops: Operators = Operators(self)
        self.sched: ScheduleOperators = ScheduleOperators(self)
        with _definitions_lock:
            _definitions.add(self)

    def _begin(self):
        self._native = _tokamak.Definition(self._name)
        self._is_complete = False
        self._is_scheduled = False  # by commands: those that read, or set meshes, make a schedule that says nothing
        self._has_marked = False  # its meshes
        self._calls = 0
        self._stride_orders = {}
        self._records = Records()
        self._schedule_records = ScheduleRecords(self._records)
        self._inputs = []
        self._outputs = []
        self._symbolic_axes = []  # of inputs, as pairs of a tensor and an axis
        self._updated = []  # numbers of inputs that calls write
        self._seed = self._seed_place = None  # of random numbers that no input steers

    def _forget_programs(self):
        self._program = self._last = None  # that ran last, and what for
        self._fast = None  # the same program while no context of config is open: calls begin with it
        self._programs = {}  # and last calls, by device, and whether they are as if nothing had been scheduled by hand
        self._row_major_programs = {}  # by device and options, for compilers of others
        self._has_run = False  # its schedule()
        self._last_profile = None

    # --- states ---

    def __enter__(self) -> FusionDefinition:
        self._require_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> None:
        if kind is None:
            self._complete()

    def definition(self) -> None:
        """What a subclass defines."""
        raise NotImplementedError("definition() should be implemented by a subclass")

    def multidevice_schedule(self) -> None:
        """What a subclass says of meshes, by calls of self.sched, before its schedule()."""

    def schedule(self) -> None:
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

    @overload
    def define_tensor(self, shape: Sequence[SupportsIndex],
                      contiguity: bool | Sequence[bool | None] = False, dtype: DataType = DataType.Float,
                      is_cpu: bool = False, stride_order: Sequence[SupportsIndex] = ()) -> Tensor: ...

    @overload
    def define_tensor(self, sizes: Sequence[SupportsIndex], strides: Sequence[SupportsIndex],
                      dtype: DataType = DataType.Float, static_sizes: bool = False,
                      is_cpu: bool = False) -> Tensor: ...

    def define_tensor(self, *args: Any, **kwargs: Any) -> Tensor:
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
            isinstance(second, (list, tuple)) and len(second) > 0 and all(type(plain(each)) is int for each in second))
        return self._strided_input(*args, **kwargs) if is_of_array else self._shaped_input(*args, **kwargs)

    def _shaped_input(self, shape, contiguity=False, dtype=DataType.Float, is_cpu=False, stride_order=()):
        sizes = integers("define_tensor: shape", shape)
        order = integers("define_tensor: stride_order", stride_order)
        contiguity = plain(contiguity)
        if isinstance(contiguity, bool):
            axes = range(len(sizes))
            slowest_first = sorted(axes, key=lambda axis: -order[axis]) if len(order) == len(sizes) else axes
            contiguity = [None if sizes[axis] == 1 else contiguity for axis in slowest_first]
        entries = [None if each is None else flag("define_tensor: contiguity", each)
                   for each in listed("define_tensor: contiguity", contiguity)]
        return self._tensor_input(sizes, entries, dtype, is_cpu, order)

    def _tensor_input(self, sizes, contiguity, dtype, is_cpu, stride_order):
        is_cpu = flag("define_tensor: is_cpu", is_cpu)
        described = {"shape": sizes, "contiguity": contiguity, "dtype": dtype, "is_cpu": is_cpu,
                     "stride_order": stride_order}
        made = self._records.call("define_tensor", described, lambda: self._tensor_class(
            self, self._native.input(native_name(dtype), sizes, contiguity, stride_order)))
        self._inputs.append(made)
        self._symbolic_axes += [(made, axis) for axis, size in enumerate(sizes) if size == -1]
        return made

    def _strided_input(self, sizes, strides, dtype=DataType.Float, static_sizes=False, is_cpu=False):
        sizes = integers("define_tensor: sizes", sizes)
        strides = integers("define_tensor: strides", strides)
        contiguity, order = _strided(sizes, strides)
        if not flag("define_tensor: static_sizes", static_sizes):
            sizes = [size if size == 1 else -1 for size in sizes]
        return self._tensor_input(sizes, contiguity, dtype, is_cpu, order)

    def from_array(self, array: Any, static_sizes: bool = False) -> Tensor:
        """An input tensor for arrays like this one."""
        if not hasattr(array, "shape") or not hasattr(array, "dtype"):
            raise TypeError(f"from_array takes an array, with a shape and a dtype, not {shown(array)}")
        if not array.shape:
            return self.define_tensor([], dtype=data_type_of(array.dtype))
        return self.define_tensor(sizes=list(array.shape), strides=strides_of(array),
                                  dtype=data_type_of(array.dtype), static_sizes=static_sizes)

    def from_pytorch(self, tensor: Any, static_sizes: bool = False) -> Tensor:
        """An input tensor for tensors of torch like this one."""
        return self.from_array(tensor, static_sizes)

    def define_scalar(self, value: Number | DataType | None = None, dtype: DataType | None = None) -> Scalar:
        """define_scalar(dtype=DataType.Double): an input. define_scalar(value, dtype): a constant."""
        self._count()
        if isinstance(value, DataType):
            value, dtype = None, value
        if value is None:
            dtype = dtype or DataType.Double
            made = self._records.call("define_scalar", {"dtype": dtype}, lambda: Scalar(
                self, self._native.scalar_input(native_name(dtype))))
            self._inputs.append(made)
            return made
        if dtype is None:
            dtype = (DataType.Bool if isinstance(value, bool) else
                     DataType.Int if isinstance(value, int) else DataType.Double)
        return self._records.call("define_scalar", {0: value, "dtype": dtype}, lambda: Scalar(
            self, self._native.constant(value, native_name(dtype))))

    def define_vector(self, values: SupportsIndex | Iterable[Size], dtype: DataType = DataType.Int) -> Vector:
        """define_vector(size): so many integer inputs. define_vector(values): numbers and scalars, as a list."""
        values = plain(values)
        if not hasattr(type(values), "__index__"):
            return Vector(each if isinstance(each, Scalar) else self.define_scalar(each, dtype)
                          for each in listed("define_vector", values))
        size = integer("define_vector: a size", values)
        if size < 0:
            raise ValueError(f"define_vector: {size} is no size; legal are 0 and more")
        return Vector(self.define_scalar(dtype) for _ in range(size))

    define_constant = define_scalar  # as older scripts call it

    # --- ops and outputs ---

    def _native_of(self, value):
        if isinstance(value, Handle):
            return value._value
        if isinstance(value, DataType):
            return _tokamak.TypeArgument(native_name(value))
        value = plain(value)
        if not isinstance(value, (list, tuple)):
            return value
        if any(isinstance(each, (list, tuple)) for each in value):
            raise TypeError("a list of lists is no argument of an op; legal are lists of tensors, scalars and numbers")
        return [self._native_of(each) for each in value]

    def _wrap(self, value):
        return (self._tensor_class if value.is_tensor else Scalar)(self, value)

    def _call(self, name, positional, named):
        self._count()
        results = self._native.call(name, [self._native_of(each) for each in positional],
                                    {key: self._native_of(value) for key, value in named.items()})
        wrapped = [self._wrap(each) for each in results]
        return wrapped[0] if len(wrapped) == 1 else tuple(wrapped)

    def _require_tensor(self, op, value):
        if not isinstance(value, Tensor):
            raise TypeError(f"ops.{op} takes a tensor, not a {type(value).__name__}")

    def _cast(self, value, dtype):
        if isinstance(value, Scalar):
            self._count()
            return self._wrap(self._native.cast(value._value, native_name(dtype)))
        return self._call("cast", [value], {"dtype": dtype})

    def _update(self, value, target):
        self._native.update(value._value, target._value)
        self._updated += [i for i, each in enumerate(self._inputs) if each is target]

    def _seed_of_calls(self):
        """Two inputs that each call fills: others than the call before."""
        if self._seed is None:
            self._seed_place = self._native.input_count
            self._seed = [self.define_scalar(DataType.Int) for _ in range(2)]
        return self._seed

    def _size(self, tensor, axis):
        self._count()
        return self._wrap(self._native.size(tensor._value, axis))

    def add_output(self, output: Tensor, alias_input: Tensor | Sequence[int] | None = None,
                   stride_order: Sequence[int] | None = None) -> None:
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
            self._records.call("add_output", {0: output, 1: alias_input}, lambda: self._update(output, alias_input))
            return
        order = self._stride_orders.get(id(output), (None, ()))[1] if stride_order is None else stride_order
        order = integers("add_output: stride_order", order)
        told = {0: output} if stride_order is None else {0: output, "stride_order": order}
        self._records.call("add_output", told, lambda: self._native.output(output._value, order))
        self._outputs.append(output)

    # --- schedules ---

    def _require_complete(self):
        self._define_in_subclass()
        if not self._is_complete:
            raise _tokamak.ScheduleError("Attempting to use a SchedOperators Op prior to definition!")

    def _require_schedulable(self):
        self._require_complete()
        if self._has_programs():
            raise _tokamak.ScheduleError("Fusion Schedule is already found! The definition has run with it")

    def _has_programs(self):
        """Whether it has run, with its schedule."""
        return bool(self._row_major_programs) or any(not is_overridden for _, is_overridden, _ in self._programs)

    def _schedulable(self, tensor):
        self._require_schedulable()
        return tensor._value

    def _schedule_command(self, name, named):
        self._require_schedulable()
        made = self._native.command(name, named)
        self._is_scheduled = True
        return made

    def _drop_schedule(self):
        self._native.drop_schedule()
        self._is_scheduled = False

    def _mark_meshes(self):
        """Runs multidevice_schedule(), once."""
        if self._has_marked or type(self).multidevice_schedule is FusionDefinition.multidevice_schedule:
            return
        self._has_marked = True
        try:
            self.multidevice_schedule()
        except BaseException:
            self._drop_schedule()  # the next call begins anew
            self._has_marked = False
            raise

    def _schedules_itself(self):
        has_meshes = type(self).multidevice_schedule is not FusionDefinition.multidevice_schedule
        return has_meshes or type(self).schedule is not FusionDefinition.schedule

    def _run_schedule(self, place, inputs):
        if type(self).schedule is FusionDefinition.schedule:
            return
        if self._is_scheduling:
            raise _tokamak.ScheduleError("execute inside of schedule(): the schedule of this call is not made yet; "
                                         "schedule() has the call's sizes, and its tensors")
        self._is_scheduling = True
        try:
            self.sched._begin_call(place, inputs)
            self.schedule()
        except BaseException:
            self._drop_schedule()  # the next call begins anew
            self._schedule_records.forget()
            self.sched._forget_parameters()
            raise
        finally:
            self._is_scheduling = False
            self.sched._end_call()

    # --- running ---

    def _compiled(self, place, override_user_schedule, inputs):
        """The program for a device, compiled when a call with these inputs first asks for it, and what notes its last
        call."""
        with self._lock:
            self._define()
            key = place, override_user_schedule, (config.part("device"), config.part("compile"))
            if key not in self._programs:
                if not override_user_schedule:
                    self._run_schedule_once(place, inputs)
                self._programs[key] = self._made(place, override_user_schedule), _tokamak.LastCall()
            return self._programs[key]

    def _compiled_to_look(self, place, override_user_schedule, inputs):
        """The same program, which is not kept before a call has run: schedule commands stay legal until then."""
        with self._lock:
            self._define()
            if self._has_programs() or self._schedules_itself():
                return self._compiled(place, override_user_schedule, inputs)[0]
            return self._made(place, override_user_schedule)

    def _made(self, place, override_user_schedule):
        if not override_user_schedule:
            self._require_one_device("execute")
        return program_for(self._native, place, self._is_scheduled and not override_user_schedule)

    def _require_one_device(self, what):
        devices = _tokamak.mesh_devices(self._native)
        if len(devices) > 1:
            raise _tokamak.UnsupportedError(
                f"{what}: the definition is spread over devices {', '.join(map(str, devices))}, and this is for one; "
                "MultiDeviceExecutor(fd, communicator) is for a rank of several")

    def _compiled_row_major(self, place, inputs):
        """The same for callers that own the outputs, which are row-major."""
        with self._lock:
            self._define()
            key = self._row_major_key(place)
            if key not in self._row_major_programs:
                self._run_schedule_once(place, inputs)
                self._require_one_device("call")
                self._row_major_programs[key] = program_for(self._native, place, self._is_scheduled,
                                                            is_row_major=True)
            return self._row_major_programs[key]

    def _row_major_key(self, place):
        return place, config.part("device"), config.part("compile")

    def _run_schedule_once(self, place, inputs):
        if not self._has_run:
            self._mark_meshes()
            self._run_schedule(place, inputs)
            self._has_run = True

    def _for_programs(self, what):
        """The native definition, complete, for a program of its own."""
        with self._lock:
            self._define()
            self._mark_meshes()
            if self._seed is not None:
                raise _tokamak.UnsupportedError(f"{what}: the definition draws random numbers, and nobody gives their "
                                                "seed; give the ops rng_seed and rng_offset")
            return self._native

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

    def _define_in_subclass(self):
        """The definition() of a subclass that nothing has asked for yet; others are left as they are."""
        if self._is_complete or type(self).definition is FusionDefinition.definition:
            return
        with self._lock:
            if self._calls == 0 and not self._is_defining:
                self._define()

    def execute(self, inputs: Iterable[Any], *, device: str | int | None = None,
                override_user_schedule: bool = False, capture_debug_output: bool = False, print_repro: bool = False,
                profile: bool = False, save_repro_inputs: bool = False, _enable_options: Iterable[str] = (),
                _disable_options: Iterable[str] = (), out: Iterable[Any] | None = None,
                options: Mapping[str, Any] | None = None) -> list[Any]:
        """Runs on arrays and numbers, one for each input in the order of their definition; gives a list of arrays.

        Arrays are those of NumPy, torch, JAX, CuPy and all others that have DLPack, on the CPU or on one GPU, without a
        copy; outputs are made by the library of the first one (without arrays, NumPy). On a GPU the call returns at
        once, in order with the current stream of that library. Gradients do not flow through it.

        `out`: arrays to write into, one for each output. What a size needs is compiled when it first comes, and kept.
        `device`: 'cpu', 'cuda' or 'cuda:0', for calls without arrays; or 'interpreter', which checks every access.
        `override_user_schedule`: as if nothing had been scheduled by hand. `profile`: profile() tells what this call
        took. `print_repro`: prints a script that repeats the call, with the inputs' values where `save_repro_inputs`.
        `options`: those of tokamak.config, for this call. Names in `_enable_options` and `_disable_options` are those
        of another system, and change nothing.

        An error inside the library (not in what was given) names a script that repeats the call: config has `repro`."""
        if not isinstance(inputs, (list, tuple)):
            inputs = _list_of_inputs("execute", inputs)
        if (_enable_options or _disable_options or capture_debug_output or profile or save_repro_inputs or print_repro
                or options):
            self._check_options(_enable_options, _disable_options, capture_debug_output)
            if print_repro or save_repro_inputs:
                self._print_repro(inputs, device, override_user_schedule, print_repro, save_repro_inputs)
            if profile or options:
                return self._execute_with(profile, options, inputs, device, override_user_schedule, out)
        if self._seed is not None:
            inputs = self._with_seed(self._flat(inputs))
        if out is not None and not isinstance(out, (list, tuple)):
            out = listed("execute: out", out)
        written = self._written(inputs, out) if self._updated else out
        if written is not None:
            require_written_by_hand(written)
        try:
            program = self._fast
            if program is not None and device is None and not override_user_schedule:
                outputs = program.try_execute(inputs, out, self._last)
                if outputs is not None:
                    if written is not None:
                        note_written(written)
                    return outputs
            return self._execute(self._flat(inputs), out, device, override_user_schedule)
        except _tokamak.Error as error:
            self._note_repro(error, inputs, device, override_user_schedule)
            raise

    def _execute_with(self, is_profiled, options, inputs, device, override_user_schedule, out):
        with contextlib.ExitStack() as stack:
            if options:
                stack.enter_context(config.as_arguments(options))
            measured = stack.enter_context(_profile.profile()) if is_profiled else None
            outputs = self.execute(inputs, device=device, override_user_schedule=override_user_schedule, out=out)
        if measured is not None:
            self._last_profile = measured
        return outputs

    def _with_seed(self, inputs):
        """With the two numbers of this call for random numbers that no input steers."""
        if self._seed is None:
            return inputs
        return [*inputs[:self._seed_place], self._draw_seed(), 0, *inputs[self._seed_place:]]

    def _draw_seed(self):
        import random

        return random.getrandbits(62)

    def _flat(self, inputs):
        """A list among the inputs stands for the scalars of a vector."""
        if len(inputs) == self._native.input_count:
            return list(inputs)
        return [entry for each in inputs for entry in (each if isinstance(each, (list, tuple)) else (each,))]

    def _check_options(self, enabled, disabled, capture_debug_output):
        for kind, names, known in (("enable", enabled, ENABLE_OPTIONS), ("disable", disabled, DISABLE_OPTIONS)):
            for name in listed(f"execute: _{kind}_options", names):
                if name not in known:
                    raise _tokamak.Error(f"Unrecognized {kind}_option: {name}")
        if capture_debug_output:
            raise NotImplementedError("execute: capture_debug_output is not there; explain() says what a call becomes")

    def validate(self, inputs: Iterable[Any], reference_outputs: Iterable[Any], *, rtol: float | None = None,
                 atol: float | None = None, **options: Any) -> None:
        """Runs and compares each output with its reference, element by element: |output - reference| is at most
        atol + rtol * |reference|; both are the square root of the type's epsilon by default, and 0 for integers.
        `options`: those of execute(). Raises tokamak.Error for the first output that differs."""
        rtol, atol = (None if each is None else real(f"validate: {name}", each)
                      for name, each in (("rtol", rtol), ("atol", atol)))
        references = listed("validate: reference_outputs", reference_outputs)
        outputs = self.execute(inputs, **options)
        if len(references) != len(outputs):
            raise _tokamak.Error(f"validate: {len(references)} references for {len(outputs)} outputs")
        for i, (output, reference) in enumerate(zip(outputs, references)):
            complaint = difference(output, reference, rtol, atol)
            if complaint:
                raise _tokamak.Error(f"Validation error in output {i}: {complaint}")

    def _written(self, inputs, out):
        return [*(out or ()), *(inputs[i] for i in self._updated if i < len(inputs))]

    def _execute(self, inputs, out, device, override_user_schedule):
        """Calls of any kind."""
        try:
            return self._executed(inputs, out, device, override_user_schedule)
        finally:
            if (out is not None or self._updated) and len(inputs) == len(self._inputs):
                note_written(self._written(inputs, out))

    def _executed(self, inputs, out, device, override_user_schedule):
        try:
            place = place_of(inputs, device)
        except Exception:
            _calls.require_memory(inputs)
            raise
        program, last = self._compiled(place, override_user_schedule, inputs)
        if not override_user_schedule:
            self._program, self._last = program, last
            config.keep_unless_in_contexts(lambda: self._keep(program))
        try:
            return _calls.run(program, inputs, out, last, place, self._library)
        except _tokamak.Error:
            self._let_go_unless_it_ran(program, last)
            raise

    def _let_go_unless_it_ran(self, program, last):
        """After a call that failed: what has never run keeps nobody from mending its schedule."""
        if last.inputs() is not None:
            return
        with self._lock:
            self._programs = {key: each for key, each in self._programs.items() if each[0] is not program}
            if self._fast is program:
                self._fast = None

    def _keep(self, program):
        """Calls from now on begin with this program."""
        self._fast = program

    # --- scripts that repeat a call ---

    def _script(self, described, place, override_user_schedule, saved_as=None):
        call = f"execute(inputs{', override_user_schedule=True' if override_user_schedule else ''})"
        return _repro.script(self._name, self._records, self._schedule_records, described, place, call, saved_as)

    def repro_script_for(self, inputs: Iterable[Any], override_user_schedule: bool = False,
                         save_inputs: bool = False) -> str:
        """A script in Python that makes the definition again, with its schedule, and calls it with inputs like these:
        of their types, sizes and strides, with random values, or with theirs where `save_inputs`, which writes them to
        a file in config's repro_folder."""
        self._define()
        inputs = self._flat(_list_of_inputs("repro_script_for", inputs))
        described, place = _repro.describe_inputs(inputs), place_of(inputs, None)
        saved_as = _repro.save_inputs(self._name, inputs) if save_inputs else None
        return self._script(described, place, override_user_schedule, saved_as)

    def last_repro_script(self) -> str:
        """repro_script_for() inputs like those of the last call. Raises tokamak.Error where there was none."""
        if self._last is None or (told := self._last.inputs()) is None:
            raise _tokamak.Error("The definition has never been executed; repro_script_for(inputs) needs no call")
        place = next(key[0] for key, each in self._programs.items() if each[0] is self._program)
        if self._seed is not None:
            told = told[:self._seed_place] + told[self._seed_place + 2:]
        library = "torch" if self._library == "torch" else "numpy"
        described = [each if isinstance(each, (bool, int, float)) else (*each, library, 0, 1) for each in told]
        return self._script(described, place, False)

    def _print_repro(self, inputs, device, override_user_schedule, is_printed, saves_inputs):
        self._define()
        given = self._flat(inputs)
        saved_as = _repro.save_inputs(self._name, given) if saves_inputs else None
        text = self._script(_repro.describe_inputs(given), place_of(given, device), override_user_schedule, saved_as)
        if is_printed:
            print(text)
        else:
            print(f"tokamak: {_repro.write(self._name, text)} repeats the call")

    def _note_repro(self, error, inputs, device, override_user_schedule):
        if not _repro.is_ours(error) or config.get("repro") == "off":
            return

        def write_script():
            given = list(inputs)
            if self._seed is not None:
                del given[self._seed_place:self._seed_place + 2]
            given = self._flat(given)
            saved_as = _repro.save_inputs(self._name, given) if config.get("repro_inputs") else None
            return _repro.write(self._name, self._script(_repro.describe_inputs(given), place_of(given, device),
                                                         override_user_schedule, saved_as))

        _repro.note_on(error, write_script)

    # --- looking inside ---

    def explain(self, inputs: Iterable[Any] | None = None, override_user_schedule: bool = False) -> Explanation:
        """What becomes of a call with inputs like these, or like those of the last call: segments and why they are
        cut, kernels with their parameters and what speaks against other kinds, bytes, memory, waits, compilations. It
        compiles what such a call needs, and runs nothing. Raises tokamak.Error without inputs before the first call."""
        if inputs is not None:
            inputs = self._flat(_list_of_inputs("explain", inputs))
            place = place_of(inputs, None)
            program = self._compiled_to_look(place, override_user_schedule, inputs)
            told = program.call(self._with_seed(inputs), None).explain()
        else:
            program, last = self._latest_program(override_user_schedule)
            told = program.explain_last(last)
            if told is None:
                raise _tokamak.Error("The definition has never been executed; explain(inputs) needs no call")
            place = next(key[0] for key, each in self._programs.items() if each[0] is program)
        with self._lock:
            others = tuple(f"{name_of(key[0])}{', as if not scheduled by hand' if key[1] else ''}"
                           f"{', options ' + str(dict(key[2][0] + key[2][1])) if any(key[2]) else ''}"
                           for key, each in self._programs.items() if each[0] is not program)
        return explanation_of(told, name_of(place), program, others)

    def _latest_program(self, override_user_schedule):
        """The program that ran last, and what for. Raises tokamak.Error where there is none."""
        used = ([each for (_, is_overridden, _), each in self._programs.items() if is_overridden]
                if override_user_schedule else [(self._program, self._last)] if self._program is not None else [])
        if not used:
            raise _tokamak.Error("The definition has never been executed; explain(inputs) needs no call")
        return used[-1]

    def profile(self) -> _profile.Profile:
        """What the last execute(profile=True) took. Raises tokamak.Error where there was none."""
        if self._last_profile is None:
            raise _tokamak.Error("profile: no call was measured; execute(inputs, profile=True) measures one")
        return self._last_profile

    def _repr_html_(self) -> str:
        return page_of(self)

    def id(self) -> object:
        """What the constructor was given as `id`."""
        return self._id

    def inputs(self) -> list[Tensor | Scalar]:
        """The input tensors and scalars, in the order in which calls take them."""
        self._define_in_subclass()
        return [each for each in self._inputs if not any(each is seed for seed in self._seed or ())]

    def outputs(self) -> list[Tensor]:
        """The tensors that calls give, in that order."""
        self._define_in_subclass()
        return list(self._outputs)

    def extents(self) -> list[Scalar]:
        """The sizes of input tensors that are symbols, as scalars: tensor by tensor, axis by axis."""
        self._define_in_subclass()
        return [self._wrap(self._native.size(tensor._value, axis)) for tensor, axis in self._symbolic_axes]

    def _texts_for(self, what, inputs, override_user_schedule, is_cuda):
        """Of each kernel its fusion, its name and its source."""
        inputs = self._flat(_list_of_inputs(what, inputs))
        program = self._compiled_to_look(place_of(inputs, None), override_user_schedule, inputs)
        return program.call(self._with_seed(inputs), None).kernel_texts(is_cuda)

    def _last_texts(self, override_user_schedule, is_cuda):
        used = ([each for (_, is_overridden, _), each in self._programs.items() if is_overridden]
                if override_user_schedule else [(self._program, self._last)] if self._program is not None else [])
        texts = used[-1][0].last_kernel_texts(used[-1][1], is_cuda) if used else None
        if texts is None:
            raise _tokamak.Error("The definition has never been executed; cuda_code_for(inputs) compiles for inputs")
        return texts

    def _joined(self, texts):
        """Texts of kernels; a comment where there are none."""
        return "\n".join(texts) or f"// {self._name}: no kernel is made; its ops are calls of the library"

    def cuda_code_for(self, inputs: Iterable[Any], intrinsic_code: bool = False,
                      override_user_schedule: bool = False) -> str:
        """The CUDA source of the kernels that a call with inputs like these takes on their GPU, or on an H200 where
        they are on the host; no GPU is needed. The source is all that is compiled, with `intrinsic_code` or without.
        A comment says so where there is no kernel."""
        return self._joined(source for _, _, source in self._texts_for("cuda_code_for", inputs, override_user_schedule,
                                                                        True))

    def last_cuda_code(self, intrinsic_code: bool = False, override_user_schedule: bool = False) -> str:
        """cuda_code_for() the inputs of the last call."""
        return self._joined(source for _, _, source in self._last_texts(override_user_schedule, True))

    def source_for(self, inputs: Iterable[Any], override_user_schedule: bool = False) -> str:
        """The source of the kernels that a call with inputs like these takes where they are: C on the processor. A
        comment says so where there is no kernel."""
        return self._joined(source for _, _, source in self._texts_for("source_for", inputs, override_user_schedule,
                                                                        False))

    def scheduled_fusion_ir_for(self, inputs: Iterable[Any], tensor_transforms: bool = False,
                                override_user_schedule: bool = False) -> str:
        """The kernels of a call with inputs like these as fusions with their schedules, which are always there.
        A comment says so where there is no kernel."""
        return self._joined(text for text, _, _ in self._texts_for("scheduled_fusion_ir_for", inputs,
                                                                    override_user_schedule, False))

    def last_scheduled_fusion_ir(self, tensor_transforms: bool = False,
                                 override_user_schedule: bool = False) -> str:
        """scheduled_fusion_ir_for() the inputs of the last call."""
        return self._joined(text for text, _, _ in self._last_texts(override_user_schedule, False))

    def fusion_ir(self) -> str:
        """The fusion as a text, which the command line reads, too."""
        self._define_in_subclass()
        return self._native.text()

    __str__ = fusion_ir

    def __repr__(self) -> str:
        """A function in Python that makes the definition again."""
        self._define_in_subclass()
        return self._records.text(self._name)


from .schedule import ScheduleOperators  # noqa: E402 (which needs Tensor)

_definitions = weakref.WeakSet()
_definitions_lock = threading.RLock()  # of who joins, and of who goes through them


def _forget_fast_programs():
    """Options may be others: the next call looks."""
    with _definitions_lock:
        known = list(_definitions)
    for each in known:
        each._fast = None


config.when_changed(_forget_fast_programs)


def _begin_in_child():
    """A forked process compiles again."""
    global _definitions_lock
    _definitions_lock = threading.RLock()
    for each in list(_definitions):
        keep_for_parent((each._program, each._programs, each._fast, each._row_major_programs))
        each._lock = threading.RLock()
        each._forget_programs()


os.register_at_fork(after_in_child=_begin_in_child)
