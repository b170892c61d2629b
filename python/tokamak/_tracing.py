"""Traces: a Python function, run once on arrays without elements, becomes a definition.

Sizes and numbers stay symbols. Where Python has to know one (a truth, a loop's length), the answer becomes a guard: the
definition is right for all calls that give the same answer."""
import contextvars
import operator

from . import _tokamak
from ._promotion import HALVES, Promotion, compute_type
from ._types import DataType
from ._values import Scalar
from .definition import FusionDefinition

_current = contextvars.ContextVar("tokamak_trace", default=None)


def current_trace(what):
    """The trace of the function that is being traced. Raises RuntimeError, naming `what`, where there is none."""
    trace = _current.get()
    if trace is None:
        raise RuntimeError(f"{what} is for functions that tokamak.fuse traces; it was called outside of one")
    return trace


def is_tracing():
    """Whether a function is being traced on this thread."""
    return _current.get() is not None


class Number(Scalar):
    """A number that calls know: the size of an axis, an argument, or what is computed from these."""

    __slots__ = ("_trace",)

    def __init__(self, trace, value):
        super().__init__(trace.definition, value)
        self._trace = trace

    @property
    def kind(self):
        """bool, int or float."""
        return {DataType.Bool: bool, DataType.Int: int, DataType.Int32: int}.get(self.dtype, float)

    def __bool__(self):
        return self._trace.decide(self._trace.number("ne", self, 0) if self.kind is not bool else self)

    def __index__(self):
        if self.kind is float:
            raise TypeError("a fraction is no index")
        return int(self._trace.decide(self))

    def __int__(self):
        return int(self._trace.decide(self))

    def __float__(self):
        return float(self._trace.decide(self))

    def __hash__(self):
        return hash(self._trace.decide(self))

    def __str__(self):
        return str(self._trace.decide(self))

    def __format__(self, spec):
        return format(self._trace.decide(self), spec)

    def __repr__(self):
        return f"Number({self._value} = {self._trace.value_of(self)})"

    def __array_ufunc__(self, ufunc, method, *operands, **options):
        from . import numpy

        return numpy._apply_ufunc(ufunc, method, operands, options)

    def __array_function__(self, function, types, args, kwargs):
        from . import numpy

        return numpy._apply_function(function, args, kwargs)

    def __array__(self, dtype=None, copy=None):
        import numpy

        return numpy.asarray(self._trace.decide(self), dtype)

    def __pos__(self):
        return self

    def __neg__(self):
        return self._trace.number("neg", self)

    def __abs__(self):
        return self._trace.number("abs", self)

    def __invert__(self):
        return -self - 1

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __round__(self, digits=None):
        if digits is not None:
            return round(self._trace.decide(self), digits)
        return self._whole("round")

    def __floor__(self):
        return self._whole("floor")

    def __ceil__(self):
        return self._whole("ceil")

    def __trunc__(self):
        return self._whole("trunc")

    def _whole(self, op):
        return self if self.kind is not float else self._trace.whole(self._trace.number(op, self))


def is_known_equal(a, b):
    """Whether two sizes are one in all calls, as far as can be seen."""
    if isinstance(a, Number):
        return isinstance(b, Number) and a._value.is_same(b._value)
    return isinstance(b, int) and a == b


def _arithmetic(op, is_reflected):
    def call(self, other):
        if not isinstance(other, (bool, int, float, Number)):
            return NotImplemented
        return self._trace.number(op, *((other, self) if is_reflected else (self, other)))

    return call


def _comparison(op):
    def call(self, other):
        if not isinstance(other, (bool, int, float, Number)):
            return NotImplemented
        return self._trace.decide(self._trace.number(op, self, other))

    return call


