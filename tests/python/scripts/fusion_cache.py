"""Definitions that say the same share a program, which the cache counts."""
import torch
from tokamak.nvfuser import FusionCache, FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

fc = FusionCache.get()
FusionCache.reset()
before = fc.num_fusions()


def run(factor: float) -> None:
    with FusionDefinition() as fd:
        t0 = fd.define_tensor(shape=[-1, -1], contiguity=True, dtype=DataType.Float)
        fd.add_output(fd.ops.mul(t0, fd.define_scalar(factor, dtype=DataType.Double)))
    x = torch.randn(4, 5, device=device)
    torch.testing.assert_close(fd.execute([x])[0], x * factor)


for _ in range(3):
    run(31.5)
assert fc.num_fusions() == before + 1
run(32.5)
assert fc.num_fusions() == before + 2
assert "Cache Hits" in fc.stats()
FusionCache.reset()
assert fc.num_fusions() <= before
