"""Permutes axes, and gives outputs in the order of memory that is asked for."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(3, 5, 4, 6, device=device)]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    s1 = fd.define_scalar(1.5, dtype=DataType.Double)
    t1 = fd.ops.mul(t0, s1)
    t2 = fd.ops.permute(t1, dims=[0, 2, 3, 1])
    t3 = fd.ops.permute(t2, [3, 0, 2, 1])
    fd.add_output(t2)
    fd.add_output(t3)
    fd.add_output(t1, stride_order=[3, 0, 2, 1])
    fd.add_output(fd.ops.neg(t1), [0, 1, 2, 3])
    fd.add_output(fd.ops.stride_order(fd.ops.exp(t1), stride_order=[2, 3, 0, 1]))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

scaled = inputs[0] * 1.5
torch.testing.assert_close(nvf_out[0], scaled.permute(0, 2, 3, 1))
torch.testing.assert_close(nvf_out[1], scaled.permute(0, 2, 3, 1).permute(3, 0, 2, 1))
torch.testing.assert_close(nvf_out[2], scaled)
torch.testing.assert_close(nvf_out[3], -scaled)
torch.testing.assert_close(nvf_out[4], torch.exp(scaled))
assert nvf_out[2].is_contiguous(memory_format=torch.channels_last)
assert nvf_out[3].stride() == (1, 3, 15, 60)
assert nvf_out[4].stride() == (24, 72, 1, 4)
