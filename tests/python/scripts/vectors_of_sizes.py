"""Shapes of tensors as vectors, their entries."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(2, 3, 4, device=device), torch.randn(4, 6, device=device)]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    v0 = fd.ops.shape(t0)
    v1 = fd.ops.shape(t1)
    assert v0.size == 3 and t0.ndim == 3
    rows = fd.ops.mul(fd.ops.at(v0, 0), v0[1])
    t2 = fd.ops.reshape(t0, fd.define_vector([rows, v0.at(2)], dtype=DataType.Int))
    t3 = fd.ops.permute(t1, [1, 0])
    fd.add_output(fd.ops.add(t2, t3))
    sizes = fd.ops.tensor_sizes(t1)
    assert len(sizes) == 2
    fd.add_output(fd.ops.mul(t1, sizes[0]))
    fd.add_output(fd.ops.mul(t1, v1[1]))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)
torch.testing.assert_close(nvf_out[0], inputs[0].reshape(6, 4) + inputs[1].t())
torch.testing.assert_close(nvf_out[1], inputs[1] * 4)
torch.testing.assert_close(nvf_out[2], inputs[1] * 6)
