"""Attention in float from half inputs: product, causal mask from two iotas, softmax, second product."""
import torch
import torch.nn.functional as F
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

B, H, S, E = 2, 4, 32, 16


def nvfuser_fusion_id9(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[-1, -1, -1, -1], contiguity=[True, True, True, True], dtype=DataType.Half,
                          is_cpu=False, stride_order=[3, 2, 1, 0])
    T1 = fd.define_tensor(shape=[-1, -1, -1, -1], contiguity=[True, True, True, True], dtype=DataType.Half,
                          is_cpu=False, stride_order=[3, 2, 1, 0])
    T2 = fd.define_tensor(shape=[-1, -1, -1, -1], contiguity=[True, True, True, True], dtype=DataType.Half,
                          is_cpu=False, stride_order=[3, 2, 1, 0])
    T3 = fd.ops.permute(T1, dims=[0, 1, 3, 2])
    T4 = fd.ops.matmul(T0, T3)
    T5 = fd.ops.cast(T4, dtype=DataType.Float)
    S6 = fd.define_scalar(0.250000, dtype=DataType.Double)
    T7 = fd.ops.mul(T5, S6)
    S8 = fd.ops.size(T0, dim=2)
    S9 = fd.define_scalar(0, dtype=DataType.Int)
    S10 = fd.define_scalar(1, dtype=DataType.Int)
    T11 = fd.ops.iota(S8, S9, S10, dtype=DataType.Int)
    V12 = fd.define_vector([S8, S8], dtype=DataType.Int)
    T13 = fd.ops.broadcast_in_dim(T11, shape=V12, broadcast_dims=[0])
    T14 = fd.ops.broadcast_in_dim(T11, shape=V12, broadcast_dims=[1])
    T15 = fd.ops.ge(T13, T14)
    T16 = fd.ops.broadcast_in_dim(T15, shape=fd.ops.shape(T4), broadcast_dims=[2, 3])
    S17 = fd.define_scalar(float("-inf"), dtype=DataType.Double)
    T18 = fd.ops.where(T16, T7, S17)
    T19 = fd.ops.max(T18, dims=[3], keepdim=True, dtype=DataType.Null)
    T20 = fd.ops.sub(T18, T19)
    T21 = fd.ops.exp(T20)
    T22 = fd.ops.sum(T21, dims=[3], keepdim=True, dtype=DataType.Null)
    T23 = fd.ops.div(T21, T22)
    T24 = fd.ops.cast(T23, dtype=DataType.Half)
    T25 = fd.ops.matmul(T24, T2)
    fd.add_output(T25)

with FusionDefinition() as fd:
    nvfuser_fusion_id9(fd)

inputs = [torch.randn(B, H, S, E, device=device).to(torch.float16) for _ in range(3)]
outputs = fd.execute(inputs)

q, k, v = [each.float() for each in inputs]
expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
assert outputs[0].dtype == torch.float16
torch.testing.assert_close(outputs[0].float(), expected, rtol=1e-2, atol=1e-2)
