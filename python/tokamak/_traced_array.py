"""TracedArray: an array without elements, which stands for one while a function is traced."""
import operator

from ._types import BYTES, library_type


class TracedArray:
    """What an array is in a function that tokamak.fuse traces: shape and type, operators and methods, no elements."""

    __slots__ = ("_trace", "_tensor", "_dtype", "_shape")
    __array_priority__ = 1000

    def __init__(self, trace, tensor, dtype):
        self._trace = trace
        self._tensor = tensor
        self._dtype = dtype
        self._shape = None

    # --- what it is ---

    @property
    def dtype(self):
        """The type of the elements, as the library of the function's first array calls it."""
        return library_type(self._dtype, self._trace.promotion.library)

    @property
    def shape(self):
        """The sizes of its axes: numbers of Python's where they are the same in all calls."""
        if self._shape is None:
            self._shape = tuple(self._trace.wrap_number(self._trace.definition.ops.size(self._tensor, axis))
                                for axis in range(self.ndim))
        return self._shape

    @property
    def ndim(self):
        """The number of axes."""
        return self._tensor.ndim

    @property
    def size(self):
        """The number of elements."""
        return _functions()._product_of(self.shape)

    @property
    def T(self):
        """With its axes in reverse order."""
        return _functions().permute_dims(self, tuple(reversed(range(self.ndim))))

    @property
    def mT(self):
        """With its last two axes exchanged."""
        return _functions().matrix_transpose(self)

    @property
    def real(self):
        """The array, which has no imaginary part."""
        return self

    def conj(self):
        """The array, which has no imaginary part."""
        return self

    conjugate = conj

    @property
    def itemsize(self):
        """Bytes of an element."""
        return BYTES[self._dtype.value]

    @property
    def nbytes(self):
        """Bytes of all elements."""
        return self.size * self.itemsize

    def __getattr__(self, name):
        if name in _functions()._MISSING:
            raise AttributeError(f"{name} of a traced array is not there yet")
        raise AttributeError(f"a traced array has no {name}")

    def __repr__(self):
        try:
            sizes = ", ".join(str(self._trace.value_of(each)) for each in self.shape)
        except Exception:  # the function has returned
            sizes = "of a call that is over"
        return f"TracedArray({self._dtype}[{sizes}])"

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("len() of an array without axes")
        return operator.index(self.shape[0])

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __array_namespace__(self, api_version=None):
        return _functions()

    # --- what it has not ---

    def _no_value(self, *_):
        raise TypeError("an array has no elements while its function is traced: tokamak.numpy.where() chooses between "
                        "values, and numbers that steer Python are arguments of their own")

    __bool__ = __float__ = __int__ = __index__ = __complex__ = item = tolist = __array__ = _no_value

    def __setitem__(self, key, value):
        raise TypeError("a traced array is not written into: build the result, for instance with tokamak.numpy.where() "
                        "or concat()")

    __hash__ = object.__hash__

    # --- NumPy's functions ---

    def __array_ufunc__(self, ufunc, method, *operands, **options):
        return _functions()._apply_ufunc(ufunc, method, operands, options)

    def __array_function__(self, function, types, args, kwargs):
        return _functions()._apply_function(function, args, kwargs)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise TypeError(_functions()._refusal_of_torch(function))  # an operator of torch's then leaves it to those here

    def __getitem__(self, key):
        return _functions()._item_of(self, key)

    # --- methods ---

    def astype(self, dtype, copy=True):
        """The elements in another type."""
        return _functions().astype(self, dtype)

    def reshape(self, *shape):
        """The elements in row-major order under another shape."""
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return _functions().reshape(self, shape)

    def transpose(self, *axes):
        """With its axes in another order, the reverse one by default."""
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        return _functions().permute_dims(self, tuple(axes)) if axes else self.T

    def swapaxes(self, first, second):
        """With two axes exchanged."""
        return _functions().swapaxes(self, first, second)

    def flatten(self):
        """The elements in row-major order along one axis."""
        return _functions().reshape(self, (-1,))

    ravel = flatten

    def copy(self):
        """The array, which nothing writes into."""
        return self


def is_array(value):
    """Whether it looks like an array, of whatever library."""
    return isinstance(value, TracedArray) or (hasattr(value, "shape") and hasattr(value, "dtype"))


def _functions():
    from . import numpy

    return numpy


def _method(name):
    def call(self, *args, **kwargs):
        return getattr(_functions(), name)(self, *args, **kwargs)

    call.__name__ = name
    return call


for _name in """sum prod max min mean var std any all argmax argmin clip round squeeze take repeat dot diagonal trace
ptp""".split():
    setattr(TracedArray, _name, _method(_name))


def _operator(name, is_reflected=False):
    def call(self, other):
        functions = _functions()
        if not functions._is_operand(other):
            return NotImplemented
        return getattr(functions, name)(*((other, self) if is_reflected else (self, other)))

    return call


for _name, _function in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
                         "floordiv": "floor_divide", "mod": "remainder", "pow": "pow", "matmul": "matmul",
                         "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
                         "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}.items():
    setattr(TracedArray, f"__{_name}__", _operator(_function))
    setattr(TracedArray, f"__r{_name}__", _operator(_function, is_reflected=True))
def _divided(self, other):
    return (self // other, self % other) if _functions()._is_operand(other) else NotImplemented


def _divides(self, other):
    return (other // self, other % self) if _functions()._is_operand(other) else NotImplemented


TracedArray.__divmod__, TracedArray.__rdivmod__ = _divided, _divides
for _name, _function in {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
                         "ge": "greater_equal"}.items():
    setattr(TracedArray, f"__{_name}__", _operator(_function))
for _name, _function in {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}.items():
    setattr(TracedArray, f"__{_name}__", _method(_function))

