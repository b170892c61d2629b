"""fd.ops: signatures as data, and what calls them.

A row is what a user writes, and the callable of the library that takes it: `dims=>axes` is a parameter `dims` that the
callable calls `axes`. Parameters whose value is None are left to the callable.
"""
import inspect

from . import _tokamak
from ._types import DataType

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
cast(arg, dtype=>dtype)
cat(tensors, dim=>axis=0)
clamp(arg, min, max)
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
slice(arg, start_indices=>starts, end_indices=>stops, strides=>steps=None)
squeeze(arg, dims=>axes)
sub_alpha(self, other, alpha)
sum(arg, dims=>axes=None, keepdim=>keepdim=False, dtype=>dtype=DataType.Null)
take_along_axis(arg, index, dim=>axis)
threshold(arg, threshold, value)
var(arg, dims=>axes, correction=>correction, keepdim=>keepdim=False)
var_mean(arg, dims=>axes, correction=>correction=1, keepdim=>keepdim=False)
welford(arg, dims=>axes)
where(condition, x, y)
"""

# Terms of composites, which say too little by themselves.
_INTERNAL = ("exp_term", "philox")

# Names that scripts know and the library lacks.
MISSING = """argsort complex cummax cummin cumprod cumsum cutlass_nvfp4_grouped_mm grouped_mm imag index_put_accumulate
randn_like real scaled_mm scatter sdpfa_bwd sdpfa_fwd topk triu""".split()


class Parameter:
    """One parameter of a row: `name`, what the callable calls it (None: by position), and its default."""

    is_named_only = False
    is_own = False  # of an op that other systems do not have

    def __init__(self, word):
        name, _, rest = word.partition("=>")
        if rest:
            self.theirs, _, fallback = rest.partition("=")
        else:
            self.theirs, fallback = None, ""
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
    for name, parameters in _tokamak.callables().items():
        if name not in rows and name not in _INTERNAL:
            own = [_own_parameter(each, is_required) for each, is_required in parameters]
            rows[name] = sorted(own, key=lambda each: each.is_named_only)
    return rows


def _own_parameter(name, is_required):
    """A parameter of an op that other systems do not have, as the library calls it; Python takes no `in` for a name."""
    parameter = Parameter(f"{'arg' if name == 'in' else name}=>{name}{'' if is_required else '=None'}")
    parameter.is_own = True
    parameter.is_named_only = name in ("seed", "offset", "number")
    return parameter


ROWS = _rows()


def signature_of(name):
    """The signature of fd.ops.<name>, for help() and for binding arguments."""
    kinds = inspect.Parameter
    return inspect.Signature([inspect.Parameter(each.name, kinds.KEYWORD_ONLY if each.is_named_only else
                                                kinds.POSITIONAL_OR_KEYWORD, default=each.fallback)
                              for each in ROWS[name]])


class Namespace:
    """What is called by name of a definition. A name that scripts know and that is not there raises
    NotImplementedError."""

    _name = ""
    _missing = ()

    def __init__(self, definition):
        self._definition = definition

    def __getattr__(self, name):
        if name in self._missing:
            raise NotImplementedError(f"{self._name}.{name} is not there yet")
        raise AttributeError(f"{self._name} has no {name}; dir(fd.{self._name}) lists what there is")


class Operators(Namespace):
    """The ops of a definition: fd.ops.add(x, y). An op that is not there raises NotImplementedError by its name."""

    _name = "ops"
    _missing = MISSING

    def __dir__(self):
        return sorted({*super().__dir__(), *ROWS})

    def pad(self, arg, pad_widths, value=None):
        """Elements around a tensor: pairs of widths (before, after), the last axis first."""
        self._definition._require_tensor("pad", arg)
        widths = list(pad_widths)
        if len(widths) % 2 or len(widths) > 2 * arg.ndim:
            raise ValueError("Number of pad widths must be at most twice the input dimension, in pairs; "
                             f"got {len(widths)} for {arg.ndim}")
        pairs = [widths[i:i + 2] for i in range(0, len(widths), 2)]
        pairs += [[0, 0]] * (arg.ndim - len(pairs))
        flat = [width for pair in reversed(pairs) for width in pair]
        return self._definition._call("pad", [arg], {"widths": flat, "value": value})

    def embedding_fwd(self, input, weight, padding_idx=None, max_norm=None, norm_type=None, scale_grad_by_freq=None,
                      sparse=None):
        """Row input[...] of the weight for each position. What steers gradients alone changes nothing here."""
        return self._definition._call("embedding", [weight, input], {"max_norm": max_norm, "norm_type": norm_type})

    def stride_order(self, arg, stride_order):
        """The same elements; as an output in memory of this order (the rank of each axis, 0 the fastest)."""
        self._definition._require_tensor("stride_order", arg)
        result = self.set(arg)
        self._definition._stride_orders[id(result)] = (result, list(stride_order))
        return result

    def size(self, arg, dim):
        """The size of an axis, a scalar."""
        self._definition._require_tensor("size", arg)
        if isinstance(dim, bool) or not isinstance(dim, int):
            raise TypeError(f"ops.size: an axis is a number, not {dim!r}")
        if not -arg.ndim <= dim < arg.ndim:
            raise _tokamak.DefinitionError(f"size: axis {dim} of a tensor with {arg.ndim} axes")
        return self._definition._size(arg, dim)

    def shape(self, arg):
        """The sizes of all axes, a list of scalars."""
        self._definition._require_tensor("shape", arg)
        return [self.size(arg, axis) for axis in range(arg.ndim)]


def _operator(name):
    signature = signature_of(name)
    row = ROWS[name]

    def call(ops, /, *args, **kwargs):
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"ops.{name}{signature}: {error}") from None
        bound.apply_defaults()
        positional, named = [], {}
        for parameter in row:
            value = bound.arguments[parameter.name]
            if parameter.theirs is None:
                positional.append(value)
            elif value is not None and value is not DataType.Null:
                named[parameter.theirs] = value
        return ops._definition._call(name, positional, named)

    call.__name__ = call.__qualname__ = name
    call.__signature__ = inspect.Signature([inspect.Parameter("ops", inspect.Parameter.POSITIONAL_ONLY),
                                            *signature.parameters.values()])
    return call


for _name in ROWS:
    if _name not in Operators.__dict__:
        setattr(Operators, _name, _operator(_name))
