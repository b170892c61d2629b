"""A definition without any tensor as input: constants by full and numbers by iota."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id0(fd : FusionDefinition) -> None :
    S0 = fd.define_scalar(1.50000, dtype=DataType.Double)
    S1 = fd.define_scalar(8, dtype=DataType.Int)
    S2 = fd.define_scalar(16, dtype=DataType.Int)
    V3 = fd.define_vector([S1, S2], dtype=DataType.Int)
    T4 = fd.ops.full(shape=V3, fill_value=S0, dtype=DataType.Float)
    S5 = fd.define_scalar(3, dtype=DataType.Int)
    S6 = fd.define_scalar(2, dtype=DataType.Int)
    T7 = fd.ops.iota(S2, S5, S6, dtype=DataType.Int)
    T8 = fd.ops.broadcast_in_dim(T7, shape=V3, broadcast_dims=[1])
    T9 = fd.ops.cast(T8, dtype=DataType.Float)
    T10 = fd.ops.add(T4, T9)
    S11 = fd.define_scalar(True, dtype=DataType.Bool)
    T12 = fd.ops.full(shape=[2, 3], fill_value=S11, dtype=DataType.Bool)
    S13 = fd.define_scalar(7, dtype=DataType.Int)
    T14 = fd.ops.full(shape=[], fill_value=S13, dtype=DataType.Int)
    fd.add_output(T4)
    fd.add_output(T7)
    fd.add_output(T10)
    fd.add_output(T12)
    fd.add_output(T14)

with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

outputs = fd.execute([])
numbers = torch.arange(3, 3 + 2 * 16, 2, device=device)
torch.testing.assert_close(outputs[0], torch.full((8, 16), 1.5, device=device))
torch.testing.assert_close(outputs[1], numbers)
torch.testing.assert_close(outputs[2], (1.5 + numbers.float()).expand(8, 16))
torch.testing.assert_close(outputs[3], torch.ones(2, 3, dtype=torch.bool, device=device))
torch.testing.assert_close(outputs[4], torch.tensor(7, device=device))
