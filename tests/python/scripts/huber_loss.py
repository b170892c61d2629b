"""Huber loss and its gradient, with add_alpha, and the L1 and squared losses beside it."""
import torch
import torch.nn.functional as F
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

delta = 0.7
prediction = torch.randn(40, 60, device=device, requires_grad=True)
target = torch.randn(40, 60, device=device)
inputs = [prediction.detach(), target]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    s_delta = fd.define_scalar(delta)
    s_half = fd.define_scalar(0.5)
    s_minus_one = fd.define_scalar(-1.0)
    t2 = fd.ops.add_alpha(t0, t1, s_minus_one)
    t3 = fd.ops.abs(t2)
    near = fd.ops.le(t3, s_delta)
    square = fd.ops.mul(fd.ops.mul(t2, t2), s_half)
    line = fd.ops.mul(fd.ops.sub_alpha(t3, s_half, s_delta), s_delta)
    loss = fd.ops.where(near, square, line)
    s_count = fd.ops.mul(fd.ops.size(t0, 0), fd.ops.size(t0, 1))
    fd.add_output(fd.ops.div(fd.ops.sum(loss, dims=[0, 1]), s_count))
    gradient = fd.ops.where(near, t2, fd.ops.mul(fd.ops.sign(t2), s_delta))
    fd.add_output(fd.ops.div(gradient, s_count))
    fd.add_output(fd.ops.div(fd.ops.sum(t3), s_count))
    fd.add_output(fd.ops.div(fd.ops.sum(fd.ops.mul(t2, t2)), s_count))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

loss = F.huber_loss(prediction, target, delta=delta)
loss.backward()
torch.testing.assert_close(nvf_out[0], loss.detach(), rtol=1e-5, atol=1e-6)
torch.testing.assert_close(nvf_out[1], prediction.grad, rtol=1e-5, atol=1e-7)
torch.testing.assert_close(nvf_out[2], F.l1_loss(*inputs), rtol=1e-5, atol=1e-6)
torch.testing.assert_close(nvf_out[3], F.mse_loss(*inputs), rtol=1e-5, atol=1e-6)
