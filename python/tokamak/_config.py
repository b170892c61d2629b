"""tokamak.config: options as arguments, in a context, for the process and by the environment."""
from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import os
import threading
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._arguments import flag, integer, shown
from ._tables import table


@dataclasses.dataclass(frozen=True)
class _Option:
    name: str
    default: Any
    read: Callable[[str, Any], Any]  # from an argument, or a text of the environment; raises for what is not legal
    meaning: str
    variable: str  # of the environment
    part: str = ""  # what a program is made with: "compile", its options; "device", those of its device
    native: str = ""  # what the library calls it
    is_of_process: bool = False  # the library reads the variable itself, once


def _count(least):
    def read(what, value):
        if isinstance(value, str):
            value = _from_text(what, value, int)
        value = integer(what, value)
        if value < least:
            raise ValueError(f"{what} is {value}; legal are {least} and more")
        return value

    return read


def _truth(what, value):
    if isinstance(value, str):
        words = {**dict.fromkeys(("1", "true", "on", "yes"), True), **dict.fromkeys(("0", "false", "off", "no"), False)}
        if value.lower() not in words:
            raise ValueError(f"{what}: {value!r} is neither on nor off; legal are {', '.join(words)}")
        return words[value.lower()]
    return flag(what, value)


def _word_of(*legal):
    def read(what, value):
        if value not in legal:
            raise ValueError(f"{what}: {shown(value)} is not legal; legal are {', '.join(legal)}")
        return value

    return read


def _text(what, value):
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{what}: a text is legal, not {shown(value)}")
    return os.fspath(value)


def _from_text(what, text, kind):
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"{what}: {text!r} is no {kind.__name__}") from None


def _option(name, default, read, meaning, part="", native=""):
    return _Option(name, default, read, meaning, f"TOKAMAK_{name.upper()}", part, native)


def _of_process(name, variable, meaning):
    return _Option(name, "", _text, meaning, variable, is_of_process=True)


OPTIONS = {each.name: each for each in (
    _option("num_threads", 0, _count(0), "threads of the processor that work on one kernel; 0: as many as there are",
            "device", "threads"),
    _option("kernels", "compiled", _word_of("compiled", "compiled-only", "op-by-op", "interpreted"),
            "how kernels run on the processor; interpreted ones check every access and are very slow", "device"),
    _option("memory_limit", 0, _count(0), "bytes that a device may hold; 0: all of it", "device"),
    _option("poison_memory", False, _truth, "fresh memory of a device is NaN, so that its use shows", "device",
            "poisons_memory"),
    _option("streams", 4, _count(1), "streams of a call, for axes that are marked as stream", "compile"),
    _option("calls_in_flight", 4, _count(1), "calls of one program that may run at a time", "compile"),
    _option("prove_plans", True, _truth, "every plan is proved free of races before it runs", "compile",
            "proves_plans"),
    _option("most_plans", 128, _count(1), "plans that a program keeps, one for each set of sizes", "compile"),
    _option("most_plan_bytes", 64 << 20, _count(1), "bytes of the host that these may take", "compile"),
    _option("most_intermediate_bytes", 0, _count(0), "bytes of intermediates that a call may need; 0: no limit",
            "compile"),
    _option("progress", True, _truth, "a compilation of more than 2 s shows how far it is"),
    _option("repro", "failures", _word_of("failures", "off"),
            "a call that fails inside the library writes a script that repeats it"),
    _option("repro_inputs", False, _truth, "these scripts come with the values of the inputs"),
    _option("repro_folder", "", _text, "where they are written; empty: the folder for temporary files"),
    _of_process("compiler", "TOKAMAK_CC", "the C compiler, a name or a path; empty: the first of cc, gcc, clang"),
    _of_process("cache_folder", "TOKAMAK_CACHE_DIR", "where compiled kernels are kept; empty: ~/.cache/tokamak"),
    _of_process("nvrtc", "TOKAMAK_NVRTC", "the file of NVRTC; empty: it is looked for"),
    _of_process("cublaslt", "TOKAMAK_CUBLASLT", "the file of cuBLASLt; empty: it is looked for"),
    _of_process("cuda_driver", "TOKAMAK_CUDA_DRIVER", "the file of the GPU's driver; empty: it is looked for"),
    _of_process("product_activations", "TOKAMAK_PRODUCT_ACTIVATIONS",
                "activations that matrix products take in: relu, gelu_tanh, gelu_tanh_of_halves, all, none"),
)}



