"""Outputs come in the order of their definition; those that alias an input are written there and not returned."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def fusion_func(fd: FusionDefinition, inputs) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    s2 = fd.define_scalar(1.0, dtype=DataType.Double)
    t3 = fd.ops.add(t0, s2)
    t4 = fd.ops.mul(t3, t1)
    fd.add_output(t4)
    fd.add_output(t3, t0)
    fd.add_output(fd.ops.sum(t4, dims=[0, 1]))
    fd.add_output(t4)


inputs = [torch.ones(4, 4, device=device), torch.randn(4, 4, device=device)]
with FusionDefinition() as fd:
    fusion_func(fd, inputs)

for count in range(2, 5):
    outputs = fd.execute(inputs)
    assert len(outputs) == 3
    torch.testing.assert_close(inputs[0], torch.full((4, 4), float(count), device=device))
    torch.testing.assert_close(outputs[0], inputs[1] * count)
    torch.testing.assert_close(outputs[1], (inputs[1] * count).sum(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(outputs[2], outputs[0])

with FusionDefinition() as fd:
    t0 = fd.from_pytorch(inputs[1])
    fd.add_output(t0)
    fd.add_output(fd.ops.set(t0))
same, copy = fd.execute(inputs[1:])
torch.testing.assert_close(same, inputs[1])
torch.testing.assert_close(copy, inputs[1])
