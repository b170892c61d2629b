"""fuse: functions over arrays, compiled when they are called."""
import dataclasses
import functools
import html
import inspect
import re
import threading
import warnings

from . import _tokamak
from ._arguments import shown
from ._arrays import _root, strides_of
from ._calls import require_memory
from ._pytree import Constant, flatten, typed, unflatten
from ._traced_array import TracedArray, is_array
from ._tracing import Number, Trace, _Captured, is_tracing
from .definition import _strided

_MOST_CALLS = 4096  # of which the program is known by their sizes alone
_MANY_PROGRAMS = 16  # of one function: somebody should know


def fuse(function=None, *, static_argnames=(), static_sizes=False):
    """Compiles a function over arrays: its calls become a few kernels.

        @tokamak.fuse
        def normalised(x, eps=1e-5):
            mean = x.mean(axis=-1, keepdims=True)
            return (x - mean) / tnp.sqrt(x.var(axis=-1, keepdims=True) + eps)

    The function is run once with arrays that have a shape and a type but no elements; tokamak.numpy has functions for
    them, and NumPy's own work, too. It takes and gives arrays, numbers, and tuples, lists and dictionaries of these;
    other arguments, and those in `static_argnames`, are constants that calls are told apart by. Arrays that it knows by
    itself, as a global or a closure, are those of its first run: calls see what is written into them, but not another
    array under the same name, nor what Python computed from one.

    Sizes and numbers stay symbols: another size or number compiles nothing anew, unless Python asked for it (a loop's
    length, the truth of n > 4), another number of axes is there, or an axis of one element. `static_sizes`: each size
    has a program of its own. Any threads may call it. Gradients do not flow through it.
    """
    if function is None:
        return functools.partial(fuse, static_argnames=static_argnames, static_sizes=static_sizes)
    return Fused(function, static_argnames, static_sizes)