class _Context:
    """What one block says: values and who said them. A task that was begun in a block may go on when the block has
    ended, and blocks may end in any order: those around it that are open count. `parts` is known with the number of the
    process' own changes and that of the open blocks, which become fewer alone."""

    def __init__(self, values: Mapping[str, tuple[Any, str]], outer: _Context | None, owner: object) -> None:
        self.values = values
        self.outer = outer
        self.owner = owner
        self.is_open = True
        self.parts: dict[str, tuple[int, int, tuple[tuple[str, Any], ...]]] = {}


_NONE = _Context({}, None, None)  # around all others, and always open
_in_context: contextvars.ContextVar[_Context] = contextvars.ContextVar("tokamak_config", default=_NONE)


def _innermost_open(context: _Context) -> _Context:
    while not context.is_open:
        assert context.outer is not None
        context = context.outer
    return context


def _open_contexts() -> list[_Context]:
    """Those of this thread, or task, whose blocks have not ended, the innermost first. Closed ones between them are
    forgotten."""
    contexts = [_innermost_open(_in_context.get())]
    while (outer := contexts[-1].outer) is not None:
        contexts[-1].outer = outer = _innermost_open(outer)
        contexts.append(outer)
    return contexts


class _Block(contextlib.ContextDecorator, contextlib.AbstractContextManager[None]):
    """A context of config: it may be entered several times, one after the other, nested and by several threads."""

    def __init__(self, config: Config, values: Mapping[str, tuple[Any, str]]) -> None:
        self._config = config
        self._values = values
        self._entered: list[_Context] = []

    def __enter__(self) -> None:
        context = _Context(self._values, _innermost_open(_in_context.get()), self)
        self._entered.append(context)
        _in_context.set(context)
        self._config._change(1)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> None:
        # The generator that has entered it may end in another task, which does not know the context.
        known = [each for each in _open_contexts() if each.owner is self] or self._entered[::-1]
        if not known:
            raise RuntimeError("config: a context is left that is not entered")
        known[0].is_open = False
        self._entered.remove(known[0])
        _in_context.set(_innermost_open(_in_context.get()))
        self._config._change(-1)


def _unknown(name):
    return f"config has no option {shown(name)}; legal are {', '.join(OPTIONS)}"


@dataclasses.dataclass(frozen=True)
class Setting:
    """An option: its value, and who said so: default, environment, process (config.set), context or argument."""

    name: str
    value: Any
    source: str
    variable: str
    meaning: str


