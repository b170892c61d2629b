"""fd.ops: signatures as data, and what calls them.

A row is what a user writes, and the callable of the library that takes it: `dims=>axes` is a parameter `dims` that the
callable calls `axes`; `=>` alone is one that changes nothing here. Parameters whose value is None are left to the
callable.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, SupportsIndex

from . import _attention, _tokamak
from ._arguments import flag, integer, integers, listed
from ._missing_ops import MISSING_OPS
from ._types import DataType
from ._values import AnyValue, Number, Scalar, Size, Tensor, Value, Vector

if TYPE_CHECKING:
    from .definition import FusionDefinition

_UNARY = """abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf erfc erfcinv erfinv exp exp2
expm1 floor frac isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not neg
reciprocal relu round rsqrt segment_set set sigmoid sign signbit silu sin sinh sqrt tan tanh trunc""".split()
_BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor div eq fmod
gcd ge gt le logical_and logical_or logical_right_shift lt maximum minimum mod mul ne nextafter pow
remainder sub truediv""".split()

_ROWS = """
add_alpha(self, other, alpha)
addcmul(arg1, arg2, arg3, value)
broadcast(arg, is_broadcast_dim=>flags)
broadcast_in_dim(arg, shape=>shape, broadcast_dims=>axes)
cat(tensors, dim=>axis=0, manual_padding=>=False)
expand(arg, shape=>shape)
full(shape=>shape, fill_value=>value, dtype=>dtype)
gather(arg, index=>index, dim=>axis)
index_select(arg, index=>index, dim=>axis)
iota(length=>length, start=>start=0, step=>step=1, dtype=>dtype=DataType.Int)
lerp(start, end, weight)
linear(arg1, arg2, bias=>bias=None)
matmul(arg1, arg2)
max(arg, dims=>axes=None, keepdim=>keepdim=False, dtype=>dtype=DataType.Null)
min(arg, dims=>axes=None, keepdim=>keepdim=False, dtype=>dtype=DataType.Null)
permute(arg, dims=>order)
prod(arg, dims=>axes=None, keepdim=>keepdim=False, dtype=>dtype=DataType.Null)
reshape(arg, new_shape=>shape)
select(arg, index=>index, dim=>axis)
slice(arg, start_indices=>starts, end_indices=>stops, strides=>steps=None, manual_normalization=>=False)
squeeze(arg, dims=>axes, squeeze_expanded=>=False)
sub_alpha(self, other, alpha)
sum(arg, dims=>axes=None, keepdim=>keepdim=False, dtype=>dtype=DataType.Null)
take_along_axis(arg, index, dim=>axis)
threshold(arg, threshold, value)
var(arg, dims=>axes, correction=>correction=1, keepdim=>keepdim=False)
var_mean(arg, dims=>axes, correction=>correction=1, keepdim=>keepdim=False)
welford(arg, dims=>axes)
where(condition, x, y)
"""

# Terms of composites, which say too little by themselves.
_INTERNAL = ("exp_term", "philox")
# Methods below do more for them than to rename.
_OWN = ("cast", "clamp", "batch_norm", "normal", "rand_like", "uniform")

# What the library has: parameters (name, whether it is required, kind, default), results and meaning of each callable.
CALLABLES = _tokamak.callables()


class Parameter:
    """One parameter of a row: `name`, what the callable calls it (None: by position), and its default."""

    is_named_only = False
    is_own = False  # of an op that other systems do not have

    def __init__(self, word):
        name, _, rest = word.partition("=>")
        self.theirs, _, fallback = rest.partition("=") if rest else (None, "", "")
        self.name = name
        self.fallback = inspect.Parameter.empty
        if fallback:
            self.fallback = eval(fallback, {"DataType": DataType})  # of the table above


def _rows():
    rows = {name: [Parameter("arg")] for name in _UNARY}
    rows |= {name: [Parameter("arg1"), Parameter("arg2")] for name in _BINARY}
    for line in _ROWS.strip().splitlines():
        name, _, words = line.rstrip(")").partition("(")
        rows[name] = [Parameter(word) for word in words.split(", ")]
    for name, callable_ in CALLABLES.items():
        if name not in rows and name not in _INTERNAL + _OWN:
            own = [_own_parameter(*each) for each in callable_["parameters"]]
            rows[name] = sorted(own, key=lambda each: each.is_named_only)
    return rows


