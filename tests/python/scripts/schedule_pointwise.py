"""A pointwise kernel with a schedule by hand: merge, split, blocks and threads, everything inlined."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType, ParallelType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(64, 200, device=device), torch.randn(64, 200, device=device)]


class Pointwise(FusionDefinition):
    def definition(self):
        self.t0 = self.from_pytorch(inputs[0])
        self.t1 = self.from_pytorch(inputs[1])
        self.t2 = self.ops.add(self.t0, self.t1)
        self.s0 = self.define_scalar(2.0, dtype=DataType.Double)
        self.t3 = self.ops.mul(self.ops.sin(self.t2), self.s0)
        self.add_output(self.t3)

    def schedule(self):
        self.sched.merge(self.t3, dim=0)
        self.sched.split(self.t3, dim=0, factor=128)
        self.sched.transform_like(self.t3)
        self.sched.parallelize(self.t3, 0, ParallelType.grid_x)
        self.sched.parallelize(self.t3, 1, ParallelType.block_x)
        self.sched.parallelize_like(self.t3)
        self.sched.inline_most()


fd = Pointwise()
expected = torch.sin(inputs[0] + inputs[1]) * 2
torch.testing.assert_close(fd.execute(inputs)[0], expected)
torch.testing.assert_close(fd.execute(inputs, override_user_schedule=True)[0], expected)
more = [torch.randn(3, 7, device=device), torch.randn(3, 7, device=device)]
torch.testing.assert_close(fd.execute(more)[0], torch.sin(more[0] + more[1]) * 2)
