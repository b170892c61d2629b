"""Layer norm of bfloat16 rows with weight and bias, giving also the mean and the reciprocal deviation."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id1(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False,
                          stride_order=[1, 0])
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[0])
    T2 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[0])
    T3 = fd.ops.cast(T0, dtype=DataType.Float)
    T4, T5 = fd.ops.var_mean(T3, dims=[1], correction=0, keepdim=False)
    S6 = fd.ops.size(T0, dim=0)
    S7 = fd.ops.size(T0, dim=1)
    S8 = fd.define_scalar(1, dtype=DataType.Int)
    V9 = fd.define_vector([S6, S8], dtype=DataType.Int)
    V10 = fd.define_vector([S6, S7], dtype=DataType.Int)
    T11 = fd.ops.broadcast_in_dim(T4, shape=V9, broadcast_dims=[0])
    T12 = fd.ops.broadcast_in_dim(T5, shape=V9, broadcast_dims=[0])
    S13 = fd.define_scalar(1.00000e-05, dtype=DataType.Double)
    T14 = fd.ops.add(T11, S13)
    T15 = fd.ops.rsqrt(T14)
    T16 = fd.ops.broadcast_in_dim(T12, shape=V10, broadcast_dims=[0, 1])
    T17 = fd.ops.sub(T3, T16)
    T18 = fd.ops.broadcast_in_dim(T15, shape=V10, broadcast_dims=[0, 1])
    T19 = fd.ops.mul(T17, T18)
    T20 = fd.ops.broadcast_in_dim(T1, shape=V10, broadcast_dims=[1])
    T21 = fd.ops.cast(T20, dtype=DataType.Float)
    T22 = fd.ops.mul(T19, T21)
    T23 = fd.ops.broadcast_in_dim(T2, shape=V10, broadcast_dims=[1])
    T24 = fd.ops.cast(T23, dtype=DataType.Float)
    T25 = fd.ops.add(T22, T24)
    T26 = fd.ops.cast(T25, dtype=DataType.BFloat16)
    fd.add_output(T26)
    fd.add_output(T5)
    fd.add_output(T15)

with FusionDefinition() as fd:
    nvfuser_fusion_id1(fd)

inputs = [
    torch.testing.make_tensor((64, 512), dtype=torch.bfloat16, device=device),
    torch.testing.make_tensor((512,), dtype=torch.bfloat16, device=device),
    torch.testing.make_tensor((512,), dtype=torch.bfloat16, device=device),
]
outputs = fd.execute(inputs)

x, weight, bias = [each.float() for each in inputs]
expected = torch.nn.functional.layer_norm(x, [512], weight, bias, eps=1e-5).to(torch.bfloat16)
torch.testing.assert_close(outputs[0], expected, rtol=1.6e-2, atol=1e-2)
torch.testing.assert_close(outputs[1], x.mean(1), rtol=1e-5, atol=1e-5)
torch.testing.assert_close(outputs[2], torch.rsqrt(x.var(1, correction=0, keepdim=True) + 1e-5))
