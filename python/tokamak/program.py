"""Programs that are compiled ahead of their calls: from definitions, from texts of fusions and of host programs, and
from exported files."""
from __future__ import annotations

import dataclasses
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from . import _calls, _tokamak
from ._arguments import flag, integer, listed, plain, shown
from ._arrays import make_outputs, maker_for, name_of, note_written, place_named, place_of, require_written_by_hand
from ._config import config
from ._devices import INTERPRETER, keep_for_parent, open_device
from ._types import DataType, data_type_of
from ._values import Scalar
from .definition import FusionDefinition
from .explain import Explanation, explanation_of


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a call replays: the host program, recorded for the sizes of its inputs."""

    steps: int
    streams: int  # that have work
    waits_written: int  # in the host program
    waits_kept: int
    intermediate_bytes: int
    output_bytes: int
    text: str  # the steps, a line each

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class ProgramStatistics:
    """What a program holds, and did since it was compiled."""

    plans: int
    plan_bytes: int  # of the host
    known_calls: int  # whose plan was there
    new_calls: int  # that made theirs
    forgotten: int  # plans that had to go
    contexts: int  # for calls under way
    device_bytes: int  # of their intermediates


@dataclasses.dataclass(frozen=True)
class Input:
    """An input of a program: `ndim` is None for a number."""

    name: str
    dtype: DataType
    ndim: int | None


class BoundCall:
    """A call whose arrays and numbers stay: each call of it reads and writes the same memory anew, looks at no argument
    and gives `outputs`, the same arrays. Any threads may call it; its runs are one after the other.

    On a GPU it returns at once, in order with the current stream of the arrays' library. A process that was forked
    binds again: a call there raises tokamak.Error."""

    def __init__(self, program: Program, native: Any, updated: Sequence[Any]) -> None:
        self._program = program
        self._run = native.run
        self._updated = [*updated]
        self._outputs = native.outputs
        with _made_lock:
            _bound_calls.add(self)

    def _begin_in_child(self) -> None:
        keep_for_parent(self._run)
        self._run = _refuse_in_child

    def __call__(self) -> list[Any]:
        self._run()
        if self._updated:
            note_written(self._updated)
        return list(self._outputs)

    @property
    def outputs(self) -> list[Any]:
        """The arrays that each run writes."""
        return list(self._outputs)


def _refuse_in_child() -> NoReturn:
    raise _tokamak.Error("A bound call has threads and memory of the process that made it; bind it again in this "
                         "process, which was forked")


class Program:
    """A compiled program, called like a function. compile() and load() make it.

        program = tokamak.compile(definition)
        y, = program(x, scale=0.5)

    What sizes need is compiled when they first come, or by prepare(). Any threads may call one program side by side. A
    process that was forked compiles, or loads, it again when it first uses it.
    """

    def __init__(self, make: Callable[[Any], Any], place: tuple[int, int], library: str = "numpy") -> None:
        """`make`: the native program on an open device."""
        self._make = make
        self._place = place
        self._library = library
        self._device_options = config.part("device")
        self._native = make(open_device(place))
        self._last = _tokamak.LastCall()
        self._updated = self._native.updated_inputs
        self._inputs = [Input(name, DataType(dtype), ndim) for name, dtype, ndim in self._native.inputs]
        with _made_lock:
            _programs.add(self)

    def _begin_in_child(self) -> None:
        keep_for_parent((vars(self).pop("_native", None), self._last))
        self._last = _tokamak.LastCall()

    def __getattr__(self, name: str) -> Any:
        """The native program, where a forked process uses it for the first time: calls need no check."""
        if name != "_native" or "_make" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with _remake_lock:
            if "_native" not in vars(self):
                self._native = self._make(open_device(self._place, self._device_options))
            return vars(self)["_native"]

    @property
    def name(self) -> str:
        """What the text calls it."""
        return self._native.name

    @property
    def device(self) -> str:
        """'cpu', 'cuda:0' or 'interpreter'."""
        return name_of(self._place)

    @property
    def inputs(self) -> list[Input]:
        """In the order in which calls take them."""
        return list(self._inputs)

    @property
    def output_names(self) -> list[str]:
        """In the order in which calls give them. Outputs that update an input in place are not among them."""
        return self._native.output_names

    def __call__(self, *inputs: Any, out: Iterable[Any] | None = None, **named: Any) -> list[Any]:
        """run() with inputs by position, then by name."""
        return self.run([*inputs, *self._by_name(len(inputs), named)] if named else inputs, out)

    def run(self, inputs: Iterable[Any] | Mapping[str, Any], out: Iterable[Any] | None = None) -> list[Any]:
        """Runs with arrays and numbers for all inputs, in their order or by their names; gives a list of arrays, made
        by the library of the first one. `out`: arrays to write into, one for each output. Raises tokamak.BindError for
        what does not fit."""
        given = self._given("run", inputs)
        written = None if out is None else listed("run: out", out)
        if written is not None or self._updated:
            require_written_by_hand(self._written(given, written))
        outputs = self._native.try_execute(given, written, self._last)
        if outputs is None:
            place = self._place_for(given)
            outputs = _calls.run_any(self._native, given, written, self._last, place, self._library)
        if written is not None or self._updated:
            note_written(self._written(given, written))
        return outputs

    def bind(self, inputs: Iterable[Any] | Mapping[str, Any], out: Iterable[Any] | None = None) -> BoundCall:
        """A call with these arrays and numbers, for many runs. Prepares, and runs nothing. Raises
        tokamak.UnsupportedError for arrays other than NumPy's and torch's."""
        given = self._given("bind", inputs)
        written = None if out is None else listed("bind: out", out)
        self._place_for(given)
        if written is not None or self._updated:
            require_written_by_hand(self._written(given, written))
        has_arrays = any(each.ndim is not None for each in self._inputs)  # whose library makes the outputs
        made = written if has_arrays or written is not None else self._outputs_for(given)
        return BoundCall(self, self._native.bind(given, made), self._written(given, written))

    def _outputs_for(self, inputs):
        """Outputs of these inputs, as run() makes them; None where one of them lies in another's memory."""
        maker = maker_for(inputs, self._place, self._library)
        arrays, given = make_outputs(maker, self._native.call(inputs, maker.stream).output_layouts(), inputs)
        return arrays if all(each is not None for each in given) else None

    def plan_for(self, inputs: Iterable[Any] | Mapping[str, Any]) -> Plan:
        """The plan that a call with such inputs replays. Prepares, and runs nothing."""
        given = self._given("plan_for", inputs)
        self._place_for(given)
        return Plan(**self._native.call(given, None).plan())

    def explain(self, inputs: Iterable[Any] | Mapping[str, Any] | None = None) -> Explanation:
        """What becomes of a call with such inputs, or like the last one, as FusionDefinition.explain() tells it. It
        prepares, and runs nothing. Raises tokamak.UnsupportedError for host programs and programs from files,
        tokamak.Error without inputs before the first call."""
        if inputs is None:
            told = self._native.explain_last(self._last)
            if told is None:
                raise _tokamak.Error("The program has never been called; explain(inputs) needs no call")
        else:
            given = self._by_name(0, inputs) if isinstance(inputs, Mapping) else listed("explain: inputs", inputs)
            self._place_for(given)
            told = self._native.call(given, None).explain()
        return explanation_of(told, self.device, self._native)

    def prepare(self, sizes: Mapping[str, Any] | None = None, **more: Any) -> None:
        """All that may be slow, for inputs of these sizes, by the names of extents: prepare(n=4096, m=512). Scalar
        inputs of integer types are told by name, too. Raises tokamak.BindError for a name that is missing or too
        much."""
        told = {**_mapping("prepare: sizes", sizes), **more}
        self._native.prepare({_name_of_size(name): _number_of("prepare", name, size) for name, size in told.items()})

    def host_text(self) -> str:
        """The host program as a text, which compile() reads."""
        return self._native.host_text()

    def statistics(self) -> ProgramStatistics:
        """What it holds, and did."""
        return ProgramStatistics(**self._native.statistics())

    def __repr__(self) -> str:
        told = ", ".join(f"{each.name}: {each.dtype.value}" + ("" if each.ndim is None else f"[{each.ndim} axes]")
                         for each in self._inputs)
        return f"<tokamak.Program {self.name}({told}) -> {', '.join(self.output_names)} on {self.device}>"

    def _given(self, what, inputs):
        return self._by_name(0, inputs) if isinstance(inputs, Mapping) else listed(f"{what}: inputs", inputs)

    def _by_name(self, position, named):
        names = [each.name for each in self._inputs]
        unknown = [name for name in named if name not in names[position:]]
        if unknown:
            given = [name for name in unknown if name in names]
            said = f"the input {given[0]!r} is given twice" if given else f"there is no input {unknown[0]!r}"
            raise _tokamak.BindError(f"{self.name}: {said}; its inputs are {', '.join(names)}")
        missing = [name for name in names[position:] if name not in named]
        if missing:
            raise _tokamak.BindError(f"{self.name}: the input {missing[0]!r} is missing")
        return [named[name] for name in names[position:]]

    def _place_for(self, inputs):
        if self._place == INTERPRETER:
            place_of(inputs, "cpu")  # whose memory it uses
        else:
            place_of(inputs, self.device)
        return self._place

    def _written(self, inputs, out):
        return [*(out or ()), *(inputs[i] for i in self._updated if i < len(inputs))]


