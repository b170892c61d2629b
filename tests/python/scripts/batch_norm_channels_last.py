"""Batch norm with ReLU of a channels-last image in half precision; the output lies channels-last, too."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id3(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[-1, -1, -1, -1], contiguity=[True, True, True, True], dtype=DataType.Half,
                          is_cpu=False, stride_order=[3, 0, 2, 1])
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False, stride_order=[0])
    T2 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False, stride_order=[0])
    T3 = fd.ops.cast(T0, dtype=DataType.Float)
    T4, T5 = fd.ops.var_mean(T3, dims=[0, 2, 3], correction=0, keepdim=True)
    S6 = fd.define_scalar(1.00000e-05, dtype=DataType.Double)
    T7 = fd.ops.add(T4, S6)
    T8 = fd.ops.rsqrt(T7)
    T9 = fd.ops.sub(T3, T5)
    T10 = fd.ops.mul(T9, T8)
    T11 = fd.ops.broadcast(T1, is_broadcast_dim=[True, False, True, True])
    T12 = fd.ops.broadcast(T2, is_broadcast_dim=[True, False, True, True])
    T13 = fd.ops.mul(T10, T11)
    T14 = fd.ops.add(T13, T12)
    S15 = fd.define_scalar(0.00000, dtype=DataType.Double)
    T16 = fd.ops.gt(T14, S15)
    T17 = fd.ops.where(T16, T14, S15)
    T18 = fd.ops.cast(T17, dtype=DataType.Half)
    fd.add_output(T18, stride_order=[3, 0, 2, 1])

with FusionDefinition() as fd:
    nvfuser_fusion_id3(fd)

inputs = [
    torch.testing.make_tensor((4, 16, 7, 9), dtype=torch.float16, device=device).to(memory_format=torch.channels_last),
    torch.testing.make_tensor((16,), dtype=torch.float32, device=device),
    torch.testing.make_tensor((16,), dtype=torch.float32, device=device),
]
outputs = fd.execute(inputs)
assert outputs[0].is_contiguous(memory_format=torch.channels_last)
expected = torch.nn.functional.batch_norm(inputs[0].float(), None, None, inputs[1], inputs[2], training=True)
torch.testing.assert_close(outputs[0], torch.relu(expected).half(), rtol=2e-3, atol=2e-3)
