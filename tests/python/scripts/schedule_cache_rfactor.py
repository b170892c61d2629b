"""A reduction by hand: inputs are read by vectors of four, each thread reduces its part, and then they are combined."""
import torch
from tokamak.nvfuser import FusionDefinition, ParallelType, MemoryType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(32, 2048, device=device), torch.randn(32, 2048, device=device)]


class Inner(FusionDefinition):
    def definition(self):
        self.t0 = self.from_pytorch(inputs[0])
        self.t1 = self.from_pytorch(inputs[1])
        self.t2 = self.ops.mul(self.t0, self.t1)
        self.t3 = self.ops.sum(self.t2, dims=[1], keepdim=False)
        self.add_output(self.t3)

    def schedule(self):
        sched = self.sched
        copies = [sched.cache_after(self.t0), sched.cache_after(self.t1)]
        output_copy = sched.cache_before(self.t3)
        sched.split(output_copy, 1, 4)
        sched.split(output_copy, 1, 128)
        partial = sched.rfactor(output_copy, [1, 3])
        assert sched.is_reduction(partial) and sched.is_reduction(output_copy)
        sched.transform_like(partial)
        sched.parallelize(partial, 0, ParallelType.grid_x)
        sched.parallelize(partial, 2, ParallelType.block_x)
        sched.parallelize_like(partial)
        for copy in copies:
            sched.parallelize(copy, -1, ParallelType.vectorize)
            sched.set_memory_type(copy, MemoryType.local)
        sched.inline_most()


fd = Inner()
out = fd.execute(inputs)[0]
torch.testing.assert_close(out, (inputs[0] * inputs[1]).sum(1), rtol=1e-4, atol=1e-4)
torch.testing.assert_close(fd.execute(inputs, override_user_schedule=True)[0], out, rtol=1e-4, atol=1e-4)
