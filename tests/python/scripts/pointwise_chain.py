"""Scales and shifts two matrices by constants, in one chain of pointwise operations."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id0(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False,
                          stride_order=[1, 0])
    T1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False,
                          stride_order=[1, 0])
    S2 = fd.define_scalar(0.500000, dtype=DataType.Double)
    T3 = fd.ops.mul(T0, S2)
    S4 = fd.define_scalar(2, dtype=DataType.Int)
    T5 = fd.ops.add(T1, S4)
    T6 = fd.ops.sub(T3, T5)
    T7 = fd.ops.tanh(T6)
    S8 = fd.define_scalar(1.00000, dtype=DataType.Double)
    T9 = fd.ops.sub(S8, T7)
    T10 = fd.ops.cast(T9, dtype=DataType.Half)
    T11 = fd.ops.cast(T10, dtype=DataType.Float)
    T12 = fd.ops.mul(T11, T3)
    fd.add_output(T10)
    fd.add_output(T12)

with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.testing.make_tensor((64, 512), dtype=torch.float32, device=device),
    torch.testing.make_tensor((64, 512), dtype=torch.float32, device=device, low=-3.0, high=-1.0),
]
outputs = fd.execute(inputs)

half = inputs[0] * 0.5
rounded = (1.0 - torch.tanh(half - (inputs[1] + 2))).to(torch.float16)
assert len(outputs) == 2
assert outputs[0].dtype == torch.float16 and outputs[1].dtype == torch.float32
torch.testing.assert_close(outputs[0], rounded)
torch.testing.assert_close(outputs[1], rounded.float() * half, rtol=2e-3, atol=1e-4)
