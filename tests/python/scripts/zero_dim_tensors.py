"""Tensors without axes, on the processor and on the device, with matrices and alone."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id11(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False,
                          stride_order=[1, 0])
    T1 = fd.define_tensor(shape=[], contiguity=[], dtype=DataType.Float, is_cpu=True)
    T2 = fd.define_tensor(shape=[], contiguity=[], dtype=DataType.Float, is_cpu=False)
    T3 = fd.ops.mul(T0, T1)
    T4 = fd.ops.add(T3, T2)
    T5 = fd.ops.sum(T4, dims=[0, 1], keepdim=False, dtype=DataType.Null)
    S6 = fd.define_scalar(2.00000, dtype=DataType.Double)
    T7 = fd.ops.mul(T2, S6)
    fd.add_output(T4)
    fd.add_output(T5)
    fd.add_output(T7)

with FusionDefinition() as fd:
    nvfuser_fusion_id11(fd)

inputs = [torch.randn(16, 20, device=device), torch.tensor(1.25), torch.tensor(-0.5, device=device)]
outputs = fd.execute(inputs)
expected = inputs[0] * inputs[1] + inputs[2]
torch.testing.assert_close(outputs[0], expected)
torch.testing.assert_close(outputs[1], expected.sum(), rtol=1e-4, atol=1e-4)
torch.testing.assert_close(outputs[2], inputs[2] * 2)
assert outputs[1].shape == outputs[2].shape == ()

with FusionDefinition() as fd:
    t0 = fd.from_pytorch(inputs[2])
    fd.add_output(fd.ops.exp(t0))
torch.testing.assert_close(fd.execute([inputs[2]])[0], torch.exp(inputs[2]))