_programs: weakref.WeakSet[Program] = weakref.WeakSet()
_bound_calls: weakref.WeakSet[BoundCall] = weakref.WeakSet()
_made_lock = threading.RLock()  # of who joins these
_remake_lock = threading.RLock()  # of a forked process' threads


def _begin_in_child() -> None:
    """A forked process has no threads of its parent's devices."""
    global _made_lock, _remake_lock
    _made_lock, _remake_lock = threading.RLock(), threading.RLock()
    for each in [*_programs, *_bound_calls]:
        each._begin_in_child()


os.register_at_fork(after_in_child=_begin_in_child)


def compile(source: FusionDefinition | str | os.PathLike[str], device: str = "cpu", *, streams: int = 4,
            calls_in_flight: int = 4, makes_kernels: bool = True, keeps_schedule: bool = False,
            proves_plans: bool = True, most_plans: int = 128, most_intermediate_bytes: int = 0) -> Program:
    """A program for a device: 'cpu', 'cuda', 'cuda:1' or 'interpreter', which runs the kernels meant for a GPU on the
    processor and checks every access.

    `source`: a definition, with its schedule where it has one; the text of a fusion (docs/text.md) or of a host program
    (docs/host_text.md); or the path of a file that has one.
    `streams`: of each call, for axes that are parallelized as stream. `calls_in_flight`: how many calls may be under
    way at a time, each with memory of its own. `makes_kernels`: False runs each op by itself, and compiles nothing.
    `keeps_schedule`: kernels have exactly the loops of the schedule, or the call fails; else a schedule counts where it
    covers all of a kernel. `proves_plans`: every plan is proved free of races before it runs. `most_plans`: that are
    kept. `most_intermediate_bytes`: that a call may take, 0 for no limit. Raises tokamak.Error for what the source says
    wrong, with its place."""
    place = place_named(device)
    options = {"streams": _count("compile: streams", streams, most=_MOST_STREAMS),
               "calls_in_flight": _count("compile: calls_in_flight", calls_in_flight, most=_MOST_CALLS),
               "makes_kernels": flag("compile: makes_kernels", makes_kernels),
               "keeps_schedule": flag("compile: keeps_schedule", keeps_schedule),
               "proves_plans": flag("compile: proves_plans", proves_plans),
               "most_plans": _count("compile: most_plans", most_plans),
               "most_intermediate_bytes": _count("compile: most_intermediate_bytes", most_intermediate_bytes, 0)}
    if isinstance(source, FusionDefinition):
        native = source._for_programs("compile")
        source._require_one_device("compile")
        options["takes_schedule"] = source._is_scheduled
        return Program(lambda device: _tokamak.compile_definition(native, device, options), place, source._library)
    text, name = _text_of(source)
    return Program(lambda device: _tokamak.compile_text(text, name, device, options), place)