class Fused:
    """A function that calls compile; see fuse()."""

    def __init__(self, function, static_argnames=(), static_sizes=False, stride_orders=None):
        if isinstance(function, (classmethod, staticmethod)):
            raise TypeError(f"fuse takes a function: @fuse stands below @{type(function).__name__}")
        if not callable(function):
            raise TypeError(f"fuse takes a function, not {shown(function)}")
        self._function = function
        self._name = getattr(function, "__name__", type(function).__name__)
        self._static = frozenset([static_argnames] if isinstance(static_argnames, str) else static_argnames)
        self._static_sizes = static_sizes
        self._stride_orders = stride_orders  # of outputs; None: like the inputs that they follow
        self._signature = inspect.signature(function) if self._static else None  # which not all functions have
        unknown = self._static - set(self._signature.parameters if self._static else ())
        if unknown:
            raise ValueError(f"static_argnames: {self._name} has no argument {', '.join(sorted(unknown))}")
        self._lock = threading.RLock()
        self._tells_numbers = False  # apart by their values: some answer depended on one
        self._known = {}  # by what calls look like, exactly
        self._entries = {}  # by what is the same for all sizes
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        if is_tracing():
            return self._function(*args, **kwargs)  # as a part of the function that is traced
        if not kwargs and self._signature is None:
            entry = self._known.get(self._looks(args))  # arrays and numbers alone
            if entry is not None:
                return entry.run(args)
        leaves, key = self._described(args, kwargs)
        try:
            entry = self._known.get(key)
        except TypeError:
            raise TypeError(f"{self._name}: an argument that is no array, number or list of these has to "
                            "be hashable, as calls are told apart by it") from None
        if entry is None:
            entry = self._find(key, leaves)
            if not kwargs and len(leaves) == len(args):
                looks = self._looks(args)
                if looks is not None:
                    self._known[looks] = entry
        return entry.run(leaves)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self):
        return f"<fused {self._name}, {len(self.programs)} programs>"

    def __reduce__(self):
        return self.__qualname__  # as functions are: by their names

    @property
    def programs(self):
        """The definitions that calls have made so far, in words: what each is for."""
        return [str(entry) for entries in self._entries.values() for entry in entries]

    def definition_for(self, *args, **kwargs):
        """The FusionDefinition that a call with these arguments runs, to look inside. Nothing is run."""
        return self._entry_for(args, kwargs)[0].trace.definition

    def _entry_for(self, args, kwargs, as_given=None):
        """The program of a call, and its arrays and numbers, each as `as_given` gives it. Nothing is run."""
        leaves, key = self._described(args, kwargs)
        if as_given is not None:
            leaves = [as_given(each) for each in leaves]
            key = key[0], *self._looks(leaves)
        return self._known.get(key) or self._find(key, leaves), leaves

    def _forget(self, entry):
        with self._lock:
            self._known = {key: each for key, each in self._known.items() if each is not entry}
            for entries in self._entries.values():
                entries[:] = [each for each in entries if each is not entry]

    def _call_for(self, args, kwargs=None):
        """The definition that a call runs, and what it is given there."""
        leaves, key = self._described(args, kwargs or {})
        entry = self._find(key, leaves)
        return entry.trace.definition, entry._inputs(leaves)

    def explain(self, *args, **kwargs):
        """What becomes of a call with these arguments, as FusionDefinition.explain() tells it; `other_programs` says
        what the function's other programs are for: calls with other types, numbers of axes or answers. Without
        arguments: of the last call, where the function has one program. Nothing is run."""
        entries = [entry for entries in self._entries.values() for entry in entries]
        if args or kwargs or not entries:
            leaves, key = self._described(args, kwargs)
            entry = self._find(key, leaves)
            told = entry.trace.definition.explain(entry._inputs(leaves))
        elif len(entries) == 1:
            entry = entries[0]
            told = entry.trace.definition.explain()
        else:
            raise ValueError(f"{self._name} has {len(entries)} programs: explain() takes the arguments of a call, to "
                             "say which one is meant")
        others = tuple(str(each) for all_entries in self._entries.values() for each in all_entries if each is not entry)
        return dataclasses.replace(told, other_programs=told.other_programs + others)

    def _repr_html_(self):
        entries = [entry for entries in self._entries.values() for entry in entries]
        pages = "".join(entry.trace.definition._repr_html_() for entry in entries)
        return f"<div>{html.escape(repr(self))}</div>{pages}"

    # --- which program ---

    def _described(self, args, kwargs):
        """The arrays and numbers of a call, and all that tells it from others."""
        if self._static:
            bound = self._signature.bind(*args, **kwargs)
            args, kwargs = (), bound.arguments
            fixed = tuple((name, typed(kwargs[name]), kwargs[name]) for name in kwargs if name in self._static)
            rest = {name: value for name, value in kwargs.items() if name not in self._static}
        else:
            fixed, rest = (), kwargs
        leaves = []
        structure = (flatten(args, leaves, _is_leaf), flatten(rest, leaves, _is_leaf), fixed)
        return leaves, (structure, *self._looks(leaves))

    def _looks(self, leaves):
        """What arrays and numbers are, exactly; None where there is something else."""
        looks = []
        for leaf in leaves:
            look = _looks_by_type.get(type(leaf))
            if look is None:
                if not is_array(leaf):
                    return None
                look = _looks_by_type[type(leaf)] = _look_for(leaf)
            looks.append((look(leaf), leaf) if look is _number and self._tells_numbers else look(leaf))
        return tuple(looks)

    def _find(self, key, leaves):
        arrays = [each for each in leaves if type(each) not in (int, float)]
        library = _root(arrays[0]) if arrays else "numpy"
        shared = (key[0], library, *map(self._shared_look, leaves))
        entry = self._fitting(shared, leaves)
        if entry is None:
            made = self._traced(library, leaves, key[0])  # without the lock: it runs what anybody wrote
            with self._lock:
                entry = self._fitting(shared, leaves)  # another thread may have been faster
                if entry is None:
                    entry = made
                    self._entries.setdefault(shared, []).append(made)
                    self._note_many(len(self._entries[shared]))
        with self._lock:
            if not self._tells_numbers and entry.asks_numbers(leaves):
                self._tells_numbers = True
                self._known.clear()
                return entry  # whose key says too little
            if len(self._known) >= _MOST_CALLS:
                self._known.clear()
            self._known[key] = entry
        return entry

    def _fitting(self, shared, leaves):
        with self._lock:
            entries = list(self._entries.get(shared, ()))
        return next((entry for entry in entries if entry.fits(leaves)), None)

    def _note_many(self, alike):
        """`alike`: the programs for arguments of one kind."""
        count = len(self.programs)
        if alike % _MANY_PROGRAMS == 0:
            told = f"{alike} programs for arguments of one kind, one for each answer that Python asked for"
        elif count % (4 * _MANY_PROGRAMS) == 0:
            told = f"{count} programs, one for each kind of arguments"
        else:
            return
        warnings.warn(f"{self._name} has {told}: {self._name}.programs lists them", RuntimeWarning, stacklevel=4)

    def _shared_look(self, leaf):
        if type(leaf) in (int, float):
            return type(leaf)
        sizes = tuple(leaf.shape)
        if not self._static_sizes:
            sizes = tuple(each if each == 1 else -1 for each in sizes)
        return str(leaf.dtype), sizes, _order_of(leaf)

    def _traced(self, library, leaves, structure):
        trace = Trace(re.sub(r"\W", "_", self._name, flags=re.ASCII), library, self._static_sizes)
        arguments = [trace.number_argument(each, i) if type(each) in (int, float) else trace.array_argument(each, i)
                     for i, each in enumerate(leaves)]
        given = iter(arguments)
        args, kwargs = unflatten(structure[0], given), unflatten(structure[1], given)
        with trace:
            result = self._function(*args, **kwargs, **{name: value for name, _, value in structure[2]})
            outputs = []
            returned = flatten(result, outputs, _is_result)
            _require_values(returned, self._name)
            outputs = [trace.capture(each) if not isinstance(each, (TracedArray, Number)) else each for each in outputs]
            orders = self._stride_orders or [None] * len(outputs)
            trace.finish([(each, order) for each, order in zip(outputs, orders) if isinstance(each, TracedArray)])
        return _Entry(trace, returned, outputs)


