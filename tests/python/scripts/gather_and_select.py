"""The operations that take elements by an index: gather, take_along_axis, index_select and select."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [
    torch.randn(8, 16, device=device),
    torch.randint(0, 8, (5, 12), device=device),
    torch.randint(0, 16, (8, 3), device=device),
    torch.randint(0, 16, (6,), device=device),
    3,
]


def fusion_func(fd: FusionDefinition):
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    t2 = fd.from_pytorch(inputs[2])
    t3 = fd.from_pytorch(inputs[3])
    s4 = fd.define_scalar(dtype=DataType.Int)
    t5 = fd.ops.sin(t0)
    fd.add_output(fd.ops.gather(t5, t1, 0))
    fd.add_output(fd.ops.take_along_axis(t5, t2, 1))
    fd.add_output(fd.ops.index_select(t5, t3, dim=1))
    t6 = fd.ops.select(t5, s4, dim=0)
    fd.add_output(fd.ops.neg(t6))
    fd.add_output(fd.ops.select(t0, fd.define_scalar(15, dtype=DataType.Int), 1))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

sines = torch.sin(inputs[0])
torch.testing.assert_close(nvf_out[0], torch.gather(sines, 0, inputs[1]))
torch.testing.assert_close(nvf_out[1], torch.take_along_dim(sines, inputs[2], 1))
torch.testing.assert_close(nvf_out[2], torch.index_select(sines, 1, inputs[3]))
torch.testing.assert_close(nvf_out[3], -sines[3])
torch.testing.assert_close(nvf_out[4], inputs[0][:, 15])
