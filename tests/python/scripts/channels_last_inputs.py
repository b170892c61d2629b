"""Channels-last inputs by their own strides, a reduction over their channels, and an output in the same order."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

x = torch.randn(2, 16, 5, 7, device=device).to(memory_format=torch.channels_last)


def nvfuser_fusion_id0(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[-1, -1, -1, -1], contiguity=[True, True, True, True], dtype=DataType.Float,
                          is_cpu=False, stride_order=[3, 0, 2, 1])
    T1 = fd.ops.mul(T0, T0)
    T2 = fd.ops.sum(T1, dims=[1], keepdim=True, dtype=DataType.Null)
    S3 = fd.define_scalar(1.0e-12, dtype=DataType.Double)
    T4 = fd.ops.rsqrt(fd.ops.add(T2, S3))
    T5 = fd.ops.mul(T0, T4)
    T6 = fd.ops.stride_order(T5, stride_order=[3, 0, 2, 1])
    fd.add_output(T6)

with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)
(out,) = fd.execute([x])
torch.testing.assert_close(out, x / x.norm(dim=1, keepdim=True), rtol=1e-5, atol=1e-6)
assert out.is_contiguous(memory_format=torch.channels_last)

with FusionDefinition() as strided:
    t0 = strided.define_tensor(sizes=list(x.size()), strides=list(x.stride()), dtype=DataType.Float)
    strided.add_output(strided.ops.relu(t0), stride_order=[3, 0, 2, 1])
torch.testing.assert_close(strided.execute([x])[0], x.relu())
