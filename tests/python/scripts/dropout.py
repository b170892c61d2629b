"""Dropout with a residual: uniform numbers from a seed, a mask where they are small, and the scaled sum."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id5(fd : FusionDefinition) -> None :
    S0 = fd.define_scalar(None, dtype=DataType.Int)
    S1 = fd.define_scalar(None, dtype=DataType.Int)
    T2 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False,
                          stride_order=[1, 0])
    T3 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False,
                          stride_order=[1, 0])
    S4 = fd.define_scalar(0.00000, dtype=DataType.Double)
    S5 = fd.define_scalar(1.00000, dtype=DataType.Double)
    S6 = fd.define_scalar(64, dtype=DataType.Int)
    S7 = fd.define_scalar(512, dtype=DataType.Int)
    T9 = fd.ops.uniform(S4, S5, shape=[S6, S7], rng_seed=S0, rng_offset=S1, dtype=DataType.Float)
    S10 = fd.define_scalar(0.800000, dtype=DataType.Double)
    T11 = fd.ops.lt(T9, S10)
    T12 = fd.ops.cast(T11, dtype=DataType.Float)
    T13 = fd.ops.mul(T2, T12)
    S14 = fd.define_scalar(1.25000, dtype=DataType.Double)
    T15 = fd.ops.mul(T13, S14)
    T16 = fd.ops.add(T15, T3)
    fd.add_output(T16)
    fd.add_output(T11)

with FusionDefinition() as fd:
    nvfuser_fusion_id5(fd)

x, residual = torch.randn(64, 512, device=device), torch.randn(64, 512, device=device)
y, mask = fd.execute([1234, 0, x, residual])
assert mask.dtype == torch.bool
assert abs(mask.float().mean().item() - 0.8) < 0.02
torch.testing.assert_close(y, x * mask * 1.25 + residual)

again, same_mask = fd.execute([1234, 0, x, residual])
assert torch.equal(mask, same_mask) and torch.equal(y, again)
other, other_mask = fd.execute([99, 0, x, residual])
assert not torch.equal(mask, other_mask)
