"""What the operators of ATen compute, as functions of traced arrays.

A row is a function of the operator's arguments, by the names and defaults of its schema. Results need not have their
types: who runs the rows gives them those that torch's own propagation has found."""
import math
import operator

import tokamak.numpy as tnp

from .._promotion import FLOATING
from .._tracing import current_trace
from .._types import DataType

ROWS = {}  # by the operator's name, as a graph's node prints it

# Arguments that say how torch is to store a result.
IGNORED = frozenset("layout device pin_memory memory_format non_blocking requires_grad implicit".split())


def row(*names):
    """Names the operators of ATen that a function computes."""
    def register(function):
        for name in names:
            ROWS[name if name.startswith("prims.") else f"aten.{name}"] = function
        return function

    return register


def _same(names, functions=tnp):
    for name in names.split():
        overload, _, ours = name.partition("=")
        overload = overload if "." in overload else f"{overload}.default"
        ROWS[f"aten.{overload}"] = getattr(functions, ours or overload.partition(".")[0])


# --- element by element ---

_same("""abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc erfinv exp exp2 expm1 floor isinf isnan lgamma log
log10 log1p log2 neg=negative reciprocal relu round rsqrt sigmoid sin sinh sqrt tan tanh trunc silu signbit
logical_not bitwise_not=bitwise_invert
atan2 maximum minimum fmax=fmax fmin=fmin
mul.Tensor=multiply mul.Scalar=multiply eq.Tensor=equal eq.Scalar=equal ne.Tensor=not_equal ne.Scalar=not_equal
lt.Tensor=less lt.Scalar=less le.Tensor=less_equal le.Scalar=less_equal gt.Tensor=greater gt.Scalar=greater
ge.Tensor=greater_equal ge.Scalar=greater_equal logical_and logical_or logical_xor
bitwise_and.Tensor bitwise_and.Scalar bitwise_or.Tensor bitwise_or.Scalar bitwise_xor.Tensor bitwise_xor.Scalar
bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar
pow.Tensor_Scalar pow.Tensor_Tensor pow.Scalar remainder.Tensor remainder.Scalar hypot copysign.Tensor
fmod.Tensor fmod.Scalar""")


@row("sign.default")
def _sign(self):  # of NaN 0, and of -0.0 0.0
    return tnp.where(tnp.greater(self, 0), 1, tnp.where(tnp.less(self, 0), -1, 0))


@row("add.Tensor", "add.Scalar")
def _add(self, other, alpha=1):
    return tnp.add(self, other if alpha == 1 else tnp.multiply(other, alpha))


@row("sub.Tensor", "sub.Scalar")
def _sub(self, other, alpha=1):
    return tnp.subtract(self, other if alpha == 1 else tnp.multiply(other, alpha))


@row("rsub.Scalar", "rsub.Tensor")
def _rsub(self, other, alpha=1):
    return _sub(other, self, alpha)


@row("div.Tensor", "div.Scalar")
def _div(self, other):
    return tnp.divide(self, other)


