"""fd.ops, as type checkers see it. Written by scripts/python_stubs.py."""
from collections.abc import Sequence
from typing import Any, SupportsIndex, overload

from ._types import DataType
from ._values import AnyValue, Number, Scalar, ScalarOrNumber, Size, Tensor, Value, Vector
from .definition import FusionDefinition

ROWS: dict[str, Any]
CALLABLES: dict[str, Any]

def signature_of(name: str) -> Any: ...

class Namespace:
    _definition: FusionDefinition
    _name: str
    _missing: dict[str, str]
    def __init__(self, definition: FusionDefinition) -> None: ...

class Operators(Namespace):
    """The ops of a definition: fd.ops.add(x, y). An op that is not there raises NotImplementedError by its name."""

    def abs(self, arg: AnyValue) -> AnyValue:
        """the magnitude of x."""
    def acos(self, arg: AnyValue) -> AnyValue:
        """the inverse of cos, from 0 to pi; NaN outside of -1 to 1."""
    def acosh(self, arg: AnyValue) -> AnyValue:
        """the inverse of cosh; NaN below 1."""
    @overload
    def add(self, arg1: Tensor, arg2: Value) -> Tensor:
        """x + y."""
    @overload
    def add(self, arg1: Value, arg2: Tensor) -> Tensor:
        """x + y."""
    @overload
    def add(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """x + y."""
    @overload
    def add_alpha(ops, /, self: Tensor, other: Value, alpha: Value) -> Tensor:
        """x + y * z."""
    @overload
    def add_alpha(ops, /, self: Value, other: Tensor, alpha: Value) -> Tensor:
        """x + y * z."""
    @overload
    def add_alpha(ops, /, self: Value, other: Value, alpha: Tensor) -> Tensor:
        """x + y * z."""
    @overload
    def add_alpha(ops, /, self: ScalarOrNumber, other: ScalarOrNumber, alpha: ScalarOrNumber) -> Scalar:
        """x + y * z."""
    @overload
    def addcmul(self, arg1: Tensor, arg2: Value, arg3: Value, value: Value) -> Tensor:
        """x + w * y * z."""
    @overload
    def addcmul(self, arg1: Value, arg2: Tensor, arg3: Value, value: Value) -> Tensor:
        """x + w * y * z."""
    @overload
    def addcmul(self, arg1: Value, arg2: Value, arg3: Tensor, value: Value) -> Tensor:
        """x + w * y * z."""
    @overload
    def addcmul(self, arg1: Value, arg2: Value, arg3: Value, value: Tensor) -> Tensor:
        """x + w * y * z."""
    @overload
    def addcmul(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber, arg3: ScalarOrNumber,
                value: ScalarOrNumber) -> Scalar:
        """x + w * y * z."""
    def asin(self, arg: AnyValue) -> AnyValue:
        """the inverse of sin, from -pi/2 to pi/2; NaN outside of -1 to 1."""
    def asinh(self, arg: AnyValue) -> AnyValue:
        """the inverse of sinh."""
    def at(self, vector: Sequence[Size], index: SupportsIndex) -> Scalar | int:
        """An entry of a Vector."""
    def atan(self, arg: AnyValue) -> AnyValue:
        """the inverse of tan, from -pi/2 to pi/2."""
    @overload
    def atan2(self, arg1: Tensor, arg2: Value) -> Tensor:
        """the angle of the point (y, x), from -pi to pi: atan(x / y) in the right quadrant."""
    @overload
    def atan2(self, arg1: Value, arg2: Tensor) -> Tensor:
        """the angle of the point (y, x), from -pi to pi: atan(x / y) in the right quadrant."""
    @overload
    def atan2(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """the angle of the point (y, x), from -pi to pi: atan(x / y) in the right quadrant."""
    def atanh(self, arg: AnyValue) -> AnyValue:
        """the inverse of tanh; NaN outside of -1 to 1."""
    def attention(self, q: Tensor, k: Tensor, v: Tensor, is_causal: bool = False, scale: Number | None = None,
                  bias: Tensor | None = None, mask: Tensor | None = None, logsumexp: bool = False) -> Any:
        """softmax(q k^T * scale + bias) v per batch and head, 0 for queries that the mask hides every key from; scores
        and softmax are f32 or f64, the scale is 1 / sqrt(head size) unless given; logsumexp=true gives the logarithms,
        too."""
    def batch_norm(self, arg: Tensor, weight: Tensor | None = None, bias: Tensor | None = None,
                   running_mean: Tensor | None = None, running_var: Tensor | None = None, momentum: Number = 0.1,
                   eps: Number = 1e-05, training: bool = True, channels_last: bool = False) -> tuple[Tensor, Tensor,
                   Tensor]:
        """Each channel (axis 1, or the last one) normalised over all other axes: the result, the mean and 1 /
        deviation. In training the running statistics that are given are moved on in place; else they are what
        normalises."""
    def batch_norm_backward(self, grad: Tensor, arg: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None = None,
                            axis: SupportsIndex = 1) -> tuple[Tensor, ...]:
        """the gradients of batch_norm's input, weight and bias."""
    def batch_norm_inference(self, arg: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None = None,
                             bias: Tensor | None = None, eps: Number = 1e-05, axis: SupportsIndex = 1) -> Tensor:
        """normalises each channel with known statistics."""
    @overload
    def bitwise_and(self, arg1: Tensor, arg2: Value) -> Tensor:
        """the bits that x and y have."""
    @overload
    def bitwise_and(self, arg1: Value, arg2: Tensor) -> Tensor:
        """the bits that x and y have."""
    @overload
    def bitwise_and(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """the bits that x and y have."""
    @overload
    def bitwise_left_shift(self, arg1: Tensor, arg2: Value) -> Tensor:
        """x with its bits moved up by y."""
    @overload
    def bitwise_left_shift(self, arg1: Value, arg2: Tensor) -> Tensor:
        """x with its bits moved up by y."""
    @overload
    def bitwise_left_shift(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """x with its bits moved up by y."""
    def bitwise_not(self, arg: AnyValue) -> AnyValue:
        """the bits of x exchanged; of bool its negation."""
    @overload
    def bitwise_or(self, arg1: Tensor, arg2: Value) -> Tensor:
        """the bits that x or y have."""
    @overload
    def bitwise_or(self, arg1: Value, arg2: Tensor) -> Tensor:
        """the bits that x or y have."""
    @overload
    def bitwise_or(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """the bits that x or y have."""
    @overload
    def bitwise_right_shift(self, arg1: Tensor, arg2: Value) -> Tensor:
        """x with its bits moved down by y, the sign kept."""
    @overload
    def bitwise_right_shift(self, arg1: Value, arg2: Tensor) -> Tensor:
        """x with its bits moved down by y, the sign kept."""
    @overload
    def bitwise_right_shift(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """x with its bits moved down by y, the sign kept."""
    @overload
    def bitwise_xor(self, arg1: Tensor, arg2: Value) -> Tensor:
        """the bits that differ in x and y."""
    @overload
    def bitwise_xor(self, arg1: Value, arg2: Tensor) -> Tensor:
        """the bits that differ in x and y."""
    @overload
    def bitwise_xor(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """the bits that differ in x and y."""
    def broadcast(self, arg: Tensor, is_broadcast_dim: Sequence[bool]) -> Tensor:
        """puts axes of one element where a flag is true."""
    def broadcast_in_dim(self, arg: Tensor, shape: Sequence[Size],
                         broadcast_dims: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """axis i of the input becomes axis axes[i] of the result, expanded to this shape."""
    def cast(self, arg: AnyValue, dtype: DataType) -> AnyValue:
        """The elements, or a number, in another type."""
    def cat(self, tensors: Sequence[Tensor], dim: SupportsIndex = 0, manual_padding: bool = False) -> Tensor:
        """tensors one after the other along an axis."""
    def ceil(self, arg: AnyValue) -> AnyValue:
        """the smallest integer not below x."""
    def clamp(self, arg: AnyValue, min: Value | None = None, max: Value | None = None) -> AnyValue:
        """The elements, but at least min and at most max, where these are given."""
    def cos(self, arg: AnyValue) -> AnyValue:
        """the cosine of x in radians."""
    def cosh(self, arg: AnyValue) -> AnyValue:
        """the hyperbolic cosine of x."""
    def cross_entropy(self, logits: Tensor, target: Tensor, reduction: str = 'mean',
                      ignore_index: SupportsIndex = -100) -> Tensor:
        """the mean of -log_softmax(logits) at the targets."""
    def cross_entropy_backward(self, grad: Tensor, logits: Tensor, target: Tensor, log_sum_exp: Tensor,
                               reduction: str = 'mean', ignore_index: SupportsIndex = -100) -> Tensor:
        """the gradient of cross_entropy's logits, from their log_sum_exp."""
    @overload
    def div(self, arg1: Tensor, arg2: Value) -> Tensor:
        """x / y; of integers rounded towards zero, 0 for a zero divisor."""
    @overload
    def div(self, arg1: Value, arg2: Tensor) -> Tensor:
        """x / y; of integers rounded towards zero, 0 for a zero divisor."""
    @overload
    def div(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """x / y; of integers rounded towards zero, 0 for a zero divisor."""
    def dropout(self, arg: Tensor, p: Number, *, seed: ScalarOrNumber, offset: ScalarOrNumber,
                number: SupportsIndex | None = None) -> tuple[Tensor, Tensor]:
        """zero with probability p, else x / (1 - p); and the mask of what was kept."""
    def dropout_backward(self, grad: Tensor, mask: Tensor, p: Number) -> Tensor:
        """the gradient of dropout's input."""
    def embedding(self, weight: Tensor, index: Tensor, max_norm: Number | None = None,
                  norm_type: Number = 2.0) -> Tensor:
        """row index[...] of the weight for each position; with max_norm longer rows are scaled down to that norm."""
    def embedding_fwd(self, input: Tensor, weight: Tensor, padding_idx: int | None = None,
                      max_norm: float | None = None, norm_type: float | None = None,
                      scale_grad_by_freq: bool | None = None, sparse: bool | None = None) -> Tensor:
        """Row input[...] of the weight for each position. What steers gradients alone changes nothing here."""
    @overload
    def eq(self, arg1: Tensor, arg2: Value) -> Tensor:
        """whether x and y are equal."""
    @overload
    def eq(self, arg1: Value, arg2: Tensor) -> Tensor:
        """whether x and y are equal."""
    @overload
    def eq(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """whether x and y are equal."""
    def erf(self, arg: AnyValue) -> AnyValue:
        """the error function of x."""
    def erfc(self, arg: AnyValue) -> AnyValue:
        """1 - erf(x), exact also where erf(x) is near 1."""
    def erfcinv(self, arg: AnyValue) -> AnyValue:
        """the inverse of erfc."""
    def erfinv(self, arg: AnyValue) -> AnyValue:
        """the inverse of erf; NaN outside of -1 to 1."""
    def exp(self, arg: AnyValue) -> AnyValue:
        """e to the power of x."""
    def exp2(self, arg: AnyValue) -> AnyValue:
        """2 to the power of x."""
    def expand(self, arg: Tensor, shape: Sequence[Size]) -> Tensor:
        """axes of one element show this many."""
    def expm1(self, arg: AnyValue) -> AnyValue:
        """exp(x) - 1, exact also near 0."""
    def flip(self, arg: Tensor, axes: SupportsIndex | Sequence[SupportsIndex] = ()) -> Tensor:
        """the elements in reverse order along these axes; a copy without axes."""
    def floor(self, arg: AnyValue) -> AnyValue:
        """the largest integer not above x."""
    @overload
    def fmax(self, x: Tensor, y: Value) -> Tensor:
        """the larger of x and y; the number if one is NaN; of two zeros the positive one."""
    @overload
    def fmax(self, x: Value, y: Tensor) -> Tensor:
        """the larger of x and y; the number if one is NaN; of two zeros the positive one."""
    @overload
    def fmax(self, x: ScalarOrNumber, y: ScalarOrNumber) -> Scalar:
        """the larger of x and y; the number if one is NaN; of two zeros the positive one."""
    @overload
    def fmin(self, x: Tensor, y: Value) -> Tensor:
        """the smaller of x and y; the number if one is NaN; of two zeros the negative one."""
    @overload
    def fmin(self, x: Value, y: Tensor) -> Tensor:
        """the smaller of x and y; the number if one is NaN; of two zeros the negative one."""
    @overload
    def fmin(self, x: ScalarOrNumber, y: ScalarOrNumber) -> Scalar:
        """the smaller of x and y; the number if one is NaN; of two zeros the negative one."""
    @overload
    def fmod(self, arg1: Tensor, arg2: Value) -> Tensor:
        """the remainder of x / y with the sign of x."""
    @overload
    def fmod(self, arg1: Value, arg2: Tensor) -> Tensor:
        """the remainder of x / y with the sign of x."""
    @overload
    def fmod(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """the remainder of x / y with the sign of x."""
    def frac(self, arg: AnyValue) -> AnyValue:
        """x without its integer part, with the sign of x."""
    def full(self, shape: Sequence[Size], fill_value: ScalarOrNumber, dtype: DataType) -> Tensor:
        """a tensor of one value."""
    def gather(self, arg: Tensor, index: Tensor, dim: SupportsIndex) -> Tensor:
        """out[..i..] = in[..index[..i..]..] along an axis, as torch.gather."""
    @overload
    def gcd(self, arg1: Tensor, arg2: Value) -> Tensor:
        """the greatest common divisor."""
    @overload
    def gcd(self, arg1: Value, arg2: Tensor) -> Tensor:
        """the greatest common divisor."""
    @overload
    def gcd(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """the greatest common divisor."""
    @overload
    def ge(self, arg1: Tensor, arg2: Value) -> Tensor:
        """whether x is at least y."""
    @overload
    def ge(self, arg1: Value, arg2: Tensor) -> Tensor:
        """whether x is at least y."""
    @overload
    def ge(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """whether x is at least y."""
    def gelu(self, arg: Tensor) -> Tensor:
        """x times the normal distribution function of x."""
    def gelu_backward(self, grad: Tensor, arg: Tensor) -> Tensor:
        """the gradient of gelu's input."""
    def gelu_tanh(self, arg: Tensor) -> Tensor:
        """gelu by its formula with tanh."""
    def gelu_tanh_backward(self, grad: Tensor, arg: Tensor) -> Tensor:
        """the gradient of gelu_tanh's input."""
    def group_norm(self, arg: Tensor, groups: SupportsIndex, weight: Tensor | None = None, bias: Tensor | None = None,
                   eps: Number = 1e-05) -> Tensor:
        """normalises groups of channels (axis 1) over all axes behind them."""
    @overload
    def gt(self, arg1: Tensor, arg2: Value) -> Tensor:
        """whether x is larger than y."""
    @overload
    def gt(self, arg1: Value, arg2: Tensor) -> Tensor:
        """whether x is larger than y."""
    @overload
    def gt(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """whether x is larger than y."""
    def index_select(self, arg: Tensor, index: Tensor, dim: SupportsIndex) -> Tensor:
        """the slices of an axis at these positions."""
    def iota(self, length: ScalarOrNumber, start: ScalarOrNumber = 0, step: ScalarOrNumber = 1,
             dtype: DataType = DataType.Int) -> Tensor:
        """start, start + step, ...: length elements."""
    def isfinite(self, arg: AnyValue) -> AnyValue:
        """whether x is neither infinite nor NaN."""
    def isinf(self, arg: AnyValue) -> AnyValue:
        """whether x is infinite."""
    def isnan(self, arg: AnyValue) -> AnyValue:
        """whether x is NaN."""
    def isneginf(self, arg: AnyValue) -> AnyValue:
        """whether x is -inf."""
    def isposinf(self, arg: AnyValue) -> AnyValue:
        """whether x is inf."""
    def isreal(self, arg: AnyValue) -> AnyValue:
        """true: every type is real."""
    def layer_norm(self, arg: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: Number = 1e-05,
                   norm_axes: SupportsIndex = 1) -> Tensor:
        """normalises over the last norm_axes axes, then scales by the weight and adds the bias."""
    def layer_norm_backward(self, grad: Tensor, arg: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None = None,
                            norm_axes: SupportsIndex = 1) -> tuple[Tensor, ...]:
        """the gradients of layer_norm's input, weight and bias."""
    @overload
    def le(self, arg1: Tensor, arg2: Value) -> Tensor:
        """whether x is at most y."""
    @overload
    def le(self, arg1: Value, arg2: Tensor) -> Tensor:
        """whether x is at most y."""
    @overload
    def le(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """whether x is at most y."""
    def leaky_relu(self, arg: Tensor, slope: Number = 0.01) -> Tensor:
        """x, but slope * x where x is negative."""
    @overload
    def lerp(self, start: Tensor, end: Value, weight: Value) -> Tensor:
        """x + z * (y - x): x for z = 0, y for z = 1."""
    @overload
    def lerp(self, start: Value, end: Tensor, weight: Value) -> Tensor:
        """x + z * (y - x): x for z = 0, y for z = 1."""
    @overload
    def lerp(self, start: Value, end: Value, weight: Tensor) -> Tensor:
        """x + z * (y - x): x for z = 0, y for z = 1."""
    @overload
    def lerp(self, start: ScalarOrNumber, end: ScalarOrNumber, weight: ScalarOrNumber) -> Scalar:
        """x + z * (y - x): x for z = 0, y for z = 1."""
    def lgamma(self, arg: AnyValue) -> AnyValue:
        """the logarithm of the magnitude of the gamma function."""
    def linear(self, arg1: Tensor, arg2: Tensor, bias: Tensor | None = None) -> Tensor:
        """x w^T + bias: the weight has a row per feature of the result; dtype=f32 keeps the sums of halves in f32."""
    def log(self, arg: AnyValue) -> AnyValue:
        """the natural logarithm of x."""
    def log10(self, arg: AnyValue) -> AnyValue:
        """the logarithm of x to base 10."""
    def log1p(self, arg: AnyValue) -> AnyValue:
        """log(1 + x), exact also near 0."""
    def log2(self, arg: AnyValue) -> AnyValue:
        """the logarithm of x to base 2."""
    def log_softmax(self, arg: Tensor, axis: SupportsIndex = -1) -> Tensor:
        """the logarithm of softmax."""
    def log_softmax_backward(self, grad: Tensor, out: Tensor, axis: SupportsIndex = -1) -> Tensor:
        """the gradient of log_softmax's input, from its result."""
    def log_sum_exp(self, arg: Tensor, axis: SupportsIndex = -1) -> Tensor:
        """the logarithm of the sum of exp(x) along an axis, without overflow."""
    @overload
    def logical_and(self, arg1: Tensor, arg2: Value) -> Tensor:
        """whether x and y are both non-zero."""
    @overload
    def logical_and(self, arg1: Value, arg2: Tensor) -> Tensor:
        """whether x and y are both non-zero."""
    @overload
    def logical_and(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """whether x and y are both non-zero."""
    def logical_not(self, arg: AnyValue) -> AnyValue:
        """whether x is zero."""
    @overload
    def logical_or(self, arg1: Tensor, arg2: Value) -> Tensor:
        """whether x or y is non-zero."""
    @overload
    def logical_or(self, arg1: Value, arg2: Tensor) -> Tensor:
        """whether x or y is non-zero."""
    @overload
    def logical_or(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """whether x or y is non-zero."""
    @overload
    def logical_right_shift(self, arg1: Tensor, arg2: Value) -> Tensor:
        """x with its bits moved down by y, zeros from above."""
    @overload
    def logical_right_shift(self, arg1: Value, arg2: Tensor) -> Tensor:
        """x with its bits moved down by y, zeros from above."""
    @overload
    def logical_right_shift(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """x with its bits moved down by y, zeros from above."""
    @overload
    def lt(self, arg1: Tensor, arg2: Value) -> Tensor:
        """whether x is smaller than y."""
    @overload
    def lt(self, arg1: Value, arg2: Tensor) -> Tensor:
        """whether x is smaller than y."""
    @overload
    def lt(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """whether x is smaller than y."""
    def matmul(self, arg1: Tensor, arg2: Tensor) -> Tensor:
        """the matrix product of the last two axes, batched over those before; dtype=f32 keeps the sums of halves in
        f32."""
    def max(self, arg: Tensor, dims: SupportsIndex | Sequence[SupportsIndex] | None = None, keepdim: bool = False,
            dtype: DataType = DataType.Null) -> Tensor:
        """the largest element along axes, all by default; NaN if one is."""
    @overload
    def maximum(self, arg1: Tensor, arg2: Value) -> Tensor:
        """the larger of x and y; NaN if either is."""
    @overload
    def maximum(self, arg1: Value, arg2: Tensor) -> Tensor:
        """the larger of x and y; NaN if either is."""
    @overload
    def maximum(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """the larger of x and y; NaN if either is."""
    def mean(self, arg: Tensor, axes: SupportsIndex | Sequence[SupportsIndex] = (), keepdim: bool = False) -> Tensor:
        """the mean along axes, all by default."""
    def min(self, arg: Tensor, dims: SupportsIndex | Sequence[SupportsIndex] | None = None, keepdim: bool = False,
            dtype: DataType = DataType.Null) -> Tensor:
        """the smallest element along axes, all by default; NaN if one is."""
    @overload
    def minimum(self, arg1: Tensor, arg2: Value) -> Tensor:
        """the smaller of x and y; NaN if either is."""
    @overload
    def minimum(self, arg1: Value, arg2: Tensor) -> Tensor:
        """the smaller of x and y; NaN if either is."""
    @overload
    def minimum(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """the smaller of x and y; NaN if either is."""
    @overload
    def mod(self, arg1: Tensor, arg2: Value) -> Tensor:
        """the remainder of the integers x / y with the sign of x, 0 for a zero divisor."""
    @overload
    def mod(self, arg1: Value, arg2: Tensor) -> Tensor:
        """the remainder of the integers x / y with the sign of x, 0 for a zero divisor."""
    @overload
    def mod(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """the remainder of the integers x / y with the sign of x, 0 for a zero divisor."""
    @overload
    def mul(self, arg1: Tensor, arg2: Value) -> Tensor:
        """x * y."""
    @overload
    def mul(self, arg1: Value, arg2: Tensor) -> Tensor:
        """x * y."""
    @overload
    def mul(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """x * y."""
    @overload
    def ne(self, arg1: Tensor, arg2: Value) -> Tensor:
        """whether x and y differ."""
    @overload
    def ne(self, arg1: Value, arg2: Tensor) -> Tensor:
        """whether x and y differ."""
    @overload
    def ne(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """whether x and y differ."""
    def neg(self, arg: AnyValue) -> AnyValue:
        """-x."""
    @overload
    def nextafter(self, arg1: Tensor, arg2: Value) -> Tensor:
        """the next number after x towards y."""
    @overload
    def nextafter(self, arg1: Value, arg2: Tensor) -> Tensor:
        """the next number after x towards y."""
    @overload
    def nextafter(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """the next number after x towards y."""
    def normal(self, mean: Value, std: Value, shape: Sequence[Size], rng_seed: Size | None = None,
               rng_offset: Size | None = None, dtype: DataType = DataType.Float, *,
               number: int | None = None) -> Tensor:
        """Normally distributed numbers of a floating type."""
    def ones(self, shape: Sequence[Size], dtype: DataType = DataType.Float) -> Tensor:
        """a tensor of ones."""
    def pad(self, arg: Tensor, pad_widths: Sequence[Size], value: Scalar | Number | None = None) -> Tensor:
        """Elements around a tensor: pairs of widths (before, after), the last axis first."""
    def permute(self, arg: Tensor, dims: Sequence[SupportsIndex]) -> Tensor:
        """axis i of the result is axis order[i] of the input."""
    @overload
    def pow(self, arg1: Tensor, arg2: Value) -> Tensor:
        """x to the power of y."""
    @overload
    def pow(self, arg1: Value, arg2: Tensor) -> Tensor:
        """x to the power of y."""
    @overload
    def pow(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """x to the power of y."""
    def prod(self, arg: Tensor, dims: SupportsIndex | Sequence[SupportsIndex] | None = None, keepdim: bool = False,
             dtype: DataType = DataType.Null) -> Tensor:
        """the product along axes, all by default."""
    def rand(self, shape: Sequence[Size], *, seed: ScalarOrNumber, offset: ScalarOrNumber,
             number: SupportsIndex | None = None) -> Tensor:
        """uniform f32 numbers from 0 to 1, without 1."""
    def rand_like(self, arg: Tensor, rng_seed: Size | None = None, rng_offset: Size | None = None, *,
                  number: int | None = None) -> Tensor:
        """Uniform numbers from 0 to 1 in the shape of a tensor, and of its type if that is floating."""
    def randn_like(self, arg: Tensor, rng_seed: Size | None = None, rng_offset: Size | None = None, *,
                   number: int | None = None) -> Tensor:
        """Normally distributed numbers in the shape of a tensor, and of its type if that is floating."""
    def random_bits(self, shape: Sequence[Size], *, seed: ScalarOrNumber, offset: ScalarOrNumber,
                    number: SupportsIndex | None = None) -> Tensor:
        """random words of 32 bits."""
    def real(self, arg: Tensor) -> Tensor:
        """The elements themselves, as all numbers here are real."""
    def reciprocal(self, arg: AnyValue) -> AnyValue:
        """1 / x."""
    def relu(self, arg: AnyValue) -> AnyValue:
        """x, but 0 where x is negative."""
    @overload
    def remainder(self, arg1: Tensor, arg2: Value) -> Tensor:
        """the remainder of x / y with the sign of y."""
    @overload
    def remainder(self, arg1: Value, arg2: Tensor) -> Tensor:
        """the remainder of x / y with the sign of y."""
    @overload
    def remainder(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """the remainder of x / y with the sign of y."""
    def reshape(self, arg: Tensor, new_shape: Sequence[Size]) -> Tensor:
        """the same elements in row-major order under another shape."""
    def rms_norm(self, arg: Tensor, weight: Tensor | None = None, eps: Number = 1e-05,
                 norm_axes: SupportsIndex = 1) -> Tensor:
        """divides by the root of the mean square over the last norm_axes axes, then scales by the weight."""
    def rms_norm_backward(self, grad: Tensor, arg: Tensor, rstd: Tensor, weight: Tensor | None = None,
                          norm_axes: SupportsIndex = 1) -> tuple[Tensor, ...]:
        """the gradients of rms_norm's input and weight."""
    def rope(self, arg: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """rotary position embedding: turns the halves of the last axis by these angles."""
    def rope_backward(self, grad: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """the gradient of rope's input."""
    def round(self, arg: AnyValue) -> AnyValue:
        """the nearest integer, the even one of two."""
    def rsqrt(self, arg: AnyValue) -> AnyValue:
        """1 / sqrt(x)."""
    def sdpfa_bwd(self, grad_output: Tensor, query: Tensor, key: Tensor, value: Tensor, output: Tensor,
                  logsumexp: Tensor, dropout_p: Value | None = None, is_causal: Value | None = None,
                  philox_seed: Tensor | None = None, philox_offset: Tensor | None = None,
                  scale: Value | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of query, key and value of sdpfa_fwd(), by products of whole scores."""
    def sdpfa_fwd(self, query: Tensor, key: Tensor, value: Tensor, dropout_p: Value | None = None,
                  is_causal: Value | None = None, scale: Value | None = None, *, bias: Tensor | None = None,
                  mask: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Attention of [batch, head, sequence, embedding]: the output, the logarithms of sums of each query, and a seed
        and an offset, which are 0: dropout_p is 0."""
    def segment_set(self, arg: Tensor) -> Tensor:
        """a copy at which the program is cut: nothing that reads it is in the same kernel."""
    def select(self, arg: Tensor, index: ScalarOrNumber, dim: SupportsIndex) -> Tensor:
        """one position of an axis, which goes away; also x[2]."""
    def set(self, arg: Tensor) -> Tensor:
        """a copy."""
    def shape(self, arg: Tensor) -> Vector:
        """The sizes of all axes, a Vector."""
    def sigmoid(self, arg: AnyValue) -> AnyValue:
        """1 / (1 + exp(-x))."""
    def sign(self, arg: AnyValue) -> AnyValue:
        """-1, 0 or 1, as x is negative, zero or positive."""
    def signbit(self, arg: AnyValue) -> AnyValue:
        """whether x has a minus sign, also -0.0."""
    def silu(self, arg: AnyValue) -> AnyValue:
        """x * sigmoid(x), also called swish."""
    def silu_backward(self, grad: Tensor, arg: Tensor) -> Tensor:
        """the gradient of silu's input."""
    def sin(self, arg: AnyValue) -> AnyValue:
        """the sine of x in radians."""
    def sinh(self, arg: AnyValue) -> AnyValue:
        """the hyperbolic sine of x."""
    def size(self, arg: Tensor, dim: SupportsIndex) -> Scalar:
        """The size of an axis, a scalar."""
    def slice(self, arg: Tensor, start_indices: Sequence[Size], end_indices: Sequence[Size],
              strides: Sequence[Size] | None = None, manual_normalization: bool = False) -> Tensor:
        """a range of an axis, or of all by lists of starts, stops and steps; also x[:, 1:7:2]."""
    def softmax(self, arg: Tensor, axis: SupportsIndex = -1) -> Tensor:
        """exp(x) divided by its sum along an axis."""
    def softmax_backward(self, grad: Tensor, out: Tensor, axis: SupportsIndex = -1) -> Tensor:
        """the gradient of softmax's input, from its result."""
    def softplus(self, arg: Tensor, beta: Number = 1.0, threshold: Number = 20.0) -> Tensor:
        """log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold."""
    def sqrt(self, arg: AnyValue) -> AnyValue:
        """the square root of x; NaN below 0."""
    def squeeze(self, arg: Tensor, dims: SupportsIndex | Sequence[SupportsIndex],
                squeeze_expanded: bool = False) -> Tensor:
        """takes axes of one element away."""
    def stride_order(self, arg: Tensor, stride_order: Sequence[int]) -> Tensor:
        """The same elements; as an output in memory of this order (the rank of each axis, 0 the fastest)."""
    @overload
    def sub(self, arg1: Tensor, arg2: Value) -> Tensor:
        """x - y."""
    @overload
    def sub(self, arg1: Value, arg2: Tensor) -> Tensor:
        """x - y."""
    @overload
    def sub(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """x - y."""
    @overload
    def sub_alpha(ops, /, self: Tensor, other: Value, alpha: Value) -> Tensor:
        """x - y * z."""
    @overload
    def sub_alpha(ops, /, self: Value, other: Tensor, alpha: Value) -> Tensor:
        """x - y * z."""
    @overload
    def sub_alpha(ops, /, self: Value, other: Value, alpha: Tensor) -> Tensor:
        """x - y * z."""
    @overload
    def sub_alpha(ops, /, self: ScalarOrNumber, other: ScalarOrNumber, alpha: ScalarOrNumber) -> Scalar:
        """x - y * z."""
    def sum(self, arg: Tensor, dims: SupportsIndex | Sequence[SupportsIndex] | None = None, keepdim: bool = False,
            dtype: DataType = DataType.Null) -> Tensor:
        """the sum along axes, all by default."""
    def take_along_axis(self, arg: Tensor, index: Tensor, dim: SupportsIndex) -> Tensor:
        """out[..i..] = in[..index[..i..]..] along an axis; the other axes are the same size."""
    def tan(self, arg: AnyValue) -> AnyValue:
        """the tangent of x in radians."""
    def tanh(self, arg: AnyValue) -> AnyValue:
        """the hyperbolic tangent of x."""
    def tensor_sizes(self, arg: Tensor) -> Vector:
        """The sizes of all axes, a Vector."""
    @overload
    def threshold(self, arg: Tensor, threshold: Value, value: Value) -> Tensor:
        """x, but z where x is at most y."""
    @overload
    def threshold(self, arg: Value, threshold: Tensor, value: Value) -> Tensor:
        """x, but z where x is at most y."""
    @overload
    def threshold(self, arg: Value, threshold: Value, value: Tensor) -> Tensor:
        """x, but z where x is at most y."""
    @overload
    def threshold(self, arg: ScalarOrNumber, threshold: ScalarOrNumber, value: ScalarOrNumber) -> Scalar:
        """x, but z where x is at most y."""
    def transpose(self, arg: Tensor, a: SupportsIndex = -2, b: SupportsIndex = -1) -> Tensor:
        """exchanges two axes, the last two by default."""
    def triu(self, input: Tensor, diagonal: Size = 0) -> Tensor:
        """The elements on and above a diagonal of the last two axes, and zeros."""
    @overload
    def truediv(self, arg1: Tensor, arg2: Value) -> Tensor:
        """x / y, of integers in f32."""
    @overload
    def truediv(self, arg1: Value, arg2: Tensor) -> Tensor:
        """x / y, of integers in f32."""
    @overload
    def truediv(self, arg1: ScalarOrNumber, arg2: ScalarOrNumber) -> Scalar:
        """x / y, of integers in f32."""
    def trunc(self, arg: AnyValue) -> AnyValue:
        """x without its fraction."""
    def uniform(self, minval: Value, maxval: Value, shape: Sequence[Size], rng_seed: Size | None = None,
                rng_offset: Size | None = None, dtype: DataType = DataType.Float, *,
                number: int | None = None) -> Tensor:
        """Uniform numbers from minval to maxval, without maxval (but for rounding), of a floating type. Without a seed
        each call has others; random.seed() repeats them."""
    def unsqueeze(self, arg: Tensor, axis: SupportsIndex) -> Tensor:
        """puts an axis of one element at a position."""
    def var(self, arg: Tensor, dims: SupportsIndex | Sequence[SupportsIndex], correction: Number = 1,
            keepdim: bool = False) -> Tensor:
        """the variance along axes, all by default; divided by the count less the correction."""
    def var_mean(self, arg: Tensor, dims: SupportsIndex | Sequence[SupportsIndex], correction: Number = 1,
                 keepdim: bool = False) -> tuple[Tensor, Tensor]:
        """the variance and the mean."""
    def welford(self, arg: Tensor, dims: SupportsIndex | Sequence[SupportsIndex]) -> tuple[Tensor, Tensor, Tensor]:
        """the mean, the sum of squared differences to it, and the count."""
    @overload
    def where(self, condition: Tensor, x: Value, y: Value) -> Tensor:
        """y where x is true, else z."""
    @overload
    def where(self, condition: Value, x: Tensor, y: Value) -> Tensor:
        """y where x is true, else z."""
    @overload
    def where(self, condition: Value, x: Value, y: Tensor) -> Tensor:
        """y where x is true, else z."""
    @overload
    def where(self, condition: ScalarOrNumber, x: ScalarOrNumber, y: ScalarOrNumber) -> Scalar:
        """y where x is true, else z."""
    def zeros(self, shape: Sequence[Size], dtype: DataType = DataType.Float) -> Tensor:
        """a tensor of zeros."""
