"""The programs of the memory-bound suite for peers: one definition of each for jax.jit and for NumPy in chunks.

A definition gets its inputs in f32 (integers as they are). NumPy runs it chunk by chunk, each small enough for the
second-level cache, on as many threads as there are processors: fusion by hand.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

Array = Any


@dataclass(frozen=True)
class Peer:
    """How a program is computed and along which axes it may be cut."""

    function: Callable[..., Any]  # (xp, *inputs) -> an output or a tuple of them
    inputs: tuple[int | None, ...]  # per input the axis along which it is cut; None: every chunk needs all of it
    outputs: tuple[int | str, ...] = (0,)  # per output that axis, or "sum": chunks are added up
    f32_outputs: tuple[int, ...] = ()  # outputs that are f32 whatever the inputs are
    is_movement: bool = False  # data is moved and nothing computed: inputs stay as they are


def _gelu(xp: Any, x: Array) -> Array:
    return 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _gelu_backward(xp: Any, grad: Array, x: Array) -> Array:
    square = x * x
    tanh = xp.tanh(0.7978845608 * x * (1 + 0.044715 * square))
    inner = 0.7978845608 * (1 + 3 * 0.044715 * square)
    return grad * (0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner)


def _silu_mul_backward(xp: Any, grad: Array, x: Array, y: Array) -> tuple[Array, Array]:
    sigmoid = 1 / (1 + xp.exp(-x))
    return grad * y * sigmoid * (1 + x * (1 - sigmoid)), grad * x * sigmoid


def _kept(xp: Any, shape: tuple[int, ...]) -> Array:
    if xp.__name__ == "numpy":
        return xp.random.default_rng(1).random(shape, dtype="float32") < 0.9
    import jax  # noqa: PLC0415

    return jax.random.bernoulli(jax.random.key(1), 0.9, shape)


def _dropout(xp: Any, x: Array) -> Array:
    return xp.where(_kept(xp, x.shape), x * (1 / 0.9), 0)


def _softmax(xp: Any, x: Array, axis: int = -1) -> Array:
    e = xp.exp(x - x.max(axis=axis, keepdims=True))
    return e * (1 / e.sum(axis=axis, keepdims=True))


def _layer_norm_channels(xp: Any, x: Array, weight: Array, bias: Array) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    rstd = 1 / xp.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)
    return centred * rstd * weight[:, None] + bias[:, None]


def _layer_norm(xp: Any, x: Array, weight: Array, bias: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    rstd = 1 / xp.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
    return centred * rstd * weight + bias


def _rms_norm(xp: Any, x: Array, weight: Array) -> Array:
    return x * (1 / xp.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)) * weight


def _layer_norm_backward(xp: Any, grad: Array, x: Array, mean: Array, rstd: Array, weight: Array) -> tuple[Array, ...]:
    normal = (x - mean[:, None]) * rstd[:, None]
    scaled = grad * weight
    a = scaled.mean(axis=1, keepdims=True)
    b = (scaled * normal).mean(axis=1, keepdims=True)
    return (scaled - a - normal * b) * rstd[:, None], (grad * normal).sum(axis=0), grad.sum(axis=0)


def _rms_norm_backward(xp: Any, grad: Array, x: Array, rstd: Array, weight: Array) -> tuple[Array, ...]:
    normal = x * rstd[:, None]
    scaled = grad * weight
    b = (scaled * normal).mean(axis=1, keepdims=True)
    return (scaled - normal * b) * rstd[:, None], (grad * normal).sum(axis=0)


def _batch_norm(axis: int) -> Callable[..., tuple[Array, ...]]:
    def function(xp: Any, x: Array, weight: Array, bias: Array, running: Array, variance: Array) -> tuple[Array, ...]:
        others = tuple(i for i in range(4) if i != axis)
        shape = [-1 if i == axis else 1 for i in range(4)]
        count = x.size // x.shape[axis]
        mean = x.mean(axis=others)
        centred = x - mean.reshape(shape)
        var = (centred * centred).mean(axis=others)
        rstd = 1 / xp.sqrt(var + 1e-5)
        y = centred * (rstd * weight).reshape(shape) + bias.reshape(shape)
        unbiased = var * (count / (count - 1))
        return y, mean, rstd, 0.9 * running + 0.1 * mean, 0.9 * variance + 0.1 * unbiased

    return function


def _batch_norm_backward(axis: int) -> Callable[..., tuple[Array, ...]]:
    def function(xp: Any, grad: Array, x: Array, mean: Array, rstd: Array, weight: Array) -> tuple[Array, ...]:
        others = tuple(i for i in range(4) if i != axis)
        shape = [-1 if i == axis else 1 for i in range(4)]
        count = x.size // x.shape[axis]
        normal = (x - mean.reshape(shape)) * rstd.reshape(shape)
        bias_grad = grad.sum(axis=others)
        weight_grad = (grad * normal).sum(axis=others)
        inner = grad - bias_grad.reshape(shape) / count - normal * weight_grad.reshape(shape) / count
        return inner * (rstd * weight).reshape(shape), weight_grad, bias_grad

    return function


def _group_norm(xp: Any, x: Array, weight: Array, bias: Array) -> Array:
    groups = x.reshape(x.shape[0], 32, -1)
    centred = groups - groups.mean(axis=2, keepdims=True)
    rstd = 1 / xp.sqrt((centred * centred).mean(axis=2, keepdims=True) + 1e-5)
    return (centred * rstd).reshape(x.shape) * weight.reshape(1, -1, 1, 1) + bias.reshape(1, -1, 1, 1)


def _cross_entropy(xp: Any, x: Array, label: Array) -> Array:
    largest = x.max(axis=1)
    total = xp.exp(x - largest[:, None]).sum(axis=1)
    return xp.log(total) + largest - xp.take_along_axis(x, label[:, None], axis=1)[:, 0]


def _cross_entropy_backward(xp: Any, grad: Array, x: Array, label: Array, lse: Array) -> Array:
    hot = label[:, None] == xp.arange(x.shape[1])[None, :]
    return (xp.exp(x - lse[:, None]) - hot) * grad[:, None]


def _rope(xp: Any, x: Array, cosine: Array, sine: Array) -> Array:
    half = x.shape[-1] // 2
    return x * cosine + xp.concatenate([-x[..., half:], x[..., :half]], axis=-1) * sine


def _rope_forward(kv: int, group: int, width: int) -> Callable[..., tuple[Array, Array]]:
    def function(xp: Any, x: Array, cosine: Array, sine: Array) -> tuple[Array, Array]:
        batch, tokens, _ = x.shape
        parts = x.reshape(batch, tokens, kv, group + 2, width).transpose(0, 2, 3, 1, 4)
        q = parts[:, :, :group].reshape(batch, kv * group, tokens, width)
        k = xp.broadcast_to(parts[:, :, group : group + 1], (batch, kv, group, tokens, width))
        rotated = _rope(xp, k.reshape(batch, kv * group, tokens, width), cosine, sine)
        return _rope(xp, q, cosine, sine), rotated

    return function


def _rope_backward_program(kv: int, group: int, width: int) -> Callable[..., Array]:
    def back(xp: Any, grad: Array, cosine: Array, sine: Array) -> Array:
        half = width // 2
        turned = grad * sine
        return grad * cosine + xp.concatenate([turned[..., half:], -turned[..., :half]], axis=-1)

    def function(xp: Any, q: Array, k: Array, cosine: Array, sine: Array) -> Array:
        batch, _, tokens, _ = q.shape
        q5 = back(xp, q, cosine, sine).reshape(batch, kv, group, tokens, width)
        k5 = back(xp, k, cosine, sine).reshape(batch, kv, group, tokens, width).sum(axis=2, keepdims=True)
        joined = xp.concatenate([q5, k5, xp.zeros_like(k5)], axis=2).transpose(0, 3, 1, 2, 4)
        return joined.reshape(batch, tokens, -1)

    return function


def peerOf(program: str, sizes: dict[str, int]) -> Peer:  # noqa: N802
    """The definition of a program of the suite."""
    rope = (sizes.get("kv", 1), sizes.get("group", 4), sizes.get("width", 1))
    table: dict[str, Peer] = {
        "pointwise_mul": Peer(lambda xp, x: x * x, (0,)),
        "bias_gelu_fwd": Peer(lambda xp, x, b: _gelu(xp, x + b), (0, None)),
        "gelu_bwd": Peer(lambda xp, g, x, b: _gelu_backward(xp, g, x + b), (0, 0, None)),
        "silu_mul_fwd": Peer(lambda xp, x, y: x / (1 + xp.exp(-x)) * y, (0, 0)),
        "silu_mul_bwd": Peer(_silu_mul_backward, (0, 0, 0), (0, 0)),
        "dropout_add": Peer(lambda xp, x, y: _dropout(xp, x) + y, (0, 0)),
        "scale_bias_relu": Peer(lambda xp, x, a, b: xp.maximum(x * a + b, 0), (0, None, None)),
        "bcast_add_outer": Peer(lambda xp, x, b: x + b, (0, None)),
        "bcast_add_inner": Peer(lambda xp, x, b: x + b[:, None], (0, 0)),
        "softmax_fwd": Peer(_softmax, (0,)),
        "softmax_bwd": Peer(lambda xp, g, y: y * (g - (g * y).sum(axis=1, keepdims=True)), (0, 0)),
        "layer_norm_fwd": Peer(_layer_norm, (0, None, None)),
        "layer_norm_bwd": Peer(_layer_norm_backward, (0, 0, 0, 0, None), (0, "sum", "sum")),
        "rms_norm_fwd": Peer(_rms_norm, (0, None)),
        "rms_norm_bwd": Peer(_rms_norm_backward, (0, 0, 0, None), (0, "sum")),
        "rms_norm_add_fwd": Peer(lambda xp, x, y, w: (_rms_norm(xp, x + y, w), x + y), (0, 0, None), (0, 0)),
        "dropout_layer_norm": Peer(
            lambda xp, x, y, w, b: _layer_norm(xp, _dropout(xp, x) + y, w, b), (0, 0, None, None)
        ),
        "batch_norm_fwd_channels_last": Peer(_batch_norm(3), (3, 0, 0, 0, 0), (3, 0, 0, 0, 0), (1, 2, 3, 4)),
        "batch_norm_fwd_channels_first": Peer(_batch_norm(1), (1, 0, 0, 0, 0), (1, 0, 0, 0, 0), (1, 2, 3, 4)),
        "batch_norm_bwd_channels_last": Peer(_batch_norm_backward(3), (3, 3, 0, 0, 0), (3, 0, 0)),
        "batch_norm_bwd_channels_first": Peer(_batch_norm_backward(1), (1, 1, 0, 0, 0), (1, 0, 0)),
        "group_norm_fwd": Peer(_group_norm, (0, None, None)),
        "softmax_channels": Peer(lambda xp, x: _softmax(xp, x, axis=1), (0,)),
        "layer_norm_channels": Peer(_layer_norm_channels, (0, None, None)),
        "sum_heads": Peer(lambda xp, x: x.sum(axis=2), (0,)),
        "sum_inner": Peer(lambda xp, x: x.sum(axis=1), (0,)),
        "sum_outer": Peer(lambda xp, x: x.sum(axis=0), (0,), ("sum",)),
        "gelu_bwd_sum_outer": Peer(
            lambda xp, g, x, b: _gelu_backward(xp, g, x + b).sum(axis=0), (0, 0, None), ("sum",)
        ),
        "transpose_add_relu": Peer(lambda xp, x, y: xp.maximum((x + y).T, 0), (0, 0), (1,)),
        "transpose3d_021": Peer(lambda xp, x: xp.maximum(x.transpose(0, 2, 1), 0), (1,), (2,)),
        "cat_mul": Peer(lambda xp, x, y, z: xp.concatenate([x * 0.5, y * 0.25, z], axis=1), (0, 0, 0)),
        "pad_mul": Peer(lambda xp, x: xp.pad(x * 0.5, ((0, 0), (0, 128))), (0,)),
        "embedding_fwd": Peer(lambda xp, at, words: xp.take(words, at, axis=0), (0, None), is_movement=True),
        "cross_entropy_fwd": Peer(_cross_entropy, (0, 0), (0,), (0,)),
        "cross_entropy_bwd": Peer(_cross_entropy_backward, (0, 0, 0, 0)),
        "rope_fwd": Peer(_rope_forward(*rope), (1, 0, 0), (2, 2)),
        "rope_bwd": Peer(_rope_backward_program(*rope), (2, 2, 0, 0), (1,)),
    }
    return table[program.removesuffix("_f32")]


def _widened(np: Any, array: Array) -> Array:
    if array.dtype.itemsize == 2:
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array


def _narrowed(np: Any, array: Array, into: Array) -> None:
    if into.dtype.itemsize == 2 and array.dtype == np.float32:
        bits = np.ascontiguousarray(array).view(np.uint32)
        into.view(np.uint16)[...] = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
    else:
        into[...] = array


def jaxProgram(peer: Peer, dtype: Any) -> Callable[..., Any]:  # noqa: N802
    """The program under jax.jit; results are of `dtype` (those of f32 aside), and may still be on their way."""
    import jax  # noqa: PLC0415
    import jax.numpy as jnp  # noqa: PLC0415

    def whole(*inputs: Array) -> tuple[Array, ...]:
        is_wide = [jnp.issubdtype(x.dtype, jnp.floating) and not peer.is_movement for x in inputs]
        wide = [x.astype(jnp.float32) if widen else x for x, widen in zip(inputs, is_wide, strict=True)]
        results = peer.function(jnp, *wide)
        results = results if isinstance(results, tuple) else (results,)
        return tuple(y if i in peer.f32_outputs else y.astype(dtype) for i, y in enumerate(results))

    return jax.jit(whole)


def jaxFunction(peer: Peer, dtype: Any) -> Callable[..., Any]:  # noqa: N802
    """The same, and waits for the results."""
    import jax  # noqa: PLC0415

    compiled = jaxProgram(peer, dtype)
    return lambda *inputs: jax.block_until_ready(compiled(*inputs))


def numpyFunction(peer: Peer, inputs: list[Array]) -> Callable[[], Any]:  # noqa: N802
    """The program in chunks, on all processors; the outputs are allocated once."""
    import numpy as np  # noqa: PLC0415

    first = next(i for i, axis in enumerate(peer.inputs) if axis is not None)
    extent = inputs[first].shape[peer.inputs[first]]
    largest = max((x.size for x, axis in zip(inputs, peer.inputs, strict=True) if axis is not None), default=1)
    step = max(1, extent // max(1, largest // 65536))
    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))

    def part(begin: int, end: int) -> tuple[Array, ...]:
        cut = []
        for x, axis in zip(inputs, peer.inputs, strict=True):
            piece = x if axis is None else x[(slice(None),) * axis + (slice(begin, end),)]
            is_kept = piece.dtype.kind == "i" or peer.is_movement
            cut.append(piece if is_kept else _widened(np, np.ascontiguousarray(piece)))
        results = peer.function(np, *cut)
        return results if isinstance(results, tuple) else (results,)

    outputs: list[Array] = []
    for i, (y, axis) in enumerate(zip(part(0, min(step, extent)), peer.outputs, strict=True)):
        shape = list(y.shape)
        if isinstance(axis, int):
            shape[axis] = shape[axis] * extent // min(step, extent)
        is_narrow = i not in peer.f32_outputs and axis != "sum"
        outputs.append(np.empty(shape, inputs[first].dtype if is_narrow and y.dtype == np.float32 else y.dtype))

    def run_chunk(begin: int) -> list[Array]:
        end = min(begin + step, extent)
        sums = []
        for y, axis, out in zip(part(begin, end), peer.outputs, outputs, strict=True):
            if axis == "sum":
                sums.append(y)
            else:
                scale = out.shape[axis] // extent
                _narrowed(np, y, out[(slice(None),) * axis + (slice(begin * scale, end * scale),)])
        return sums

    def run() -> list[Array]:
        totals = None
        for sums in pool.map(run_chunk, range(0, extent, step)):
            totals = sums if totals is None else [a + b for a, b in zip(totals, sums, strict=True)]
        return totals or outputs

    return run