_MOST_STREAMS = _MOST_CALLS = 1024  # of a program


def _count(what, value, least=1, most=None):
    value = integer(what, value)
    if value < least or most is not None and value > most:
        raise ValueError(f"{what}={value} is too {'small' if value < least else 'large'}; legal are {least} "
                         f"{'and more' if most is None else f'to {most}'}")
    return value


def _text_of(source):
    if isinstance(source, str) and ("\n" in source or "{" in source or "%" in source):
        return source, "program"
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"compile takes a FusionDefinition, a text or a path, not {shown(source)}")
    path = _path_of("compile", source)
    with open(path, encoding="utf-8") as file:
        return file.read(), path.encode(errors="replace").decode()


def _path_of(what, given):
    """A path as a text, also where __fspath__() gives bytes."""
    path = os.fsdecode(given)
    if "\0" in path:
        raise ValueError(f"{what}: {shown(path)} is no path: a path has no null character")
    return path


def load(file: str | os.PathLike[str] | bytes, device: str = "cpu", *, trusts_any_owner: bool = False,
         compiles: bool = False, streams: int = 4, calls_in_flight: int = 4) -> Program:
    """A program from the file, or the bytes, that export() made. Nothing is compiled, unless `compiles` allows it for
    sizes that the file has no kernel for; these are errors of calls otherwise.

    A file is code. One that belongs to another user, or that others may write to, is refused unless `trusts_any_owner`
    says so. Raises tokamak.Error for a file that cannot be read or is damaged, tokamak.UnsupportedError for one without
    code for this device."""
    place = place_named(device)
    if not isinstance(file, (str, bytes, os.PathLike)):
        raise TypeError(f"load takes a path or bytes, not {shown(file)}")
    given = file if isinstance(file, bytes) else _path_of("load", file)
    if isinstance(given, str) and not _is_utf8(given):
        raise ValueError(f"load: {file!r} is no path in UTF-8; its bytes may be given: open(path, 'rb').read()")
    arguments = (flag("load: trusts_any_owner", trusts_any_owner), flag("load: compiles", compiles),
                 {"streams": _count("load: streams", streams, most=_MOST_STREAMS),
                  "calls_in_flight": _count("load: calls_in_flight", calls_in_flight, most=_MOST_CALLS)})
    return Program(_Loading(given, arguments), place)