def _own_parameter(name, is_required, kind, fallback):
    """A parameter of an op that other systems do not have, as the library calls it; Python takes no `in` for a name."""
    parameter = Parameter(f"{'arg' if name == 'in' else name}=>{name}")
    if not is_required:
        parameter.fallback = DataType(fallback) if kind == "type" and fallback is not None else fallback
    parameter.is_own = True
    parameter.is_named_only = name in ("seed", "offset", "number")
    return parameter


ROWS = _rows()


def signature_of(name: str) -> inspect.Signature:
    """The signature of fd.ops.<name>, for help() and for binding arguments."""
    kinds = inspect.Parameter
    return inspect.Signature([inspect.Parameter(each.name, kinds.KEYWORD_ONLY if each.is_named_only else
                                                kinds.POSITIONAL_OR_KEYWORD, default=each.fallback)
                              for each in ROWS[name]])


class Namespace:
    """What is called by name of a definition. A name that scripts know and that is not there raises
    NotImplementedError."""

    _name = ""
    _missing: dict[str, str] = {}

    def __init__(self, definition: FusionDefinition) -> None:
        self._definition = definition

    def __getattr__(self, name):
        if name in self._missing:
            raise NotImplementedError(f"{self._name}.{name} is not there yet: {self._missing[name]}")
        raise AttributeError(f"{self._name} has no {name}; dir(fd.{self._name}) lists what there is")


