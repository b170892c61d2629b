"""Kernels written by hand in Triton, for comparison on a GPU: Liger's (the package liger-kernel), and the plainest ones that a
person would write.

Inputs are those of the programs in examples/suite, in their order; outputs have their types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Tensor = Any
Peers = dict[str, Callable[..., Any]]


def liger_peers() -> Peers:
    """By the names of programs. Liger's gradient of silu_mul overwrites its operands: it is another program, and left out."""
    from liger_kernel.ops.layer_norm import layer_norm_backward, layer_norm_forward  # noqa: PLC0415
    from liger_kernel.ops.rms_norm import rms_norm_backward, rms_norm_forward  # noqa: PLC0415
    from liger_kernel.ops.softmax import _softmax_backward, _softmax_forward  # noqa: PLC0415
    from liger_kernel.ops.swiglu import swiglu_forward  # noqa: PLC0415
    from liger_kernel.ops.utils import calculate_settings  # noqa: PLC0415

    def softmax_backward(grad: Tensor, y: Tensor) -> Tensor:
        block, warps = calculate_settings(y.shape[-1])
        return _softmax_backward(grad, y, block, warps, y.shape[-1] > block)

    def rms_norm_gradients(grad: Tensor, x: Tensor, rstd: Tensor, weight: Tensor) -> Any:
        block, warps = calculate_settings(x.shape[-1])
        casting_mode = 0  # Llama's: statistics in f32, as the program's
        return rms_norm_backward(grad, x, weight, rstd, 0.0, casting_mode, block, warps, in_place=False, row_mode=None)

    return {
        "softmax_fwd": lambda x: _softmax_forward(x)[0],
        "softmax_bwd": softmax_backward,
        "layer_norm_fwd": lambda x, w, b: layer_norm_forward(x, w, b, 1e-5)[0],
        "layer_norm_bwd": lambda g, x, mean, rstd, w: layer_norm_backward(g, x, w, w, mean, rstd),
        "rms_norm_fwd": lambda x, w: rms_norm_forward(x, w, 1e-5, 0.0, "llama", row_mode=None)[0],
        "rms_norm_bwd": rms_norm_gradients,
        "silu_mul_fwd": lambda x, y: swiglu_forward(x, y)[2],
    }


def triton_peers() -> Peers:
    """By the names of programs: a program of Triton's for each row, which is held whole."""
    import torch  # noqa: PLC0415
    import triton  # noqa: PLC0415
    import triton.language as tl  # noqa: PLC0415

    @triton.jit
    def softmax_kernel(x, y, columns, block: tl.constexpr):  # noqa: ANN001, ANN202
        row = tl.program_id(0).to(tl.int64) * columns
        column = tl.arange(0, block)
        value = tl.load(x + row + column, mask=column < columns, other=-float("inf")).to(tl.float32)
        power = tl.exp(value - tl.max(value, axis=0))
        tl.store(y + row + column, power / tl.sum(power, axis=0), mask=column < columns)

    @triton.jit
    def layer_norm_kernel(x, weight, bias, y, columns, eps, block: tl.constexpr):  # noqa: ANN001, ANN202, PLR0913
        row = tl.program_id(0).to(tl.int64) * columns
        column = tl.arange(0, block)
        inside = column < columns
        value = tl.load(x + row + column, mask=inside, other=0.0).to(tl.float32)
        difference = tl.where(inside, value - tl.sum(value, axis=0) / columns, 0.0)
        factor = tl.rsqrt(tl.sum(difference * difference, axis=0) / columns + eps)
        scale = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
        shift = tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + row + column, difference * factor * scale + shift, mask=inside)

    def settings(columns: int) -> dict[str, int]:
        block = triton.next_power_of_2(columns)
        return {"block": block, "num_warps": min(32, max(4, block // 512))}

    def softmax(x: Tensor) -> Tensor:
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], **settings(x.shape[1]))
        return y

    def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        y = torch.empty_like(x)
        layer_norm_kernel[(x.shape[0],)](x, weight, bias, y, x.shape[1], 1e-5, **settings(x.shape[1]))
        return y

    return {"softmax_fwd": softmax, "layer_norm_fwd": layer_norm}
