"""Gradients of RMS norm for its input and its weight, in bfloat16 with float sums."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id4(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False,
                          stride_order=[1, 0])
    T1 = fd.define_tensor(shape=[-1, 1], contiguity=[True, None], dtype=DataType.Float, is_cpu=False,
                          stride_order=[1, 0])
    T2 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False,
                          stride_order=[1, 0])
    T3 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[0])
    T4 = fd.ops.cast(T0, dtype=DataType.Float)
    T5 = fd.ops.cast(T2, dtype=DataType.Float)
    T6 = fd.ops.cast(T3, dtype=DataType.Float)
    S7 = fd.ops.size(T0, dim=0)
    S8 = fd.ops.size(T0, dim=1)
    V9 = fd.define_vector([S7, S8], dtype=DataType.Int)
    T10 = fd.ops.broadcast_in_dim(T6, shape=V9, broadcast_dims=[1])
    T11 = fd.ops.reciprocal(T1)
    T12 = fd.ops.broadcast_in_dim(T11, shape=V9, broadcast_dims=[0, 1])
    T13 = fd.ops.mul(T4, T12)
    T14 = fd.ops.mul(T5, T13)
    T15 = fd.ops.sum(T14, dims=[0], keepdim=False, dtype=DataType.Null)
    T16 = fd.ops.mul(T5, T10)
    T17 = fd.ops.mul(T16, T13)
    T18 = fd.ops.sum(T17, dims=[1], keepdim=False, dtype=DataType.Null)
    T19 = fd.ops.broadcast(T18, is_broadcast_dim=[False, True])
    S20 = fd.ops.cast(S8, dtype=DataType.Double)
    T21 = fd.ops.div(T19, S20)
    T22 = fd.ops.mul(T13, T21)
    T23 = fd.ops.sub(T16, T22)
    T24 = fd.ops.mul(T23, T12)
    T25 = fd.ops.cast(T24, dtype=DataType.BFloat16)
    T26 = fd.ops.cast(T15, dtype=DataType.BFloat16)
    fd.add_output(T25)
    fd.add_output(T26)

with FusionDefinition() as fd:
    nvfuser_fusion_id4(fd)

x = torch.randn(64, 256, device=device).to(torch.bfloat16).requires_grad_()
weight = torch.randn(256, device=device).to(torch.bfloat16).requires_grad_()
grad = torch.randn(64, 256, device=device).to(torch.bfloat16)
rms = torch.sqrt(x.float().pow(2).mean(1, keepdim=True) + 1e-5)
(x.float() / rms * weight.float()).backward(grad.float())

outputs = fd.execute([x.detach(), rms.detach(), grad, weight.detach()])
torch.testing.assert_close(outputs[0], x.grad, rtol=2e-2, atol=2e-2)
torch.testing.assert_close(outputs[1], weight.grad, rtol=2e-2, atol=2e-1)
