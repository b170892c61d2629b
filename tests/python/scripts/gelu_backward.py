"""Gradient of exact GELU of a biased linear layer, and the bias's gradient as a sum of it, in bfloat16."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id3(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False,
                          stride_order=[1, 0])
    T1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False,
                          stride_order=[1, 0])
    T2 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[0])
    T3 = fd.ops.cast(T0, dtype=DataType.Float)
    T4 = fd.ops.cast(T1, dtype=DataType.Float)
    V5 = fd.ops.shape(T1)
    T6 = fd.ops.broadcast_in_dim(T2, shape=V5, broadcast_dims=[1])
    T7 = fd.ops.cast(T6, dtype=DataType.Float)
    T8 = fd.ops.add(T4, T7)
    S9 = fd.define_scalar(0.707107, dtype=DataType.Double)
    T10 = fd.ops.mul(T8, S9)
    T11 = fd.ops.erf(T10)
    S12 = fd.define_scalar(1.00000, dtype=DataType.Double)
    T13 = fd.ops.add(T11, S12)
    S14 = fd.define_scalar(0.500000, dtype=DataType.Double)
    T15 = fd.ops.mul(T13, S14)
    T16 = fd.ops.mul(T8, T8)
    S17 = fd.define_scalar(-0.500000, dtype=DataType.Double)
    T18 = fd.ops.mul(T16, S17)
    T19 = fd.ops.exp(T18)
    S20 = fd.define_scalar(0.398942, dtype=DataType.Double)
    T21 = fd.ops.mul(T19, S20)
    T22 = fd.ops.mul(T8, T21)
    T23 = fd.ops.add(T15, T22)
    T24 = fd.ops.mul(T3, T23)
    T25 = fd.ops.sum(T24, dims=[0], keepdim=False, dtype=DataType.Null)
    T26 = fd.ops.cast(T24, dtype=DataType.BFloat16)
    T27 = fd.ops.cast(T25, dtype=DataType.BFloat16)
    fd.add_output(T26)
    fd.add_output(T27)

with FusionDefinition() as fd:
    nvfuser_fusion_id3(fd)

grad = torch.randn(64, 320, device=device).to(torch.bfloat16)
x = torch.randn(64, 320, device=device).to(torch.bfloat16).requires_grad_()
bias = torch.randn(320, device=device).to(torch.bfloat16).requires_grad_()
torch.nn.functional.gelu(x.float() + bias.float()).backward(grad.float())

outputs = fd.execute([grad, x.detach(), bias.detach()])
torch.testing.assert_close(outputs[0], x.grad, rtol=2e-2, atol=1e-3)
torch.testing.assert_close(outputs[1], bias.grad, rtol=2e-2, atol=5e-2)