class _Entry:
    """One program of a function."""

    def __init__(self, trace, returned, outputs):
        self.trace = trace
        self._returned = returned
        self._numbers = [each._value if isinstance(each, Number) else None for each in outputs]
        self._is_one_array = returned == "leaf" and self._numbers == [None]
        self._execute = trace.definition.execute if None in self._numbers else None
        self._sources = [each.array if isinstance(each, _Captured) else each for each in trace.sources]
        self._takes = [isinstance(each, int) for each in trace.sources]
        self._is_in_order = all(self._takes) and self._sources == list(range(len(self._sources)))

    def __str__(self):
        inputs = ", ".join(str(each) for each in self.trace.definition._inputs)
        guards = ", ".join(f"{value} is {number}" for value, number in self.trace.guards)
        return f"{inputs}{' where ' + guards if guards else ''}"

    def fits(self, leaves):
        """Whether Python would get the same answers."""
        if not self.trace.guards:
            return True
        known = self._known(leaves)
        return all(_is_same(known.evaluate(value), number) for value, number in self.trace.guards)

    def asks_numbers(self, leaves):
        """Whether some answer depended on a number that is an argument."""
        if not any(type(each) in (int, float) for each in leaves):
            return False
        known = self._known(leaves, with_numbers=False)
        return any(known.evaluate(value) is None for value, _ in self.trace.guards)

    def _known(self, leaves, with_numbers=True):
        known = _tokamak.KnownSizes(self.trace.definition._native)
        for made, source in zip(self.trace.definition._inputs, self._inputs(leaves)):
            if type(source) in (int, float):
                if with_numbers:
                    known.bind_number(made._value, source)
            else:
                known.bind(made._value, list(source.shape))
        return known

    def _inputs(self, leaves):
        return [leaves[each] if takes else each for each, takes in zip(self._sources, self._takes)]

    def run(self, leaves):
        """The function's result."""
        inputs = leaves if self._is_in_order and len(leaves) == len(self._sources) else self._inputs(leaves)
        try:
            arrays = self._execute(inputs) if self._execute is not None else ()
        except Exception:
            require_memory(leaves)
            raise
        return arrays[0] if self._is_one_array else self._result_of(arrays, leaves)

    def _result_of(self, arrays, leaves):
        """What the function gives where its definition gives these arrays."""
        arrays = iter(arrays)
        known = self._known(leaves) if any(each is not None for each in self._numbers) else None
        values = [next(arrays) if each is None else known.evaluate(each) for each in self._numbers]
        return unflatten(self._returned, iter(values))


def _require_values(structure, name):
    """Results are arrays, numbers and what holds these, or plain constants."""
    if structure == "leaf":
        return
    kind, parts = structure
    if kind is Constant:
        if isinstance(parts[1], (set, frozenset)) or hasattr(parts[1], "__next__"):
            raise TypeError(f"{name}: arrays and numbers, and tuples, lists and dictionaries of them, are given back; "
                            f"not {shown(parts[1])}")
        return
    for each in parts:
        _require_values(each[1] if kind is dict else each, name)


def _is_same(a, b):
    return a == b or (a != a and b != b)


def _is_leaf(value):
    kind = type(value)
    return kind is int or kind is float or is_array(value)


def _is_result(value):
    return isinstance(value, Number) or is_array(value)


_number = type  # a number is told by its type, where its value steered nothing


def _look_for(array):
    """The function that says what arrays of this type are: their type, shape and strides."""
    kind = type(array)
    if hasattr(array, "stride"):  # torch's
        return lambda array: (kind, array.dtype, array.shape, array.stride())
    if hasattr(array, "strides"):
        return lambda array: (kind, array.dtype, array.shape, array.strides)
    return lambda array: (kind, array.dtype, array.shape)


_looks_by_type = {int: _number, float: _number}


def _order_of(array):
    """The order of its axes in memory, and which are dense."""
    contiguity, order = _strided(list(array.shape), strides_of(array))
    return tuple(contiguity), tuple(order)
