"""Looks up words and positions in two tables and adds them."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def embedding_fusion(fd: FusionDefinition) -> None:
    words = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Int, is_cpu=False)
    table = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False)
    positions = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False)
    S_zero = fd.define_scalar(0, dtype=DataType.Int)
    S_one = fd.define_scalar(1, dtype=DataType.Int)
    S_length = fd.ops.size(words, 1)
    T0 = fd.ops.embedding_fwd(words, table, None, None, 2.0, False, False)
    T1 = fd.ops.iota(S_length, S_zero, S_one, dtype=DataType.Int)
    T2 = fd.ops.embedding_fwd(T1, positions)
    T3 = fd.ops.broadcast_in_dim(T2, shape=fd.ops.shape(T0), broadcast_dims=[1, 2])
    T4 = fd.ops.add(fd.ops.cast(T0, dtype=DataType.Float), fd.ops.cast(T3, dtype=DataType.Float))
    fd.add_output(fd.ops.cast(T4, dtype=DataType.BFloat16))


with FusionDefinition() as fd:
    embedding_fusion(fd)

table = torch.randn(100, 64, device=device).to(torch.bfloat16)
positions = torch.randn(40, 64, device=device).to(torch.bfloat16)
for batch, length in ((3, 17), (1, 40), (2, 1)):
    words = torch.randint(0, 100, (batch, length), device=device)
    out, = fd.execute([words, table, positions])
    expected = torch.nn.functional.embedding(words, table).float() + positions[:length].float()
    torch.testing.assert_close(out, expected.to(torch.bfloat16))
