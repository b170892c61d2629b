"""Rotary position embedding of queries: halves are sliced, one is negated, both are joined, times cosine and sine."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id2(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[16, 32], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False,
                          stride_order=[1, 0])
    T1 = fd.define_tensor(shape=[16, 32], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False,
                          stride_order=[1, 0])
    T2 = fd.define_tensor(shape=[2, 16, 256], contiguity=[True, True, True], dtype=DataType.BFloat16, is_cpu=False,
                          stride_order=[2, 1, 0])
    T7 = fd.ops.reshape(T2, new_shape=[2, 16, 8, 32])
    T8 = fd.ops.permute(T7, dims=[0, 2, 1, 3])
    T13 = fd.ops.broadcast_in_dim(T0, shape=[2, 8, 16, 32], broadcast_dims=[2, 3])
    T18 = fd.ops.broadcast_in_dim(T1, shape=[2, 8, 16, 32], broadcast_dims=[2, 3])
    T19 = fd.ops.slice(T8, start_indices=[0, 0, 0, 0], end_indices=[2, 8, 16, 16], strides=[1, 1, 1, 1],
                       manual_normalization=0)
    T20 = fd.ops.slice(T8, start_indices=[0, 0, 0, 16], end_indices=[2, 8, 16, 32], strides=[1, 1, 1, 1],
                       manual_normalization=0)
    T21 = fd.ops.cast(T20, dtype=DataType.Float)
    T22 = fd.ops.neg(T21)
    T23 = fd.ops.cast(T22, dtype=DataType.BFloat16)
    T24 = fd.ops.cat([T23, T19], dim=-1, manual_padding=0)
    T25 = fd.ops.cast(T8, dtype=DataType.Float)
    T26 = fd.ops.cast(T13, dtype=DataType.Float)
    T27 = fd.ops.mul(T25, T26)
    T28 = fd.ops.cast(T24, dtype=DataType.Float)
    T29 = fd.ops.cast(T18, dtype=DataType.Float)
    T30 = fd.ops.mul(T28, T29)
    T31 = fd.ops.add(T27, T30)
    T32 = fd.ops.cast(T31, dtype=DataType.BFloat16)
    fd.add_output(T32)

with FusionDefinition() as fd:
    nvfuser_fusion_id2(fd)

inputs = [
    torch.testing.make_tensor((16, 32), dtype=torch.bfloat16, device=device),
    torch.testing.make_tensor((16, 32), dtype=torch.bfloat16, device=device),
    torch.testing.make_tensor((2, 16, 256), dtype=torch.bfloat16, device=device),
]
outputs = fd.execute(inputs)

cos, sin, q = [each.float() for each in inputs]
q = q.view(2, 16, 8, 32).transpose(1, 2)
rotated = torch.cat([-q[..., 16:], q[..., :16]], dim=-1)
torch.testing.assert_close(outputs[0], (q * cos + rotated * sin).to(torch.bfloat16))
