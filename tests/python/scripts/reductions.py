"""Sums, products, smallest and largest elements over some axes, all axes, with keepdim and in other types."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [
    torch.randn(16, 32, 24, device=device),
    torch.randint(-9, 10, (16, 32, 24), device=device, dtype=torch.int32),
]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    fd.add_output(fd.ops.sum(t0))
    fd.add_output(fd.ops.sum(t0, dims=[0, 2], keepdim=True))
    fd.add_output(fd.ops.sum(t0, dims=[-1], keepdim=False, dtype=DataType.Double))
    fd.add_output(fd.ops.max(t0, dims=[1], keepdim=False, dtype=DataType.Null))
    fd.add_output(fd.ops.min(t0, dims=[0, 1, 2]))
    s2 = fd.define_scalar(0.1, dtype=DataType.Double)
    s3 = fd.define_scalar(1.0, dtype=DataType.Double)
    t4 = fd.ops.add(fd.ops.mul(t0, s2), s3)
    fd.add_output(fd.ops.prod(t4, dims=[2]))
    fd.add_output(fd.ops.sum(t1, dims=[0], keepdim=False, dtype=DataType.Null))
    fd.add_output(fd.ops.max(t1, [0, 1], True))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

x, n = inputs
eager_out = [
    x.sum(),
    x.sum((0, 2), keepdim=True),
    x.sum(-1, dtype=torch.float64),
    x.amax(1),
    x.amin(),
    (x * 0.1 + 1.0).prod(2),
    n.sum(0),
    n.amax((0, 1), keepdim=True),
]
for got, expected in zip(nvf_out, eager_out):
    assert got.dtype == expected.dtype
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-3)
