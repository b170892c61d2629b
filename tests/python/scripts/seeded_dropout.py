"""Dropout with a seed and an offset of the caller's, forward and backward from the same numbers."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

p = 0.25


def dropout(fd: FusionDefinition) -> None:
    x = fd.define_tensor(shape=[-1, -1], contiguity=True, dtype=DataType.Float)
    seed = fd.define_scalar(dtype=DataType.Int)
    offset = fd.define_scalar(dtype=DataType.Int)
    low = fd.define_scalar(0.0, dtype=DataType.Double)
    high = fd.define_scalar(1.0, dtype=DataType.Double)
    number = fd.ops.uniform(low, high, fd.ops.shape(x), rng_seed=seed, rng_offset=offset, dtype=DataType.Float)
    mask = fd.ops.ge(number, fd.define_scalar(p, dtype=DataType.Double))
    kept = fd.ops.where(mask, x, fd.define_scalar(0.0, dtype=DataType.Double))
    fd.add_output(fd.ops.mul(kept, fd.define_scalar(1 / (1 - p), dtype=DataType.Double)))
    fd.add_output(mask)


with FusionDefinition() as fd:
    dropout(fd)
x = torch.rand(128, 256, device=device) + 1
out, mask = fd.execute([x, 1234, 8])
torch.testing.assert_close(out, x * mask / (1 - p))
assert abs(mask.float().mean().item() - (1 - p)) < 0.01
assert torch.equal(mask, fd.execute([x * 2, 1234, 8])[1])
assert not torch.equal(mask, fd.execute([x, 1234, 12])[1])
gradient, same = fd.execute([torch.ones_like(x), 1234, 8])
assert torch.equal(same, mask)
torch.testing.assert_close(gradient, mask / (1 - p))
