"""A sum of rows scheduled by hand: threads sum parts of a row, then the parts are summed."""
import torch
from tokamak.nvfuser import FusionDefinition, ParallelType, MemoryType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(16, 512, device=device)]


class Reduction(FusionDefinition):
    def definition(self):
        self.t0 = self.from_pytorch(inputs[0])
        self.t1 = self.ops.sum(self.t0, dims=[-1])
        self.t2 = self.ops.exp(self.t1)
        self.add_output(self.t2)

    def schedule(self):
        fd = self
        assert fd.sched.is_reduction(self.t1)
        assert not fd.sched.is_reduction(self.t0) and not fd.sched.is_reduction(self.t2)
        t3 = fd.sched.cache_after(self.t0)
        fd.sched.set_memory_type(t3, MemoryType.local)
        fd.sched.split(self.t1, dim=1, factor=64)
        t4 = fd.sched.reduction_factor(self.t1, dims=[1])
        fd.sched.transform_like(t4)
        fd.sched.parallelize(t4, 0, ParallelType.grid_x)
        fd.sched.parallelize(t4, -1, ParallelType.block_x)
        fd.sched.parallelize_like(t4)
        fd.sched.inline_most()
        assert fd.sched.is_reduction(t4)


fd = Reduction()
torch.testing.assert_close(fd.execute(inputs)[0], torch.exp(inputs[0].sum(-1)), rtol=1e-4, atol=1e-4)
x = torch.randn(3, 77, device=device)
torch.testing.assert_close(fd.execute([x])[0], torch.exp(x.sum(-1)), rtol=1e-4, atol=1e-4)
