"""Uniform and normal random numbers, repeatable by seed and offset, and anew at each call without them."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

size = [128, 128]


def stateful_fusion(fd: FusionDefinition) -> None:
    t0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float)
    s_low = fd.define_scalar(-1.0, dtype=DataType.Double)
    s_high = fd.define_scalar(3.0, dtype=DataType.Double)
    t1 = fd.ops.uniform(s_low, s_high, fd.ops.shape(t0), dtype=DataType.Float)
    t2 = fd.ops.rand_like(t0)
    fd.add_output(fd.ops.add(t0, t1))
    fd.add_output(t2)


def seeded_fusion(fd: FusionDefinition) -> None:
    s_seed = fd.define_scalar(dtype=DataType.Int)
    s_offset = fd.define_scalar(dtype=DataType.Int)
    s_mean = fd.define_scalar(2.0, dtype=DataType.Double)
    s_std = fd.define_scalar(0.5, dtype=DataType.Double)
    fd.add_output(fd.ops.normal(s_mean, s_std, size, rng_seed=s_seed, rng_offset=s_offset, dtype=DataType.Double))
    s_zero = fd.define_scalar(0.0, dtype=DataType.Double)
    s_one = fd.define_scalar(1.0, dtype=DataType.Double)
    fd.add_output(fd.ops.uniform(s_zero, s_one, size, rng_seed=s_seed, rng_offset=s_offset, dtype=DataType.Float))


with FusionDefinition() as fd:
    seeded_fusion(fd)
normal, uniform = fd.execute([7, 4])
assert normal.dtype == torch.float64 and normal.shape == (128, 128)
assert abs(normal.mean().item() - 2.0) < 0.03 and abs(normal.std().item() - 0.5) < 0.03
assert 0 <= uniform.min().item() and uniform.max().item() <= 1 and abs(uniform.mean().item() - 0.5) < 0.02
same_normal, same_uniform = fd.execute([7, 4])
assert torch.equal(normal, same_normal) and torch.equal(uniform, same_uniform)
assert not torch.equal(normal, fd.execute([8, 4])[0])

with FusionDefinition() as fd:
    stateful_fusion(fd)
x = torch.zeros(128, 128, device=device)
first, like = fd.execute([x])
assert -1 <= first.min().item() and first.max().item() <= 3 and abs(first.mean().item() - 1.0) < 0.1
assert 0 <= like.min().item() and like.max().item() <= 1
assert not torch.equal(first, fd.execute([x])[0])