class _Loading:
    """Loads a file; in forked processes the bytes that it had, whatever became of it."""

    def __init__(self, file, arguments):
        self._file, self._name = file, "program" if isinstance(file, bytes) else file
        self._arguments = arguments

    def __call__(self, device):
        native = _tokamak.load(self._file, self._name, device, *self._arguments)
        if isinstance(self._file, str):
            with open(self._file, "rb") as file:
                self._file = file.read()
        return native


def _is_utf8(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclasses.dataclass(frozen=True)
class ExportedTarget:
    """What an exported file has for a processor or a GPU."""

    target: str
    kernels: int  # whose code is there
    launches: int  # what they fit, each a set of sizes and layouts
    code_bytes: int


class Exported(bytes):
    """The bytes of an exported program, and what they have for each target."""

    targets: list[ExportedTarget]


def export(definition: FusionDefinition, file: str | os.PathLike[str] | None = None, *,
           sizes: Mapping[str | Scalar, int | range | Sequence[int]] | None = None,
           inputs: Iterable[Any] | None = None, processors: Sequence[str] = ("native",), gpus: Sequence[str] = (),
           threads: int = 0, row_major: bool = False) -> Exported:
    """Compiles a definition for sizes, and gives the bytes of a file that load() runs where nothing compiles; they are
    written to `file`, too, if it is given.

    `sizes`: of each extent of the inputs, by its name or as the scalar that x.size(0) gives, what it may be: a number
    or a list of numbers, which are constants of kernels of their own and the fastest ones, or a range(1, 65537), for
    whose sizes one kernel is made that does not know the extent. `inputs`: arrays and numbers like those of calls,
    whose sizes count for extents that are not in `sizes`. `processors`: 'native', or what the C compiler's -march
    takes; `gpus`: architectures such as 'sm_90a', which need no GPU here. `threads` that kernels are cut for.
    `row_major`: outputs lie so, whatever the inputs do.

    Raises tokamak.BindError for an extent without sizes, tokamak.UnsupportedError where an extent has to be a constant,
    or without a compiler."""
    if not isinstance(definition, FusionDefinition):
        raise TypeError(f"export takes a FusionDefinition, not {shown(definition)}")
    path = None if file is None else _path_of("export", file)
    native = definition._for_programs("export")
    definition._require_one_device("export")
    told = {} if inputs is None else _sizes_of(definition, listed("export: inputs", inputs))
    for key, value in _mapping("export: sizes", sizes).items():
        if not isinstance(key, (str, Scalar)):
            raise TypeError(f"export: sizes: {shown(key)} is no name of an extent, and no scalar")
        if isinstance(key, Scalar) and key._definition is not definition:
            raise ValueError(f"export: sizes: {key} is of another definition; legal are extents() of this one, and "
                             "their names")
        told[_name_of_extent(key)] = _extent(key, value)
    data, targets = _tokamak.export_definition(
        native, told, [str(each) for each in listed("export: processors", processors)],
        [str(each) for each in listed("export: gpus", gpus)], integer("export: threads", threads),
        flag("export: row_major", row_major))
    made = Exported(data)
    made.targets = [ExportedTarget(*each) for each in targets]
    if path is not None:
        _write(path, made)
    return made


def _name_of_extent(key):
    return key if isinstance(key, str) else str(key._value)


def _extent(key, value):
    """As the native side takes it: whether it is a range, and its sizes."""
    what = f"export: the sizes of {_name_of_extent(key)}"
    if isinstance(value, range):
        if value.step != 1 or not value:
            raise ValueError(f"{what}: {value} is no range of sizes; range(1, 65537) is one")
        return True, integer(what, value[0]), integer(what, value[-1])
    value = plain(value)
    sizes = [integer(what, value)] if not isinstance(value, (list, tuple)) else [integer(what, each) for each in value]
    if not sizes or min(sizes) < 1:
        raise ValueError(f"{what} are {shown(value)}; {_LISTED_SIZES}")
    return False, sizes


_LISTED_SIZES = "legal are 1 and more where sizes are listed; ranges may begin at 0: range(0, 65537)"


def _mapping(what, given):
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{what}: a mapping of names to sizes is legal, not {shown(given)}")
    return given or {}


def _name_of_size(name):
    if not isinstance(name, str):
        raise TypeError(f"prepare: sizes: {shown(name)} is no name of an extent or of a scalar")
    return name


def _number_of(what, name, value):
    """A size, or a number for a scalar."""
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, float) and not hasattr(type(number), "__index__"):
        raise TypeError(f"{what}: {name}={shown(value)} is no size; an integer is legal")
    return number if isinstance(number, float) else integer(f"{what}: {name}", number)


