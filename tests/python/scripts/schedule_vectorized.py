"""A schedule by hand that reads and writes vectors of four, by copies of inputs and output."""
import torch
from tokamak.nvfuser import FusionDefinition, ParallelType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(64, 512, device=device), torch.randn(64, 512, device=device)]


class Vectorized(FusionDefinition):
    def definition(self):
        self.t0 = self.from_pytorch(inputs[0])
        self.t1 = self.from_pytorch(inputs[1])
        self.t2 = self.ops.mul(self.t0, self.t1)
        self.t3 = self.ops.relu(self.t2)
        self.add_output(self.t3)

    def schedule(self):
        fd = self
        copies = [fd.sched.cache_after(self.t0), fd.sched.cache_after(self.t1)]
        fd.sched.cache_before(self.t3)
        fd.sched.merge(self.t3, 0)
        fd.sched.split(self.t3, 0, 4)
        fd.sched.split(self.t3, 0, 128)
        fd.sched.transform_like(self.t3)
        fd.sched.parallelize(self.t3, 0, ParallelType.grid_x)
        fd.sched.parallelize(self.t3, 1, ParallelType.block_x)
        fd.sched.parallelize_like(
            self.t3, pos=-1, selected_parallel_types={ParallelType.grid_x, ParallelType.block_x}
        )
        for tensor in [self.t3] + copies:
            fd.sched.parallelize(tensor, 2, ParallelType.vectorize)
        fd.sched.inline_most()


fd = Vectorized()
torch.testing.assert_close(fd.execute(inputs)[0], torch.relu(inputs[0] * inputs[1]))
