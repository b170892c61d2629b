"""Random definitions, for tests that compare ways to call them."""
import numpy as np

from tokamak import DataType, FusionDefinition

UNARY = ["sin", "exp", "tanh", "neg", "abs", "relu"]
BINARY = ["add", "sub", "mul", "maximum", "minimum"]
TYPES = {DataType.Float: "float32", DataType.Int32: "int32", DataType.Half: "float16", DataType.Bool: "bool"}


class RandomDefinition:
    """A definition with some inputs of one shape, numbers, a chain of ops, and outputs of every kind; `arrays(sizes)`
    makes inputs for it."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.rank = int(self.random.integers(0, 4))
        self.types = [self._one_of(list(TYPES)) for _ in range(self.random.integers(1, 4))]
        self.numbers = [self._one_of([DataType.Double, DataType.Int]) for _ in range(self.random.integers(0, 3))]
        self.is_updating = bool(self.random.integers(0, 3) == 0)
        with FusionDefinition() as fd:
            self.definition = fd
            self._define(fd)

    def _one_of(self, values):
        return values[self.random.integers(0, len(values))]

    def _define(self, fd):
        inputs = [fd.define_tensor([-1] * self.rank, contiguity=True, dtype=dtype) for dtype in self.types]
        numbers = [fd.define_scalar(dtype) for dtype in self.numbers]
        values = [fd.ops.cast(each, DataType.Float) for each in inputs]
        for _ in range(self.random.integers(1, 6)):
            values.append(self._step(fd, self._one_of(values), values, numbers))
        if self.is_updating:
            fd.add_output(fd.ops.cast(values[0] + 1.0, self.types[0]), alias_input=inputs[0])
        for _ in range(self.random.integers(1, 4)):
            fd.add_output(self._shaped(fd, self._one_of([*values, *([] if self.is_updating else inputs)])))

    def _step(self, fd, x, values, numbers):
        kind = self.random.integers(0, 4)
        if kind == 0:
            return getattr(fd.ops, self._one_of(UNARY))(fd.ops.tanh(x))
        if kind == 1 and numbers:
            return fd.ops.mul(x, fd.ops.cast(self._one_of(numbers), DataType.Float))
        if kind == 2:
            return fd.ops.where(fd.ops.gt(x, 0.5), x, self._one_of(values))
        return getattr(fd.ops, self._one_of(BINARY))(x, self._one_of(values))

    def _shaped(self, fd, x):
        """As it is, or in another shape or type."""
        kind, axes = self.random.integers(0, 6), list(range(self.rank))
        if kind == 0 and axes:
            return fd.ops.permute(x, [int(each) for each in self.random.permutation(self.rank)])
        if kind == 1 and axes:
            return fd.ops.sum(fd.ops.cast(x, DataType.Float), [int(self._one_of(axes))])
        if kind == 2:
            return fd.ops.broadcast(x, [True, *([False] * self.rank)])
        if kind == 3 and axes:
            size = fd.ops.size(x, 0)
            for axis in axes[1:]:
                size = size * fd.ops.size(x, axis)
            return fd.ops.reshape(x, [size])
        if kind == 4 and axes:
            return fd.ops.cat([x, x], int(self._one_of(axes)))
        return fd.ops.cast(x, self._one_of([DataType.Float, DataType.Half, DataType.Int32]))

    def sizes(self):
        """Sizes of the inputs, some of them 0 and 1."""
        return [int(self._one_of([0, 1, 2, 3, 5, 8])) for _ in range(self.rank)]

    def arrays(self, sizes):
        """Arrays of NumPy and numbers for the inputs."""
        made = [self.random.uniform(-3, 3, sizes) for _ in self.types]
        arrays = [np.asarray(each > 0 if dtype is DataType.Bool else each).astype(TYPES[dtype])
                  for dtype, each in zip(self.types, made)]
        return [*arrays, *(float(self.random.uniform(-2, 2)) if dtype is DataType.Double else
                           int(self.random.integers(-3, 4)) for dtype in self.numbers)]

    def expected(self, inputs):
        """The outputs by execute() on NumPy's arrays, then the new value of an input that is updated."""
        given = [np.array(each) if isinstance(each, np.ndarray) else each for each in inputs]
        outputs = [np.asarray(each) for each in self.definition.execute(given)]
        return outputs, given[0] if self.is_updating else None
