"""Loops of three axes reordered, merged, split from outside and unrolled, with copies in a chosen order."""
import torch
from tokamak.nvfuser import FusionDefinition, ParallelType, LoadStoreOpType, CacheOp

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(6, 20, 32, device=device)]


class Reordered(FusionDefinition):
    def definition(self):
        self.t0 = self.from_pytorch(inputs[0])
        self.t1 = self.ops.permute(self.t0, dims=[2, 0, 1])
        self.t2 = self.ops.tanh(self.t1)
        self.add_output(self.t2)

    def schedule(self):
        fd = self
        fd.sched.cache_after(self.t0, LoadStoreOpType.set, CacheOp.streaming)
        fd.sched.reorder(self.t2, {0: 1, 1: 2, 2: 0})
        fd.sched.reorder(self.t2, {-1: -2})
        fd.sched.merge(self.t2, dim=1)
        fd.sched.split(self.t2, 1, 8, inner_split=False)
        fd.sched.split(self.t2, dim=0, factor=4, inner_split=True)
        fd.sched.parallelize(self.t2, 0, ParallelType.grid_y)
        fd.sched.parallelize(self.t2, 1, ParallelType.unroll)
        fd.sched.parallelize(self.t2, 2, ParallelType.block_y)
        fd.sched.parallelize(self.t2, -1, ParallelType.serial)


fd = Reordered()
torch.testing.assert_close(fd.execute(inputs)[0], torch.tanh(inputs[0].permute(2, 0, 1)))
assert "tanh" in fd.fusion_ir()
