"""Sizes that calls give, as a vector of inputs: expanded, reshaped and filled tensors follow them."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id5(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float)
    V1 = fd.define_vector(2, dtype=DataType.Int)
    T2 = fd.ops.reshape(T0, new_shape=V1)
    S3 = fd.ops.at(V1, 0)
    S4 = fd.ops.at(V1, 1)
    S5 = fd.define_scalar(0.5, dtype=DataType.Double)
    T6 = fd.ops.full(shape=[S4], fill_value=S5, dtype=DataType.Float)
    T7 = fd.ops.iota(S4, start=0, step=2, dtype=DataType.Int)
    T8 = fd.ops.add(T6, T7)
    T9 = fd.ops.broadcast_in_dim(T8, shape=V1, broadcast_dims=[1])
    fd.add_output(fd.ops.add(T2, T9))
    fd.add_output(fd.ops.sum(T2, dims=[0]))
    fd.add_output(fd.ops.mul(T0, fd.ops.mul(S3, S4)))


with FusionDefinition() as fd:
    nvfuser_fusion_id5(fd)
for rows, columns in ((3, 4), (1, 12), (12, 1), (2, 5)):
    x = torch.randn(rows * columns, device=device)
    outputs = fd.execute([x, [rows, columns]])
    table = x.reshape(rows, columns)
    torch.testing.assert_close(outputs[0], table + 0.5 + 2 * torch.arange(columns, device=device))
    torch.testing.assert_close(outputs[1], table.sum(0), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(outputs[2], x * rows * columns)
