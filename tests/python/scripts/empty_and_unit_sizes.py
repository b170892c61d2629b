"""Axes of no elements and of one element, known when defining and only when running."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.ones(0, 0, device=device), torch.randn(3, 0, device=device), torch.randn(3, 1, device=device)]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.define_tensor(shape=[3, 0], contiguity=[True, True], dtype=DataType.Float)
    t2 = fd.from_pytorch(inputs[2])
    fd.add_output(fd.ops.relu(t0))
    fd.add_output(fd.ops.sum(t1, dims=[1]))
    fd.add_output(fd.ops.prod(t1, dims=[1], keepdim=True))
    fd.add_output(fd.ops.sum(t1, dims=[0]))
    fd.add_output(fd.ops.cat([t1, t2], dim=1))
    fd.add_output(fd.ops.reshape(t1, new_shape=[0, 3]))
    fd.add_output(fd.ops.sum(t2, dims=[1]))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)
a, b, c = inputs
eager_out = [a, torch.zeros(3, device=device), torch.ones(3, 1, device=device), b.sum(0), c, b.reshape(0, 3),
             c.flatten()]
assert len(nvf_out) == len(eager_out)
for got, expected in zip(nvf_out, eager_out):
    torch.testing.assert_close(got, expected)

with FusionDefinition() as fd:
    t0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float)
    t1 = fd.ops.sum(fd.ops.neg(t0), dims=[1], keepdim=True)
    fd.add_output(fd.ops.add(t0, t1))
    fd.add_output(t1)
for shape in ((0, 4), (4, 0), (1, 4), (4, 1), (1, 1), (0, 0)):
    x = torch.randn(shape, device=device)
    nvf_out = fd.execute([x])
    torch.testing.assert_close(nvf_out[0], x - x.sum(1, keepdim=True))
    torch.testing.assert_close(nvf_out[1], -x.sum(1, keepdim=True))
