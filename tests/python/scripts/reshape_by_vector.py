"""Reshapes by sizes that are inputs, by products of sizes, and by constants with one size left open."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

new_shape = [4, 3, 8, 2]
inputs = [torch.randn(12, 16, device=device), new_shape]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    n_shape = fd.define_vector(4)
    t1 = fd.ops.reshape(t0, n_shape)
    t2 = fd.ops.sum(t1, dims=[3])
    fd.add_output(t2)
    s_rows = fd.ops.size(t0, 0)
    s_cols = fd.ops.size(t0, 1)
    v_flat = fd.define_vector([fd.ops.mul(s_rows, s_cols)], dtype=DataType.Int)
    fd.add_output(fd.ops.neg(fd.ops.reshape(t0, new_shape=v_flat)))
    fd.add_output(fd.ops.reshape(fd.ops.relu(t0), new_shape=[-1, 4]))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)
torch.testing.assert_close(nvf_out[0], inputs[0].reshape(new_shape).sum(3))
torch.testing.assert_close(nvf_out[1], -inputs[0].flatten())
torch.testing.assert_close(nvf_out[2], torch.relu(inputs[0]).reshape(-1, 4))

x = torch.randn(6, 8, device=device)
nvf_out = fd.execute([x, [2, 3, 4, 2]])
torch.testing.assert_close(nvf_out[0], x.reshape(2, 3, 4, 2).sum(3))
