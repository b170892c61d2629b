"""Gradients of layer norm for its input, its weight and its bias, from the saved mean and reciprocal deviation."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def layernorm_bwd_fusion(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)  # x
    T1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)  # grad
    T2 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False)  # mean
    T3 = fd.define_tensor(shape=[-1, 1], contiguity=[True, None], dtype=DataType.Float, is_cpu=False)  # rstd
    T4 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False)  # weight

    S_rows = fd.ops.size(T0, dim=0)
    S_cols = fd.ops.size(T0, dim=1)
    V8 = fd.define_vector([S_rows, 1], dtype=DataType.Int)
    V12 = fd.define_vector([S_rows, S_cols], dtype=DataType.Int)
    T9 = fd.ops.broadcast_in_dim(T2, shape=V8, broadcast_dims=[0])
    T13 = fd.ops.broadcast_in_dim(T9, shape=V12, broadcast_dims=[0, 1])
    T14 = fd.ops.sub(T0, T13)
    T18 = fd.ops.broadcast_in_dim(T3, shape=V12, broadcast_dims=[0, 1])
    T19 = fd.ops.mul(T14, T18)
    T23 = fd.ops.broadcast_in_dim(T4, shape=V12, broadcast_dims=[1])
    T28 = fd.ops.sum(T1, dims=[0], keepdim=False, dtype=DataType.Null)
    T30 = fd.ops.mul(T1, T23)
    T31 = fd.ops.mul(T1, T19)
    T32 = fd.ops.sum(T31, dims=[0], keepdim=False, dtype=DataType.Null)
    S1 = fd.ops.reciprocal(S_cols)
    T35 = fd.ops.mul(T30, T19)
    T36 = fd.ops.sum(T35, dims=[1], keepdim=True, dtype=DataType.Null)
    T37 = fd.ops.mul(T36, S1)
    T40 = fd.ops.sum(T30, dims=[1], keepdim=True, dtype=DataType.Null)
    T41 = fd.ops.mul(T40, S1)
    T42 = fd.ops.mul(T19, fd.ops.broadcast_in_dim(T37, shape=V12, broadcast_dims=[0, 1]))
    T43 = fd.ops.sub(T30, T42)
    T44 = fd.ops.sub(T43, fd.ops.broadcast_in_dim(T41, shape=V12, broadcast_dims=[0, 1]))
    T45 = fd.ops.mul(T44, T18)
    fd.add_output(T45)
    fd.add_output(T32)
    fd.add_output(T28)


with FusionDefinition() as fd:
    layernorm_bwd_fusion(fd)

x = torch.randn(48, 256, device=device, requires_grad=True)
weight = torch.randn(256, device=device, requires_grad=True)
bias = torch.randn(256, device=device, requires_grad=True)
grad = torch.randn(48, 256, device=device)
torch.nn.functional.layer_norm(x, [256], weight, bias, eps=1e-5).backward(grad)

with torch.no_grad():
    mean = x.mean(1)
    rstd = torch.rsqrt(x.var(1, correction=0, keepdim=True) + 1e-5)
nvf_out = fd.execute([x.detach(), grad, mean, rstd, weight.detach()])
torch.testing.assert_close(nvf_out[0], x.grad, rtol=1e-4, atol=1e-4)
torch.testing.assert_close(nvf_out[1], weight.grad, rtol=1e-4, atol=1e-4)
torch.testing.assert_close(nvf_out[2], bias.grad, rtol=1e-4, atol=1e-4)
