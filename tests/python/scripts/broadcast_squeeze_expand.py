"""Axes of size one: made, expanded, dropped, and broadcast by the operation that reads them."""
import torch
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(12, 1, 7, device=device), torch.randn(7, device=device), torch.randn(1, 9, 1, device=device)]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    t2 = fd.from_pytorch(inputs[2])
    t3 = fd.ops.squeeze(t0, [1])
    fd.add_output(fd.ops.sin(t3))
    t4 = fd.ops.broadcast(t1, [True, False, True])
    fd.add_output(t4)
    t5 = fd.ops.broadcast_in_dim(t1, shape=[12, 9, 7], broadcast_dims=[2])
    fd.add_output(t5)
    t6 = fd.ops.expand(t0, [12, 9, 7])
    fd.add_output(fd.ops.mul(t6, t5))
    fd.add_output(fd.ops.add(t0, t2))
    t7 = fd.ops.expand(t2, [3, -1, 5])
    fd.add_output(fd.ops.sum(t7, dims=[0, 2]))
    fd.add_output(fd.ops.squeeze(t2, dims=[0, 2], squeeze_expanded=False))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

a, b, c = inputs
eager_out = [
    torch.sin(a.squeeze(1)),
    b.reshape(1, 7, 1),
    b.expand(12, 9, 7),
    a.expand(12, 9, 7) * b.expand(12, 9, 7),
    a + c,
    c.expand(3, 9, 5).sum((0, 2)),
    c.flatten(),
]
assert len(nvf_out) == len(eager_out)
for got, expected in zip(nvf_out, eager_out):
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)
