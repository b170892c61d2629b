"""Joins, cuts and pads tensors, with constants and with negative widths."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [
    torch.randn(4, 10, device=device),
    torch.randn(4, 6, device=device),
    torch.randn(3, 10, device=device),
]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    t2 = fd.from_pytorch(inputs[2])
    fd.add_output(fd.ops.cat([t0, t1], dim=1))
    fd.add_output(fd.ops.cat([t0, fd.ops.relu(t2), t0], 0))
    fd.add_output(fd.ops.slice(t0, start_indices=[1, 2], end_indices=[3, 9]))
    fd.add_output(fd.ops.slice(t0, [0, 5], [4, 10], [1, 1]))
    fd.add_output(fd.ops.pad(t0, [1, 2]))
    fill = fd.define_scalar(2.5, dtype=DataType.Double)
    fd.add_output(fd.ops.pad(t1, [0, 3, 2, 1], fill))
    fd.add_output(fd.ops.pad(t1, [-1, -2, 0, 1]))
    left = fd.ops.slice(t0, start_indices=[0, 0], end_indices=[4, 5])
    right = fd.ops.slice(t0, start_indices=[0, 5], end_indices=[4, 10])
    fd.add_output(fd.ops.cat([right, left], dim=-1))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

a, b, c = inputs
pad = torch.nn.functional.pad
eager_out = [
    torch.cat([a, b], dim=1),
    torch.cat([a, torch.relu(c), a], dim=0),
    a[1:3, 2:9],
    a[:, 5:],
    pad(a, [1, 2]),
    pad(b, [0, 3, 2, 1], "constant", 2.5),
    pad(b, [-1, -2, 0, 1]),
    torch.cat([a[:, 5:], a[:, :5]], dim=-1),
]
assert len(nvf_out) == len(eager_out)
for got, expected in zip(nvf_out, eager_out):
    torch.testing.assert_close(got, expected)
