"""Decoding with a cache of keys: the old ones, less the first, and a new one, by slice, pad, cat and where."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

batch, length, width = 2, 6, 8
cache = torch.randn(batch, length, width, device=device)
new = torch.randn(batch, 1, width, device=device)


def shift(fd: FusionDefinition) -> None:
    t_cache = fd.from_pytorch(cache)
    t_new = fd.from_pytorch(new)
    s_place = fd.define_scalar(dtype=DataType.Int)
    tail = fd.ops.slice(t_cache, start_indices=[0, 1, 0], end_indices=[batch, length, width], strides=[1, 1, 1])
    fd.add_output(fd.ops.cat([tail, t_new], dim=1))
    padded = fd.ops.pad(tail, [0, 0, 0, 1], fd.define_scalar(-1.0, dtype=DataType.Double))
    fd.add_output(padded)
    places = fd.ops.iota(fd.ops.size(t_cache, dim=1), dtype=DataType.Int)
    is_there = fd.ops.broadcast_in_dim(fd.ops.eq(places, s_place), [batch, length, width], [1])
    fd.add_output(fd.ops.where(is_there, t_new, t_cache))


with FusionDefinition() as fd:
    shift(fd)
for place in (0, 3, 5):
    shifted, padded, written = fd.execute([cache, new, place])
    torch.testing.assert_close(shifted, torch.cat([cache[:, 1:], new], 1))
    torch.testing.assert_close(padded, torch.nn.functional.pad(cache[:, 1:], (0, 0, 0, 1), value=-1.0))
    wanted = cache.clone()
    wanted[:, place] = new[:, 0]
    torch.testing.assert_close(written, wanted)
