"""The same commands as methods of tensors and their axes, inside the definition."""
import torch
from tokamak.nvfuser import FusionDefinition, ParallelType

device = "cuda" if torch.cuda.is_available() else "cpu"

t = torch.randn(10, 1024, device=device)

with FusionDefinition() as fd:
    tv0 = fd.define_tensor(shape=[-1, -1], contiguity=True)
    tv1 = fd.ops.sum(tv0, dims=[1])
    fd.add_output(tv1)

    tv1.split(1, 256)
    assert len(tv1.get_loop_domain()) == 3 and len(tv1.get_logical_domain()) == 2
    tv2 = tv1.rfactor([1])
    assert tv2.axis(1).is_reduction() and not tv2.axis(0).is_reduction()
    tv1.axis(0).parallelize(ParallelType.grid_x)
    tv1.axis(1).parallelize(ParallelType.block_x)
    tv2.axis(0).parallelize(ParallelType.grid_x)
    tv2.axis(2).parallelize(ParallelType.block_x)
    fd.sched.inline_most()

torch.testing.assert_close(fd.manual_execute([t])[0], t.sum(1), rtol=1e-4, atol=1e-4)
fd.manual_validate([t], [t.sum(1)])

with FusionDefinition() as fd:
    tv0 = fd.from_pytorch(t)
    tv1 = fd.from_pytorch(t)
    tv2 = fd.ops.add(tv0, tv1)
    fd.add_output(tv2)
    cached = tv2.cache_before()
    tv2.merge(0)
    tv2.split(axis=0, factor=128, inner_split=True)
    fd.sched.transform_like(tv2)
    tv2.axis(0).parallelize(ParallelType.grid_x)
    tv2.axis(-1).parallelize(ParallelType.block_x)
    fd.sched.parallelize_like(tv2)
    fd.sched.inline_most()

torch.testing.assert_close(fd.execute([t, t])[0], t + t)
assert cached.ndim == 2