class Operators(Namespace):
    """The ops of a definition: fd.ops.add(x, y). An op that is not there raises NotImplementedError by its name."""

    _name = "ops"
    _missing = MISSING_OPS

    def __dir__(self):
        return sorted({*super().__dir__(), *ROWS})

    def cast(self, arg: AnyValue, dtype: DataType) -> AnyValue:
        """The elements, or a number, in another type."""
        return self._definition._cast(arg, dtype)

    def clamp(self, arg: AnyValue, min: Value | None = None, max: Value | None = None) -> AnyValue:
        """The elements, but at least min and at most max, where these are given."""
        if min is None and max is None:
            raise TypeError("ops.clamp: min, max or both are given")
        if max is None:
            return self.maximum(arg, min)
        if min is None:
            return self.minimum(arg, max)
        return self._definition._call("clamp", [arg, min, max], {})

    def real(self, arg: Tensor) -> Tensor:
        """The elements themselves, as all numbers here are real."""
        return self.set(arg)

    def triu(self, input: Tensor, diagonal: Size = 0) -> Tensor:
        """The elements on and above a diagonal of the last two axes, and zeros."""
        self._definition._require_tensor("triu", input)
        if not isinstance(diagonal, Scalar):
            diagonal = integer("ops.triu: diagonal", diagonal)
        if input.ndim < 2:
            raise _tokamak.DefinitionError(f"triu: a tensor with {input.ndim} axes; at least 2 are legal")
        rows, columns = (self.iota(self.size(input, axis)) for axis in (-2, -1))
        grid = self.sub(self.broadcast(columns, [True, False]), self.broadcast(rows, [False, True]))
        kept = self.broadcast(self.ge(grid, diagonal), [True] * (input.ndim - 2) + [False, False])
        return self.where(kept, input, 0)

    # --- random numbers: the same for the same seed and offset; without them, others in each call ---

    def uniform(self, minval: Value, maxval: Value, shape: Sequence[Size], rng_seed: Size | None = None,
                rng_offset: Size | None = None, dtype: DataType = DataType.Float, *,
                number: int | None = None) -> Tensor:
        """Uniform numbers from minval to maxval, without maxval (but for rounding), of a floating type. Without a seed
        each call has others; random.seed() repeats them."""
        unit = self._random("uniform", shape, rng_seed, rng_offset, number, dtype)
        if _are_numbers(minval, maxval):
            if (minval, maxval) == (0, 1):
                return unit
            width = maxval - minval
        else:
            width = self.sub(maxval, minval)
        return self.cast(self.add(minval, self.mul(unit, width)), dtype)

    def normal(self, mean: Value, std: Value, shape: Sequence[Size], rng_seed: Size | None = None,
               rng_offset: Size | None = None, dtype: DataType = DataType.Float, *,
               number: int | None = None) -> Tensor:
        """Normally distributed numbers of a floating type."""
        unit = self._random("normal", shape, rng_seed, rng_offset, number, dtype)
        if _are_numbers(mean, std) and (mean, std) == (0, 1):
            return unit
        return self.cast(self.add(mean, self.mul(unit, std)), dtype)

    def rand_like(self, arg: Tensor, rng_seed: Size | None = None, rng_offset: Size | None = None, *,
                  number: int | None = None) -> Tensor:
        """Uniform numbers from 0 to 1 in the shape of a tensor, and of its type if that is floating."""
        return self.uniform(0.0, 1.0, self.shape(arg), rng_seed, rng_offset, _floating(arg.dtype), number=number)

    def randn_like(self, arg: Tensor, rng_seed: Size | None = None, rng_offset: Size | None = None, *,
                   number: int | None = None) -> Tensor:
        """Normally distributed numbers in the shape of a tensor, and of its type if that is floating."""
        return self.normal(0.0, 1.0, self.shape(arg), rng_seed, rng_offset, _floating(arg.dtype), number=number)

    def _random(self, name, shape, seed, offset, number, dtype):
        definition = self._definition
        if seed is None:
            seed, offset = definition._seed_of_calls()
        sizes = listed(f"ops.{name}: shape", shape)
        return definition._call(name, [sizes], {"seed": seed, "offset": 0 if offset is None else offset,
                                                 "number": number, "dtype": dtype})

    def batch_norm(self, arg: Tensor, weight: Tensor | None = None, bias: Tensor | None = None,
                   running_mean: Tensor | None = None, running_var: Tensor | None = None, momentum: Number = 0.1,
                   eps: Number = 1e-5, training: bool = True,
                   channels_last: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Each channel (axis 1, or the last one) normalised over all other axes: the result, the mean and
        1 / deviation. In training the running statistics that are given are moved on in place; else they are what
        normalises."""
        for each in (arg, *(given for given in (weight, bias, running_mean, running_var) if given is not None)):
            self._definition._require_tensor("batch_norm", each)
        if arg.ndim < 2:
            raise _tokamak.DefinitionError(f"batch_norm: a tensor with {arg.ndim} axes; at least 2 are legal")
        if (running_mean is None) != (running_var is None):
            raise _tokamak.DefinitionError("batch_norm: one of the running statistics is missing; give both or none")
        channel = arg.ndim - 1 if channels_last else 1
        others = [axis for axis in range(arg.ndim) if axis != channel]
        flags = [axis != channel for axis in range(arg.ndim)]
        value = arg if arg.dtype in (DataType.Float, DataType.Double) else self.cast(arg, DataType.Float)
        if training or running_mean is None:
            variance, mean = self.var_mean(value, others, correction=0)
        else:
            variance, mean = running_var, running_mean
        if training and running_mean is not None:
            count = functools.reduce(self.mul, [self.size(arg, axis) for axis in others])
            count = self.cast(count, value.dtype)  # the quotient of integers would be one of f32
            unbiased = self.mul(variance, self.truediv(count, self.sub(count, 1)))
            for running, new in ((running_mean, mean), (running_var, unbiased)):
                moved = self.add(self.mul(new, momentum), self.sub(running, self.mul(running, momentum)))
                self._definition._update(self.cast(moved, running.dtype), running)
        invstd = self.rsqrt(self.add(variance, eps))
        result = self.mul(self.sub(value, self.broadcast(mean, flags)), self.broadcast(invstd, flags))
        if weight is not None:
            result = self.mul(result, self.broadcast(weight, flags))
        if bias is not None:
            result = self.add(result, self.broadcast(bias, flags))
        return self.cast(result, arg.dtype), mean, invstd

    def pad(self, arg: Tensor, pad_widths: Sequence[Size], value: Scalar | Number | None = None) -> Tensor:
        """Elements around a tensor: pairs of widths (before, after), the last axis first."""
        self._definition._require_tensor("pad", arg)
        widths = listed("ops.pad: pad_widths", pad_widths)
        if len(widths) % 2 or len(widths) > 2 * arg.ndim:
            raise ValueError("Number of pad widths must be at most twice the input dimension, in pairs; "
                             f"got {len(widths)} for {arg.ndim}")
        pairs = [widths[i:i + 2] for i in range(0, len(widths), 2)]
        pairs += [[0, 0]] * (arg.ndim - len(pairs))
        flat = [width for pair in reversed(pairs) for width in pair]
        return self._definition._call("pad", [arg], {"widths": flat, "value": value})

    def embedding_fwd(self, input: Tensor, weight: Tensor, padding_idx: int | None = None,
                      max_norm: float | None = None, norm_type: float | None = None,
                      scale_grad_by_freq: bool | None = None, sparse: bool | None = None) -> Tensor:
        """Row input[...] of the weight for each position. What steers gradients alone changes nothing here."""
        return self._definition._call("embedding", [weight, input], {"max_norm": max_norm, "norm_type": norm_type})

    def sdpfa_fwd(self, query: Tensor, key: Tensor, value: Tensor, dropout_p: Value | None = None,
                  is_causal: Value | None = None, scale: Value | None = None, *, bias: Tensor | None = None,
                  mask: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Attention of [batch, head, sequence, embedding]: the output, the logarithms of sums of each query, and a seed
        and an offset, which are 0: dropout_p is 0."""
        for each in (query, key, value):
            self._definition._require_tensor("sdpfa_fwd", each)
        return _attention.forward(self, query, key, value, dropout_p, is_causal, scale, bias, mask)

    def sdpfa_bwd(self, grad_output: Tensor, query: Tensor, key: Tensor, value: Tensor, output: Tensor,
                  logsumexp: Tensor, dropout_p: Value | None = None, is_causal: Value | None = None,
                  philox_seed: Tensor | None = None, philox_offset: Tensor | None = None,
                  scale: Value | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of query, key and value of sdpfa_fwd(), by products of whole scores."""
        for each in (grad_output, query, key, value, output, logsumexp):
            self._definition._require_tensor("sdpfa_bwd", each)
        return _attention.backward(self, grad_output, query, key, value, output, logsumexp, dropout_p, is_causal, scale)

    def stride_order(self, arg: Tensor, stride_order: Sequence[int]) -> Tensor:
        """The same elements; as an output in memory of this order (the rank of each axis, 0 the fastest)."""
        self._definition._require_tensor("stride_order", arg)
        result = self.set(arg)
        self._definition._stride_orders[id(result)] = (result, integers("ops.stride_order", stride_order))
        return result

    def size(self, arg: Tensor, dim: SupportsIndex) -> Scalar:
        """The size of an axis, a scalar."""
        self._definition._require_tensor("size", arg)
        dim = integer("ops.size: an axis", dim)
        if not -arg.ndim <= dim < arg.ndim:
            raise _tokamak.DefinitionError(f"size: axis {dim} of a tensor with {arg.ndim} axes")
        return self._definition._size(arg, dim)

    def shape(self, arg: Tensor) -> Vector:
        """The sizes of all axes, a Vector."""
        self._definition._require_tensor("shape", arg)
        return Vector(self.size(arg, axis) for axis in range(arg.ndim))

    tensor_sizes = shape

    def at(self, vector: Sequence[Size], index: SupportsIndex) -> Scalar | int:
        """An entry of a Vector."""
        entries = [each if isinstance(each, Scalar) else integer("ops.at: an entry", each)
                   for each in listed("ops.at", vector)]
        return Vector(entries).at(index)


def _are_numbers(*values):
    return all(isinstance(each, (int, float)) for each in values)


def _floating(dtype):
    return dtype if dtype in (DataType.Double, DataType.Float, DataType.Half, DataType.BFloat16) else DataType.Float


def _operator(name):
    signature = signature_of(name)
    row = ROWS[name]

    def call(ops, /, *args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        positional, named = [], {}
        for parameter in row:
            value = bound.arguments[parameter.name]
            if parameter.theirs == "":
                flag(f"ops.{name}: {parameter.name}", value)
            if parameter.theirs is None:
                positional.append(value)
            elif parameter.theirs and value is not None and value is not DataType.Null:
                named[parameter.theirs] = value
        return ops._definition._call(name, positional, named)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{CALLABLES[name]['meaning']}."
    call.__signature__ = inspect.Signature([inspect.Parameter("ops", inspect.Parameter.POSITIONAL_ONLY),
                                            *signature.parameters.values()])
    return call


def _recorded(call):
    """The op, which the definition writes down."""
    signature = inspect.signature(call)

    @functools.wraps(call)
    def recording(ops, /, *args, **kwargs):
        try:
            bound = signature.bind(ops, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"ops.{call.__name__}{_without_self(signature)}: {error}") from None
        given = dict(list(bound.arguments.items())[1:])
        return ops._definition._records.call(f"ops.{call.__name__}", given, lambda: call(ops, *args, **kwargs))

    return recording


def _without_self(signature):
    """The signature in short: names and defaults."""
    shown = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return signature.replace(parameters=shown[1:], return_annotation=inspect.Signature.empty)


for _name in ROWS:
    if _name not in Operators.__dict__:
        setattr(Operators, _name, _operator(_name))
for _name, _call in list(Operators.__dict__.items()):
    if not _name.startswith("_") and callable(_call):
        setattr(Operators, _name, _recorded(_call))