class Settings(tuple):
    """The settings of all options; printed as a table."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        """The setting of a name, or of a number. Raises KeyError for a name that is none."""
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in OPTIONS:
            raise KeyError(_unknown(key))
        return next(each for each in self if each.name == key)

    def __repr__(self) -> str:
        return table([["option", "value", "from", "environment", "meaning"],
                      *([each.name, repr(each.value), each.source, each.variable, each.meaning] for each in self)])

    __str__ = __repr__


class Config:
    """Options of the package.

        with tokamak.config(num_threads=1):        # on this thread, and in this task, inside the block
            fd.execute(inputs)
        tokamak.config.set(progress=False)         # for the process; config.progress = False is the same
        TOKAMAK_NUM_THREADS=1 python script.py     # by the environment
        print(tokamak.config.show())               # what counts here, and who said so

    The innermost context wins over the process, that over the environment, that over the default. A context may be
    entered again. `config.num_threads` is what counts here; a name that is no option raises AttributeError. Programs
    are made anew where an option that they are made with is another one. Any thread may use it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of_process: dict[str, Any] = {}
        self._environment: dict[str, tuple[str, Any]] = {}
        self._changes = 0  # of the process' options
        self._contexts = 0  # that are open, on any thread: definitions then look options up in each call
        self._forget: list[Callable[[], None]] = []  # what programs are known by definitions

    def __call__(self, **options: Any) -> contextlib.AbstractContextManager[None]:
        """A context in which these options count. Raises TypeError for a name that is none, TypeError and ValueError
        for a value that is not legal, ValueError for an option that is the process' own."""
        return _Block(self, {name: (self._legal(name, value, "context"), "context") for name, value in options.items()})

    def __getattr__(self, name: str) -> Any:
        """What an option is, here and now. Raises AttributeError for a name that is none."""
        if name not in OPTIONS:
            raise AttributeError(_unknown(name))
        return self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        """set() of one option. Raises AttributeError for a name that is none."""
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        elif name in OPTIONS:
            self.set(**{name: value})
        else:
            raise AttributeError(_unknown(name))

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *OPTIONS]

    def as_arguments(self, options: Mapping[str, Any]) -> contextlib.AbstractContextManager[None]:
        """The same for the options of one call. Raises TypeError for what is no mapping."""
        if not isinstance(options, Mapping):
            raise TypeError(f"options: a dictionary of options of tokamak.config is legal, not {shown(options)}")
        return _Block(self, {name: (self._legal(name, value, "argument"), "argument")
                             for name, value in options.items()})

    def set(self, **options: Any) -> None:
        """These options count for the process from now on; None: as the environment says again. Those that the library
        reads once, as `compiler`, have to be set before a device is opened: before the first call."""
        values = {name: None if value is None else self._legal(name, value, "process")
                  for name, value in options.items()}
        for name, value in values.items():
            if OPTIONS[name].is_of_process:
                self._set_variable(OPTIONS[name], value)
            elif value is None:
                self._of_process.pop(name, None)
            else:
                self._of_process[name] = value
        self._changes += 1
        self._change(0)

    def _set_variable(self, option: _Option, value: Any) -> None:
        from ._devices import has_devices

        if has_devices():
            raise ValueError(f"config.set: {option.name} is read once, when a device is opened, which has happened; "
                             f"set it before the first call, or {option.variable} in the environment")
        if value:
            os.environ[option.variable] = value
            self._of_process[option.name] = value
        else:
            os.environ.pop(option.variable, None)
            self._of_process.pop(option.name, None)

    def get(self, name: str) -> Any:
        """What an option is, here and now."""
        return self._setting(self._known(name)).value

    def show(self) -> Settings:
        """All options with their values, and who said so."""
        return Settings(self._setting(each) for each in OPTIONS.values())

    # --- for the package ---

    def part(self, part: str) -> tuple[tuple[str, Any], ...]:
        """The options of a part that are not the defaults, by the library's names. Looks into the environment once."""
        context, count, changes = _in_context.get(), 1, self._changes
        if context is not _NONE:
            contexts = _open_contexts()
            context, count = contexts[0], len(contexts)
        known = context.parts.get(part)
        if known is None or known[0] != changes or known[1] != count:
            settings = [(option, self._setting(option).value) for option in OPTIONS.values() if option.part == part]
            known = context.parts[part] = changes, count, tuple(
                (option.native or option.name, value) for option, value in settings if value != option.default)
        return known[2]

    @property
    def is_in_contexts(self) -> bool:
        """Whether some context is open, on any thread."""
        return self._contexts > 0

    def when_changed(self, forget: Callable[[], None]) -> None:
        """`forget` is called, under the lock that keep_unless_in_contexts() takes, when options may have changed."""
        self._forget.append(forget)

    def keep_unless_in_contexts(self, keep: Callable[[], None]) -> None:
        """Calls `keep`, unless a context is open."""
        with self._lock:
            if not self._contexts:
                keep()

    def _change(self, contexts: int) -> None:
        with self._lock:
            self._contexts += contexts
            for forget in self._forget:
                forget()

    def _known(self, name: str) -> _Option:
        if name not in OPTIONS:
            raise TypeError(_unknown(name))
        return OPTIONS[name]

    def _legal(self, name: str, value: Any, where: str) -> Any:
        option = self._known(name)
        if option.is_of_process and where != "process":
            raise ValueError(f"config: {name} counts for the whole process; legal are config.set({name}=...) before "
                             f"the first call, and {option.variable} in the environment")
        return option.read(f"config: {name}", value)

    def _setting(self, option: _Option) -> Setting:
        value, source = option.default, "default"
        text = os.environ.get(option.variable)
        if text:  # an empty one is none
            value, source = self._from_environment(option, text), "environment"
        if option.name in self._of_process:
            value, source = self._of_process[option.name], "process"
        said = next((each.values[option.name] for each in _open_contexts() if option.name in each.values), None)
        if said is not None:
            value, source = said
        return Setting(option.name, value, source, option.variable, option.meaning)

    def _from_environment(self, option: _Option, text: str) -> Any:
        known = self._environment.get(option.name)
        if known is None or known[0] != text:
            known = self._environment[option.name] = text, option.read(option.variable, text)
        return known[1]


def _begin_in_child():
    config._lock = threading.Lock()


config = Config()
os.register_at_fork(after_in_child=_begin_in_child)