for _name, _op in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "floordiv": "floordiv",
                   "mod": "remainder", "pow": "pow", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
                   "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}.items():
    setattr(Number, f"__{_name}__", _arithmetic(_op, False))
    setattr(Number, f"__r{_name}__", _arithmetic(_op, True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Number, f"__{_name}__", _comparison(_name))


class Trace:
    """A definition that is being made by running a function. One thread makes it."""

    def __init__(self, name, library, is_static):
        self.definition = FusionDefinition(max_length=1 << 30)
        self.definition._name = name
        self.definition._begin()
        self.promotion = Promotion(library)
        self.guards = []  # (native scalar, what it has to be)
        self._decided = set()  # the same as words
        self.sources = []  # per input of the definition: the number of the argument, or an array that was caught
        self.known = _tokamak.KnownSizes(self.definition._native)
        self._is_static = is_static
        self._captured = {}  # by id

    def __enter__(self):
        self._token = _current.set(self)
        return self

    def __exit__(self, *_):
        _current.reset(self._token)

    # --- inputs ---

    def array_argument(self, array, source):
        """The traced array of an argument, or of what was caught, whose sizes are numbers: all calls have the same."""
        tensor = self.definition.from_array(array, self._is_static or isinstance(source, _Captured))
        self.sources.append(source)
        self.known.bind(tensor._value, list(array.shape))
        return self.array(tensor)

    def number_argument(self, value, number):
        """The traced number of an argument, an integer or a fraction of Python's."""
        made = Number(self, self.definition.define_scalar(
            DataType.Int if isinstance(value, int) else DataType.Double)._value)
        self.sources.append(number)
        self.known.bind_number(made._value, value)
        return made

    def capture(self, array):
        """The traced array of one that the function knows by itself, as a global or a closure: each call takes it."""
        if id(array) not in self._captured:
            self._captured[id(array)] = self.array_argument(array, _Captured(array))
        return self._captured[id(array)]

    # --- values ---

    def array(self, tensor, dtype=None):
        """A tensor of the definition as an array of type `dtype`, which it may not yet have been rounded to."""
        from ._traced_array import TracedArray

        return TracedArray(self, tensor, tensor.dtype if dtype is None else dtype)

    def value_of(self, number):
        """What a number is in the call that is traced."""
        return self.known.evaluate(number._value) if isinstance(number, Number) else number

    def decide(self, number):
        """The same for Python, which asks: calls for which it is another one need another trace."""
        if not isinstance(number, Number):
            return number
        value = self.value_of(number)
        key = str(number._value), value
        if key not in self._decided:
            self._decided.add(key)
            self.guards.append((number._value, value))
        return value

    def is_equal(self, a, b):
        """Whether two sizes are one in this call; a guard, unless they are one in all."""
        return is_known_equal(a, b) or bool(a == b)

    def wrap_number(self, scalar):
        """A scalar of the definition; one of Python's where it is a constant."""
        constant = scalar._value.constant
        return Number(self, scalar._value) if constant is None else constant

    def number(self, op, *operands):
        """A function of numbers, by Python's rules."""
        if op in ("truediv", "floordiv", "remainder") and operands[1] == 0:
            raise ZeroDivisionError("division by zero")
        if op == "floordiv" or op == "remainder":
            return self._divided(op, *operands)
        is_floating = any(self.kind_of(each) is float for each in operands) or op in _FLOATING_FUNCTIONS
        if op == "pow" and not is_floating and operands[1] < 0:
            is_floating = True
        values = [self._number(each, is_floating) for each in operands]
        result = self.wrap_number(getattr(self.definition.ops, op)(*values))
        if not is_floating and op in _EXACT:
            self._require_fits(op, operands)
        return result

    def _require_fits(self, op, operands):
        """Integers of Python's do not end; the library's have 64 bits."""
        exact = _EXACT[op](*map(self.value_of, operands))
        if not -2**63 <= exact < 2**63:
            raise OverflowError(f"a number that sizes or arguments make does not fit 64 bits: {exact}")

    def whole(self, number):
        """A whole number as an integer."""
        return self.wrap_number(self.definition.ops.cast(number, DataType.Int)) if isinstance(number, Number) else (
            int(number))

    def _divided(self, op, a, b):
        if any(self.kind_of(each) is float for each in (a, b)):
            rest = self.wrap_number(self.definition.ops.remainder(self._number(a, True), self._number(b, True)))
            return rest if op == "remainder" else self.number("round", self.number(
                "truediv", self.number("sub", a, rest), b))
        if b <= 0 or a < 0:  # decided: the library rounds towards zero
            a, b = int(a), int(b)
            return a // b if op == "floordiv" else a % b
        return self.wrap_number(getattr(self.definition.ops, "div" if op == "floordiv" else op)(
            self._number(a, False), self._number(b, False)))

    def kind_of(self, operand):
        """bool, int or float, of a number."""
        return operand.kind if isinstance(operand, Number) else type(operand)

    def _number(self, operand, is_floating):
        ops = self.definition.ops
        if not isinstance(operand, Number):
            return self.definition.define_scalar(float(operand), DataType.Double) if is_floating else (
                self.definition.define_scalar(int(operand), DataType.Int))
        return ops.cast(operand, DataType.Double if is_floating else DataType.Int) if (
            operand.kind is not (float if is_floating else int)) else operand

    # --- what ops take ---

    def dtype_of(self, operands):
        """The type in which operands meet, of which one at least is an array."""
        strong = [each for each in operands if hasattr(each, "_tensor")]
        if self.promotion.library == "torch" and any(each.ndim for each in strong):
            strong = self._without_weak(strong)
        dtype = strong[0]._dtype
        for each in strong[1:]:
            dtype = self.promotion.of_types(dtype, each._dtype)
        for each in operands:
            if not hasattr(each, "_tensor"):
                dtype = self.promotion.of_number(dtype, self.kind_of(each))
        return dtype

    def _without_weak(self, arrays):
        """An array without axes gives torch its type only where it is of a higher category."""
        category = max(_category(each._dtype) for each in arrays if each.ndim)
        return [each for each in arrays if each.ndim or _category(each._dtype) > category]

    def as_type(self, operand, dtype):
        """An operand as what an op takes: a tensor or a scalar of the type in which it computes, or a number."""
        compute = compute_type(dtype)
        if hasattr(operand, "_tensor"):
            tensor = operand._tensor
            return tensor if tensor.dtype is compute else self.definition.ops.cast(tensor, compute)
        if isinstance(operand, Number):
            return self.definition.ops.cast(operand, compute) if operand.dtype is not compute else operand
        if dtype is DataType.Bool:
            return bool(operand)
        if isinstance(operand, int) and dtype in _LIMITS and not -_LIMITS[dtype] <= operand < _LIMITS[dtype]:
            raise OverflowError(f"the integer {operand} is out of bounds for {dtype}")
        return int(operand) if isinstance(operand, bool) else operand

    def rounded(self, array, dtype=None):
        """The tensor of an array in its own type, or another one."""
        dtype = array._dtype if dtype is None else dtype
        tensor = array._tensor
        if array._dtype in HALVES and dtype not in (array._dtype, DataType.Bool) and tensor.dtype not in HALVES:
            tensor = self.definition.ops.cast(tensor, array._dtype)
        return tensor if tensor.dtype is dtype else self.definition.ops.cast(tensor, dtype)

    def finish(self, outputs):
        """The arrays become the outputs, each in a stride order (None: any)."""
        for array, order in outputs:
            self.definition.add_output(self.rounded(array), stride_order=order)
        if outputs:
            self.definition._complete()


_LIMITS = {DataType.Int32: 2**31, DataType.Int: 2**63}
_EXACT = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "pow": operator.pow,
          "bitwise_left_shift": operator.lshift}
_FLOATING_FUNCTIONS = frozenset("truediv sqrt rsqrt exp log log2 log10 sin cos tanh".split())


def _category(dtype):
    return 0 if dtype is DataType.Bool else 1 if dtype in (DataType.Int, DataType.Int32) else 2


class _Captured:
    def __init__(self, array):
        self.array = array
