"""Comparisons of tensors, of different types, with each other and with numbers; their outputs are bools."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [
    torch.randint(-3, 4, (8, 24), device=device).float(),
    torch.randint(-3, 4, (8, 24), device=device).float(),
    torch.randint(-3, 4, (24,), device=device),
]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    t2 = fd.ops.broadcast_in_dim(fd.from_pytorch(inputs[2]), [8, 24], [1])
    s3 = fd.define_scalar(1, dtype=DataType.Int)
    for op in (fd.ops.eq, fd.ops.ne, fd.ops.lt, fd.ops.le, fd.ops.gt, fd.ops.ge):
        fd.add_output(op(t0, t1))
        fd.add_output(op(t0, t2))
        fd.add_output(op(t1, s3))
        fd.add_output(op(s3, t2))
    t4 = fd.ops.logical_and(fd.ops.gt(t0, t1), fd.ops.logical_not(fd.ops.eq(t1, t2)))
    fd.add_output(t4)
    fd.add_output(fd.ops.sum(fd.ops.cast(t4, dtype=DataType.Int), dims=[1]))
    fd.add_output(fd.ops.bitwise_and(fd.ops.gt(t0, t1), fd.ops.le(t0, t2)))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

a, b, c = inputs
eager_out = []
for op in (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge):
    eager_out += [op(a, b), op(a, c), op(b, 1), op(torch.tensor(1, device=device), c).expand(8, 24)]
both = (a > b) & ~(b == c)
eager_out += [both, both.long().sum(1), (a > b) & (a <= c)]
assert len(nvf_out) == len(eager_out)
for got, expected in zip(nvf_out, eager_out):
    torch.testing.assert_close(got, expected)