@row("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(self, other, rounding_mode=None):
    if rounding_mode == "floor":
        return tnp.floor_divide(self, other)
    if rounding_mode == "trunc":
        is_whole = all(isinstance(each, int) or getattr(each, "_dtype", None) in (DataType.Int, DataType.Int32)
                       for each in (self, other))
        return tnp.div(self, other) if is_whole else tnp.trunc(_stored(tnp.divide(self, other)))
    return tnp.divide(self, other)


def _stored(x):
    """Rounded to its type, as torch's operators leave it."""
    trace = current_trace("rounding")
    return trace.array(trace.rounded(x), x._dtype)


@row("clamp.default", "clamp.Tensor")
def _clamp(self, min=None, max=None):
    return tnp.clip(self, min, max)


@row("clamp_min.default", "clamp_min.Tensor")
def _clamp_min(self, min):
    return tnp.maximum(self, min)


@row("clamp_max.default", "clamp_max.Tensor")
def _clamp_max(self, max):
    return tnp.minimum(self, max)


@row("hardtanh.default")
def _hardtanh(self, min_val=-1, max_val=1):
    return tnp.clip(self, min_val, max_val)


@row("where.self")
def _where(condition, self, other):
    return tnp.where(condition, self, other)


@row("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(self, mask, value):
    return tnp.where(mask, value, self)


@row("gelu.default")
def _gelu(self, approximate="none"):
    return tnp.gelu_tanh(self) if approximate == "tanh" else tnp.gelu(self)


@row("gelu_backward.default")
def _gelu_backward(grad_output, self, approximate="none"):
    return (tnp.gelu_tanh_backward if approximate == "tanh" else tnp.gelu_backward)(grad_output, self)


@row("silu_backward.default")
def _silu_backward(grad_output, self):
    return tnp.silu_backward(grad_output, self)


@row("sigmoid_backward.default")
def _sigmoid_backward(grad_output, output):
    return grad_output * (output * (1 - output))


@row("tanh_backward.default")
def _tanh_backward(grad_output, output):
    return grad_output * (1 - output * output)


@row("threshold_backward.default")
def _threshold_backward(grad_output, self, threshold):
    return tnp.where(tnp.less_equal(self, threshold), 0, grad_output)


@row("leaky_relu.default")
def _leaky_relu(self, negative_slope=0.01):
    return tnp.where(tnp.greater(self, 0), self, self * negative_slope)


@row("leaky_relu_backward.default")
def _leaky_relu_backward(grad_output, self, negative_slope, self_is_result):
    return tnp.where(tnp.greater(self, 0), grad_output, grad_output * negative_slope)


@row("elu.default")
def _elu(self, alpha=1, scale=1, input_scale=1):
    return tnp.where(tnp.greater(self, 0), self * scale, tnp.expm1(self * input_scale) * (alpha * scale))


@row("softplus.default")
def _softplus(self, beta=1, threshold=20):
    scaled = self * beta
    return tnp.where(tnp.greater(scaled, threshold), self, tnp.log1p(tnp.exp(scaled)) / beta)


@row("lerp.Scalar", "lerp.Tensor")
def _lerp(self, end, weight):
    return self + weight * (end - self)


@row("addcmul.default")
def _addcmul(self, tensor1, tensor2, value=1):
    return self + tensor1 * tensor2 * value


@row("addcdiv.default")
def _addcdiv(self, tensor1, tensor2, value=1):
    return self + tensor1 / tensor2 * value


# --- types and copies ---

@row("_to_copy.default")
def _to_copy(self, dtype=None):
    return self if dtype is None else tnp.astype(self, dtype)


@row("clone.default", "detach.default", "alias.default", "lift_fresh_copy.default")
def _clone(self):
    return self


@row("copy.default")
def _copy(self, src):
    return tnp.broadcast_to(tnp.astype(src, self._dtype), self.shape)


@row("prims.convert_element_type.default")
def _convert(self, dtype):
    return tnp.astype(self, dtype)


# --- reductions ---

@row("sum.default", "sum.dim_IntList")
def _sum(self, dim=None, keepdim=False, dtype=None):
    return tnp.sum(self, _dims(self, dim), dtype, keepdim)


@row("mean.default", "mean.dim")
def _mean(self, dim=None, keepdim=False, dtype=None):
    return tnp.mean(self, _dims(self, dim), dtype, keepdim)


@row("prod.default", "prod.dim_int")
def _prod(self, dim=None, keepdim=False, dtype=None):
    return tnp.prod(self, _dims(self, dim), dtype, keepdim)


@row("amax.default")
def _amax(self, dim=(), keepdim=False):
    return tnp.max(self, _dims(self, dim), keepdims=keepdim)


@row("amin.default")
def _amin(self, dim=(), keepdim=False):
    return tnp.min(self, _dims(self, dim), keepdims=keepdim)


@row("max.default")
def _max(self):
    return tnp.max(self)


@row("min.default")
def _min(self):
    return tnp.min(self)


@row("max.dim")
def _max_dim(self, dim, keepdim=False):
    dim = _dims(self, dim)
    return tnp.max(self, dim, keepdims=keepdim), tnp.argmax(self, dim, keepdims=keepdim)


@row("min.dim")
def _min_dim(self, dim, keepdim=False):
    dim = _dims(self, dim)
    return tnp.min(self, dim, keepdims=keepdim), tnp.argmin(self, dim, keepdims=keepdim)


@row("argmax.default")
def _argmax(self, dim=None, keepdim=False):
    return tnp.argmax(self, _dims(self, dim), keepdims=keepdim)


@row("argmin.default")
def _argmin(self, dim=None, keepdim=False):
    return tnp.argmin(self, _dims(self, dim), keepdims=keepdim)


@row("any.default", "any.dim", "any.dims")
def _any(self, dim=None, keepdim=False):
    return tnp.any(self, _dims(self, dim), keepdims=keepdim)


@row("all.default", "all.dim", "all.dims")
def _all(self, dim=None, keepdim=False):
    return tnp.all(self, _dims(self, dim), keepdims=keepdim)


@row("var.correction")
def _var(self, dim=None, correction=None, keepdim=False):
    return tnp.var(self, _dims(self, dim), 1 if correction is None else correction, keepdim)


@row("std.correction")
def _std(self, dim=None, correction=None, keepdim=False):
    return tnp.sqrt(_var(self, dim, correction, keepdim))


@row("var_mean.correction")
def _var_mean(self, dim=None, correction=None, keepdim=False):
    return _var(self, dim, correction, keepdim), tnp.mean(self, _dims(self, dim), keepdims=keepdim)


@row("logsumexp.default")
def _logsumexp(self, dim, keepdim=False):
    dims = _dims(self, dim)
    self = self if self._dtype in FLOATING else tnp.astype(self, DataType.Float)  # whose differences do not wrap
    if 0 in self.shape:
        return tnp.log(tnp.sum(tnp.exp(self), dims, keepdims=keepdim))
    largest = tnp.max(self, dims, keepdims=True)
    largest = tnp.where(tnp.isinf(largest), 0, largest)
    result = tnp.log(tnp.sum(tnp.exp(self - largest), dims, keepdims=True)) + largest
    return result if keepdim or self.ndim == 0 else tnp.reshape(result, _without(self.shape, dim))


def _without(shape, dim):
    axes = [each % len(shape) for each in (dim if isinstance(dim, (list, tuple)) else [dim])]
    return tuple(size for axis, size in enumerate(shape) if axis not in (axes or range(len(shape))))


@row("linalg_vector_norm.default")
def _vector_norm(self, ord=2, dim=None, keepdim=False, dtype=None):
    self = self if dtype is None else tnp.astype(self, dtype)
    magnitude = tnp.abs(self)
    if ord == math.inf:
        return tnp.max(magnitude, _dims(self, dim), keepdims=keepdim)
    if ord == -math.inf:
        return tnp.min(magnitude, _dims(self, dim), keepdims=keepdim)
    if ord == 0:
        return tnp.astype(tnp.count_nonzero(self, _dims(self, dim), keepdim), self._dtype)
    if ord == 2:
        return tnp.sqrt(tnp.sum(self * self, _dims(self, dim), keepdims=keepdim))
    return tnp.sum(magnitude ** ord, _dims(self, dim), keepdims=keepdim) ** (1 / ord)


def _dims(self, dim):
    """The axes that are meant: an empty list means all, and a tensor without axes has an axis 0 for torch."""
    if self.ndim == 0 or dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return None
    return tuple(dim) if isinstance(dim, (list, tuple)) else dim


# --- norms ---

@row("_softmax.default")
def _softmax(self, dim, half_to_float):
    return tnp.softmax(_wide(self, half_to_float), dim) if self.ndim else tnp.exp(self - self)  # NaN where infinite


@row("_log_softmax.default")
def _log_softmax(self, dim, half_to_float):
    return tnp.log_softmax(_wide(self, half_to_float), dim) if self.ndim else self - self


def _wide(x, is_wanted):
    return tnp.astype(x, DataType.Float) if is_wanted else x


@row("_softmax_backward_data.default")
def _softmax_backward(grad_output, output, dim, input_dtype):
    scaled = grad_output * output
    return scaled - output * tnp.sum(scaled, _dims(output, dim), keepdims=True)


@row("_log_softmax_backward_data.default")
def _log_softmax_backward(grad_output, output, dim, input_dtype):
    return grad_output - tnp.exp(output) * tnp.sum(grad_output, _dims(output, dim), keepdims=True)


@row("native_layer_norm.default")
def _layer_norm(input, normalized_shape, weight, bias, eps):
    axes = tuple(range(-len(normalized_shape), 0))
    mean = tnp.mean(input, axes, keepdims=True)
    difference = input - mean
    rstd = tnp.rsqrt(tnp.mean(difference * difference, axes, keepdims=True) + eps)
    result = difference * rstd
    result = result if weight is None else result * weight
    return result if bias is None else result + bias, mean, rstd


@row("native_layer_norm_backward.default")
def _layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    rank = len(normalized_shape)
    axes, others = tuple(range(-rank, 0)), tuple(range(input.ndim - rank))
    normalized = (input - mean) * rstd
    scaled = grad_out if weight is None else grad_out * weight
    inner = scaled - tnp.mean(scaled, axes, keepdims=True) - normalized * tnp.mean(
        scaled * normalized, axes, keepdims=True)
    of_weight = tnp.sum(grad_out * normalized, others) if others else grad_out * normalized
    of_bias = tnp.sum(grad_out, others) if others else grad_out
    results = (rstd * inner, of_weight, of_bias)
    return tuple(each if wanted else None for each, wanted in zip(results, output_mask))


@row("_native_batch_norm_legit_functional.default")
def _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    if not training:
        result = tnp.batch_norm_inference(input, running_mean, running_var, weight, bias, eps)
        return result, tnp.zeros((0,)), tnp.zeros((0,)), running_mean, running_var
    trace = current_trace("batch_norm")
    operands = [None if each is None else each._tensor for each in (input, weight, bias, running_mean, running_var)]
    results = trace.definition._call("batch_norm", operands, {"eps": eps, "momentum": momentum})
    return tuple(trace.array(each) for each in results)


@row("native_batch_norm_backward.default")
def _batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps,
                         output_mask):
    results = tnp.batch_norm_backward(grad_out, input, save_mean, save_invstd, weight)
    results = results if isinstance(results, tuple) else (results, None, None)  # without a weight
    return tuple(each if wanted else None for each, wanted in zip(results, output_mask))


@row("native_group_norm.default")
def _group_norm(input, weight, bias, N, C, HxW, group, eps):
    grouped = tnp.reshape(input, (N, group, -1))
    rstd = tnp.rsqrt(tnp.var(grouped, 2) + eps)
    return tnp.group_norm(input, group, weight, bias, eps), tnp.mean(grouped, 2), rstd


# --- views ---

@row("view.default", "_unsafe_view.default")
def _view(self, size):
    return tnp.reshape(self, size)


@row("permute.default")
def _permute(self, dims):
    return tnp.permute_dims(self, dims)


@row("transpose.int")
def _transpose(self, dim0, dim1):
    return tnp.swapaxes(self, dim0, dim1) if self.ndim else self


@row("t.default")
def _t(self):
    return self.T


@row("expand.default")
def _expand(self, size):
    hidden = len(size) - self.ndim
    return tnp.broadcast_to(self, [self.shape[i - hidden] if isinstance(each, int) and each == -1 else each
                                   for i, each in enumerate(size)])


@row("unsqueeze.default")
def _unsqueeze(self, dim):
    return tnp.expand_dims(self, dim)


@row("squeeze.default", "squeeze.dim", "squeeze.dims")
def _squeeze(self, dim=None):
    if dim is None:
        return tnp.squeeze(self)
    dims = [each % self.ndim for each in (dim if isinstance(dim, (list, tuple)) else [dim]) if self.ndim]
    dims = tuple(each for each in dims if isinstance(self.shape[each], int) and self.shape[each] == 1)
    return tnp.squeeze(self, dims) if dims else self


@row("slice.Tensor")
def _slice(self, dim=0, start=None, end=None, step=1):
    return self[(slice(None),) * (dim % self.ndim) + (slice(start, _end(end), step),)]


def _end(end):
    return None if isinstance(end, int) and end >= 2**62 else end


@row("select.int")
def _select(self, dim, index):
    return self[(slice(None),) * (dim % self.ndim) + (index,)]


@row("cat.default")
def _cat(tensors, dim=0):
    kept = [each for each in tensors if not (each.ndim == 1 and isinstance(each.shape[0], int) and each.shape[0] == 0)]
    return tnp.concat(kept or tensors[:1], dim)


@row("stack.default")
def _stack(tensors, dim=0):
    return tnp.stack(tensors, dim)


@row("split.Tensor")
def _split(self, split_size, dim=0):
    count = math.ceil(operator.index(self.shape[dim]) / operator.index(split_size)) or 1
    return _split_with_sizes(self, [split_size] * (count - 1) + [None], dim)


@row("split_with_sizes.default", "split_with_sizes_copy.default")
def _split_with_sizes(self, split_sizes, dim=0):
    parts, start = [], 0
    for size in split_sizes:
        stop = None if size is None else start + size
        parts.append(_slice(self, dim, start, stop))
        start = stop
    return tuple(parts)


@row("unbind.int")
def _unbind(self, dim=0):
    return tnp.unstack(self, dim)


@row("flip.default")
def _flip(self, dims):
    return tnp.flip(self, tuple(dims)) if dims else self


@row("roll.default")
def _roll(self, shifts, dims=()):
    return tnp.roll(self, tuple(shifts) if dims else shifts[0], tuple(dims) if dims else None)


@row("repeat.default")
def _repeat(self, repeats):
    return tnp.tile(self, tuple(repeats))


@row("constant_pad_nd.default")
def _pad(self, pad, value=0):
    for axis, (before, after) in enumerate(zip(pad[::2], pad[1::2])):
        axis = self.ndim - 1 - axis
        shape = list(self.shape)
        if before < 0 or after < 0:
            size = shape[axis]
            self = _slice(self, axis, -before if before < 0 else 0, size + after if after < 0 else size)
            shape = list(self.shape)
        parts = []
        for width in (before, None, after):
            if width is None:
                parts.append(self)
            elif width > 0:
                parts.append(tnp.full([*shape[:axis], width, *shape[axis + 1:]], value, self._dtype))
        self = tnp.concat(parts, axis)
    return self


@row("tril.default")
def _tril(self, diagonal=0):
    return tnp.tril(self, diagonal)


@row("triu.default")
def _triu(self, diagonal=0):
    return tnp.triu(self, diagonal)


def _placed(whole, part, axis, start, stop, step):
    """`whole` with `part` at some positions of an axis; None for zeros."""
    size = whole[axis] if isinstance(whole, (list, tuple)) else whole.shape[axis]
    rank = part.ndim
    shape = [-1 if i == axis else 1 for i in range(rank)]
    places = tnp.arange(size, dtype=DataType.Int)
    inside = tnp.greater_equal(places, start) & tnp.less(places, stop)
    inner = places - start
    if step != 1:
        inside = inside & tnp.equal(inner % step, 0)
        inner = tnp.floor_divide(inner, step)
    count = part.shape[axis]
    if isinstance(count, int) and count == 0:
        return tnp.zeros(whole, part._dtype) if isinstance(whole, (list, tuple)) else whole
    wide = tnp.take(part, tnp.clip(inner, 0, count - 1), axis)
    return tnp.where(tnp.reshape(inside, shape), wide, 0 if isinstance(whole, (list, tuple)) else whole)


def _range(size, start, end):
    start = 0 if start is None else start + size if start < 0 else start
    end = size if _end(end) is None else end + size if end < 0 else end
    return (start if start < size else size), (end if end < size else size)


@row("slice_scatter.default")
def _slice_scatter(self, src, dim=0, start=None, end=None, step=1):
    dim = dim % self.ndim
    start, end = _range(self.shape[dim], start, end)
    return _placed(self, tnp.astype(src, self._dtype), dim, start, end, step)


@row("select_scatter.default")
def _select_scatter(self, src, dim, index):
    dim = dim % self.ndim
    index = index + self.shape[dim] if index < 0 else index
    return _placed(self, tnp.expand_dims(tnp.astype(src, self._dtype), dim), dim, index, index + 1, 1)


@row("slice_backward.default")
def _slice_backward(grad_output, input_sizes, dim, start, end, step):
    dim = dim % len(input_sizes)
    start, end = _range(input_sizes[dim], start, end)
    return _placed(list(input_sizes), grad_output, dim, start, end, step)


@row("select_backward.default")
def _select_backward(grad_output, input_sizes, dim, index):
    dim = dim % len(input_sizes)
    index = index + input_sizes[dim] if index < 0 else index
    return _placed(list(input_sizes), tnp.expand_dims(grad_output, dim), dim, index, index + 1, 1)


# --- new tensors ---

@row("full.default")
def _full(size, fill_value, dtype=None):
    return tnp.full(tuple(size), fill_value, dtype)


@row("full_like.default")
def _full_like(self, fill_value, dtype=None):
    return tnp.full_like(self, fill_value, dtype)


@row("fill.Scalar")
def _fill(self, value):
    return tnp.full_like(self, value)


@row("zeros.default")
def _zeros(size, dtype=None):
    return tnp.zeros(tuple(size), dtype)


@row("ones.default")
def _ones(size, dtype=None):
    return tnp.ones(tuple(size), dtype)


@row("zeros_like.default")
def _zeros_like(self, dtype=None):
    return tnp.zeros_like(self, dtype)


@row("ones_like.default")
def _ones_like(self, dtype=None):
    return tnp.ones_like(self, dtype)


@row("new_zeros.default")
def _new_zeros(self, size, dtype=None):
    return tnp.zeros(tuple(size), self._dtype if dtype is None else dtype)


@row("new_ones.default")
def _new_ones(self, size, dtype=None):
    return tnp.ones(tuple(size), self._dtype if dtype is None else dtype)


@row("new_full.default")
def _new_full(self, size, fill_value, dtype=None):
    return tnp.full(tuple(size), fill_value, self._dtype if dtype is None else dtype)


@row("scalar_tensor.default")
def _scalar_tensor(s, dtype=None):
    return tnp.full((), s, dtype)


@row("arange.start_step")
def _arange(start, end, step=1, dtype=None):
    return tnp.arange(start, end, step, dtype)


@row("arange.default")
def _arange_to(end, dtype=None):
    return tnp.arange(end, dtype=dtype)


@row("arange.start")
def _arange_from(start, end, dtype=None):
    return tnp.arange(start, end, dtype=dtype)


@row("prims.iota.default")
def _iota(length, start, step, dtype):
    return tnp.astype(tnp.arange(length, dtype=DataType.Int) * step + start, dtype)


# --- indexing ---

@row("embedding.default")
def _embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return tnp.take(weight, indices, 0)


@row("index_select.default")
def _index_select(self, dim, index):
    if self.ndim == 0:
        return tnp.reshape(self, ())
    return tnp.take(self, tnp.reshape(index, (-1,)), dim)


@row("gather.default")
def _gather(self, dim, index, sparse_grad=False):
    if self.ndim == 0:
        return self
    dim = dim % self.ndim
    here = tuple(slice(None) if i == dim else slice(0, size) for i, size in enumerate(index.shape))
    return tnp.take_along_axis(self[here], index, dim)


@row("index.Tensor")
def _index(self, indices):
    return self[tuple(slice(None) if each is None else each for each in indices)]


# --- products ---

@row("mm.default", "bmm.default")
def _mm(self, mat2):
    return tnp.matmul(self, mat2)


@row("mv.default")
def _mv(self, vec):
    return tnp.matmul(self, vec)


@row("dot.default")
def _dot(self, tensor):
    return tnp.sum(self * tensor)


@row("addmm.default", "baddbmm.default")
def _addmm(self, mat1, mat2, beta=1, alpha=1):
    product = tnp.matmul(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (self if beta == 1 else self * beta)


@row("_scaled_dot_product_flash_attention_for_cpu.default")
def _flash_attention(query, key, value, dropout_p=0.0, is_causal=False, attn_mask=None, scale=None):
    result, logarithms = tnp.attention(query, key, value, is_causal=is_causal, scale=scale, bias=attn_mask,
                                       logsumexp=True)
    return result, logarithms


def _against_known_statistics(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps,
                              output_mask):
    return None if train else "its statistics are not those of the batch"


def _against_attention(query, key, value, dropout_p=0.0, is_causal=False, attn_mask=None, scale=None):
    if dropout_p != 0:
        return "it drops elements at random"
    return "it is causal with as many keys as queries no more" if is_causal and query[-2] != key[-2] else None


# For operators that some calls of have no row: what is against one, from shapes and other arguments; or None.
REFUSALS = {"aten._scaled_dot_product_flash_attention_for_cpu.default": _against_attention,
            "aten.native_batch_norm_backward.default": _against_known_statistics}

PRODUCTS = frozenset(f"aten.{name}.default" for name in """addmm baddbmm bmm dot mm mv
_scaled_dot_product_flash_attention_for_cpu""".split())

# Functions of numbers in graphs with symbolic sizes.
NUMBERS = {operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.neg,
           operator.pow}


@row("sym_size.int")
def _sym_size(self, dim):
    return self.shape[dim]


@row("sym_numel.default")
def _sym_numel(self):
    return self.size
