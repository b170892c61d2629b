"""A function that makes definitions, behind a cache of those that were used last."""
import torch
from tokamak.nvfuser import FusionDefinition, LRUCache, LruFusionCache

device = "cuda" if torch.cuda.is_available() else "cpu"


@LruFusionCache(max_fusions=4)
def make(x: torch.Tensor, power: int) -> FusionDefinition:
    with FusionDefinition() as fd:
        t0 = fd.from_pytorch(x)
        t1 = t0
        for _ in range(power - 1):
            t1 = fd.ops.mul(t1, t0)
        fd.add_output(t1)
    return fd


x = torch.randn(8, 8, device=device)
for power in (2, 3, 2, 3):
    torch.testing.assert_close(make(x, power).execute([x])[0], x**power, rtol=1e-5, atol=1e-5)
assert make.num_fusions() == 2

lru = LRUCache(max_fusions=2)
with FusionDefinition() as fd:
    fd.add_output(fd.ops.neg(fd.from_pytorch(x)))
fd_fec = lru.cache_compile(fd.fusion)
torch.testing.assert_close(fd_fec.execute([x])[0], -x)
assert fd_fec.is_compiled([x]) and lru.num_fusions() == 1
