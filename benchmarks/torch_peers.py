"""The programs of the memory-bound suite in PyTorch: what a user would write, and with torch's own gradient kernels.

Inputs are those of the program, in its order; outputs have its types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Tensor = Any


@dataclass(frozen=True)
class TorchPeer:
    compiled: Callable[..., Any]  # under torch.compile
    eager: Callable[..., Any]  # where torch has a kernel for it, that
    is_random: bool = False  # two runs differ


def same(function: Callable[..., Any], *, is_random: bool = False) -> TorchPeer:
    """One that has no other form for eager runs."""
    return TorchPeer(function, function, is_random)


def pointwise_peers(torch: Any) -> dict[str, TorchPeer]:
    """Without a reduction, or with a plain one."""
    f = torch.nn.functional
    aten = torch.ops.aten

    def silu_mul_backward(grad: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return aten.silu_backward(grad * y, x), grad * f.silu(x)

    def gelu_backward(grad: Tensor, x: Tensor, bias: Tensor) -> Tensor:
        return aten.gelu_backward(grad, x + bias, approximate="tanh")

    return {
        "pointwise_mul": same(lambda x: x * x),
        "bias_gelu_fwd": same(lambda x, b: f.gelu(x + b, approximate="tanh")),
        "gelu_bwd": same(gelu_backward),
        "silu_mul_fwd": same(lambda x, y: f.silu(x) * y),
        "silu_mul_bwd": same(silu_mul_backward),
        "dropout_add": same(lambda x, y: f.dropout(x, 0.1, training=True) + y, is_random=True),
        "scale_bias_relu": same(lambda x, a, b: f.relu(x * a + b)),
        "bcast_add_outer": same(lambda x, b: x + b),
        "bcast_add_inner": same(lambda x, b: x + b[:, None]),
        "sum_heads": same(lambda x: x.sum(2)),
        "sum_inner": same(lambda x: x.sum(1)),
        "sum_outer": same(lambda x: x.sum(0)),
        "gelu_bwd_sum_outer": same(lambda g, x, b: gelu_backward(g, x, b).sum(0)),
        "transpose_add_relu": same(lambda x, y: f.relu((x + y).t()).contiguous()),
        "transpose3d_021": same(lambda x: f.relu(x.permute(0, 2, 1)).contiguous()),
        "cat_mul": same(lambda x, y, z: torch.cat((x * 0.5, y * 0.25, z), 1)),
        "pad_mul": same(lambda x: f.pad(x, (0, 128)) * 0.5),
        "embedding_fwd": same(lambda at, words: f.embedding(at, words)),
    }


def row_norm_peers(torch: Any) -> dict[str, TorchPeer]:
    """Norms of rows."""
    f = torch.nn.functional
    aten = torch.ops.aten

    def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5) * weight.float()).to(x.dtype)

    def rms_norm_eager(x: Tensor, weight: Tensor) -> Tensor:
        return f.rms_norm(x, x.shape[-1:], weight, 1e-5)

    def rms_norm_add(norm: Callable[..., Tensor]) -> Callable[..., Any]:
        def function(x: Tensor, y: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
            total = x + y
            return norm(total, weight), total

        return function

    def rms_norm_backward(grad: Tensor, x: Tensor, rstd: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        wide, normal = grad.float(), x.float() * rstd[:, None]
        scaled = wide * weight.float()
        input_grad = (scaled - normal * (scaled * normal).mean(-1, keepdim=True)) * rstd[:, None]
        return input_grad.to(x.dtype), (wide * normal).sum(0).to(x.dtype)

    def rms_norm_backward_eager(grad: Tensor, x: Tensor, rstd: Tensor, weight: Tensor) -> Any:
        return aten._fused_rms_norm_backward(grad, x, x.shape[-1:], rstd[:, None], weight, [True, True])

    def layer_norm_backward(grad: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        wide, normal = grad.float(), (x.float() - mean[:, None]) * rstd[:, None]
        scaled = wide * weight.float()
        parts = scaled.mean(-1, keepdim=True) + normal * (scaled * normal).mean(-1, keepdim=True)
        return tuple(y.to(x.dtype) for y in ((scaled - parts) * rstd[:, None], (wide * normal).sum(0), wide.sum(0)))

    def layer_norm_backward_eager(grad: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor) -> Any:
        # The bias is asked for its type only.
        return aten.native_layer_norm_backward(grad, x, x.shape[-1:], mean[:, None], rstd[:, None], weight, weight, [True] * 3)

    return {
        "layer_norm_fwd": same(lambda x, w, b: f.layer_norm(x, x.shape[-1:], w, b)),
        "layer_norm_bwd": TorchPeer(layer_norm_backward, layer_norm_backward_eager),
        "rms_norm_fwd": TorchPeer(rms_norm, rms_norm_eager),
        "rms_norm_bwd": TorchPeer(rms_norm_backward, rms_norm_backward_eager),
        "rms_norm_add_fwd": TorchPeer(rms_norm_add(rms_norm), rms_norm_add(rms_norm_eager)),
        "dropout_layer_norm": same(
            lambda x, y, w, b: f.layer_norm(f.dropout(x, 0.1, training=True) + y, x.shape[-1:], w, b), is_random=True
        ),
    }


def channel_norm_peers(torch: Any) -> dict[str, TorchPeer]:
    """Norms along other axes than the last."""
    f = torch.nn.functional
    aten = torch.ops.aten

    def batch_norm(is_last: bool) -> Callable[..., Any]:
        def function(x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, var: Tensor) -> Any:
            x = x.permute(0, 3, 1, 2) if is_last else x
            y, *others = aten._native_batch_norm_legit_functional(x, weight.float(), bias.float(), mean, var, True, 0.1, 1e-5)
            return (y.permute(0, 2, 3, 1) if is_last else y, *others)

        return function

    def batch_norm_backward(grad: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor) -> Any:
        grad, x = grad.permute(0, 3, 1, 2), x.permute(0, 3, 1, 2)
        results = aten.native_batch_norm_backward(grad, x, weight.float(), None, None, mean, rstd, True, 1e-5, [True] * 3)
        return results[0].permute(0, 2, 3, 1), results[1].to(weight.dtype), results[2].to(weight.dtype)

    def layer_norm_channels(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        wide = x.float()
        var, mean = torch.var_mean(wide, 1, correction=0, keepdim=True)
        return ((wide - mean) * torch.rsqrt(var + 1e-5) * weight[:, None] + bias[:, None]).to(x.dtype)

    return {
        "batch_norm_fwd_channels_last": same(batch_norm(is_last=True)),
        "batch_norm_fwd_channels_first": same(batch_norm(is_last=False)),
        "batch_norm_bwd_channels_last": same(batch_norm_backward),
        "group_norm_fwd": same(lambda x, w, b: f.group_norm(x, 32, w, b)),
        "softmax_channels": same(lambda x: f.softmax(x, 1)),
        "layer_norm_channels": same(layer_norm_channels),
    }


def softmax_peers(torch: Any) -> dict[str, TorchPeer]:
    """Softmax and cross entropy."""
    f = torch.nn.functional
    aten = torch.ops.aten

    def cross_entropy(x: Tensor, label: Tensor) -> Tensor:
        return f.cross_entropy(x.float(), label, reduction="none").to(x.dtype)

    def cross_entropy_backward(grad: Tensor, x: Tensor, label: Tensor, lse: Tensor) -> Tensor:
        hot = label[:, None] == torch.arange(x.shape[1], device=x.device)
        return ((torch.exp(x.float() - lse[:, None]) - hot.float()) * grad[:, None]).to(x.dtype)

    return {
        "softmax_fwd": same(lambda x: f.softmax(x, -1)),
        "softmax_bwd": same(lambda g, y: aten._softmax_backward_data(g, y, -1, g.dtype)),
        "cross_entropy_fwd": TorchPeer(cross_entropy, lambda x, label: f.cross_entropy(x, label, reduction="none")),
        "cross_entropy_bwd": same(cross_entropy_backward),
    }


def rope_peers(torch: Any, sizes: dict[str, int]) -> dict[str, TorchPeer]:
    """Rotary embeddings."""

    def rope_one(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        return x * cosine + torch.cat((-x[..., half:], x[..., :half]), -1) * sine

    def rope(qkv: Tensor, cosine: Tensor, sine: Tensor) -> tuple[Tensor, Tensor]:
        kv, group, width = sizes["kv"], sizes["group"], sizes["width"]
        batch, tokens, _ = qkv.shape
        parts = qkv.view(batch, tokens, kv, group + 2, width).permute(0, 2, 3, 1, 4)
        q, k, _v = parts.split((group, 1, 1), dim=2)
        k = k.expand(batch, kv, group, tokens, width)
        shape = (batch, kv * group, tokens, width)
        return rope_one(q.reshape(shape), cosine, sine), rope_one(k.reshape(shape), cosine, sine)

    def rope_back(grad: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        half = grad.shape[-1] // 2
        turned = grad * sine
        return grad * cosine + torch.cat((turned[..., half:], -turned[..., :half]), -1)

    def rope_backward(q: Tensor, k: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        batch, heads, tokens, width = q.shape
        shape = (batch, sizes["kv"], heads // sizes["kv"], tokens, width)
        q_grad = rope_back(q, cosine, sine).reshape(shape)
        k_grad = rope_back(k, cosine, sine).reshape(shape).sum(2, keepdim=True)
        joined = torch.cat((q_grad, k_grad, torch.zeros_like(k_grad)), 2).permute(0, 3, 1, 2, 4)
        return joined.reshape(batch, tokens, -1)

    return {
        "rope_fwd": same(rope),
        "rope_bwd": same(rope_backward),
    }


def torch_peers(torch: Any, sizes: dict[str, int]) -> dict[str, TorchPeer]:
    """By the names of programs."""
    return {
        **pointwise_peers(torch),
        **row_norm_peers(torch),
        **channel_norm_peers(torch),
        **softmax_peers(torch),
        **rope_peers(torch, sizes),
    }