def _sizes_of(definition, inputs):
    """Of each extent that is a symbol, its size in these inputs."""
    wanted = definition.inputs()
    if len(inputs) != len(wanted):
        raise _tokamak.BindError(f"export: {len(inputs)} inputs for a definition that has {len(wanted)}")
    known = _tokamak.KnownSizes(definition._native)
    for i, (made, given) in enumerate(zip(wanted, inputs)):
        if isinstance(made, Scalar):
            known.bind_number(made._value, plain(given))
        else:
            _require_like(i, made.dtype, given)
            known.bind(made._value, list(given.shape))
    extents = [*definition.extents(), *(each for each in wanted if isinstance(each, Scalar))]
    sizes = {_name_of_extent(each): known.evaluate(each._value) for each in extents}
    sizes = {name: size for name, size in sizes.items() if type(size) is int}
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"export: inputs: {name} is {size} in these; {_LISTED_SIZES}")
    return {name: (False, [size]) for name, size in sizes.items()}


def _require_like(number, dtype, given):
    """Raises BindError for an example that is no array of the input's type."""
    if not hasattr(given, "shape") or not hasattr(given, "dtype"):
        raise _tokamak.BindError(f"export: inputs: input {number} is {shown(given)}; "
                                 f"an array of {dtype.value} is legal")
    if data_type_of(given.dtype) is not dtype:
        raise _tokamak.BindError(f"export: inputs: the array of input {number} has elements of {given.dtype}; "
                                 f"legal is {dtype.value}")


def _write(path, data):
    """For its owner alone: load() takes no file that others may write. It is there whole, or not at all."""
    unfinished = f"{path}.{os.getpid()}.part"
    try:
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        os.replace(unfinished, path)
    except BaseException:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise
