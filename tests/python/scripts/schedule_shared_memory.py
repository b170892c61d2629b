"""A softmax scheduled by hand, a block for each row, which is kept in shared memory."""
import torch
from tokamak.nvfuser import FusionDefinition, ParallelType, MemoryType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(24, 384, device=device)]


class Softmax(FusionDefinition):
    def definition(self):
        self.t0 = self.from_pytorch(inputs[0])
        self.largest = self.ops.max(self.t0, dims=[1], keepdim=False)
        largest = self.ops.broadcast(self.largest, is_broadcast_dim=[False, True])
        self.exponential = self.ops.exp(self.ops.sub(self.t0, largest))
        self.total = self.ops.sum(self.exponential, dims=[1], keepdim=False)
        total = self.ops.broadcast(self.total, is_broadcast_dim=[False, True])
        self.t1 = self.ops.div(self.exponential, total)
        self.add_output(self.t1)

    def schedule(self):
        fd = self
        row = fd.sched.cache_after(self.t0)
        fd.sched.set_memory_type(row, MemoryType.shared)
        fd.sched.split(self.t1, 1, 128)
        fd.sched.transform_like(self.t1)
        reductions = [each for each in fd.sched.tensors() if fd.sched.is_reduction(each)]
        assert len(reductions) == 2
        for each in reductions:
            fd.sched.rfactor(each, [1])
        fd.sched.parallelize(self.t1, 0, ParallelType.grid_x)
        fd.sched.parallelize(self.t1, -1, ParallelType.block_x)
        fd.sched.parallelize_like(self.t1)
        fd.sched.inline_most()


fd = Softmax()
torch.testing.assert_close(fd.execute(inputs)[0], torch.softmax(inputs[0], 1), rtol=1e-5, atol=1e-6)
