"""Commands for chosen tensors only: transform_like, parallelize_like, inline_at and inline_most with a selection."""
import torch
from tokamak.nvfuser import FusionDefinition, ParallelType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(32, 96, device=device), torch.randn(32, 96, device=device)]


class Selected(FusionDefinition):
    def __init__(self, plan):
        super().__init__()
        self.plan = plan

    def definition(self):
        self.t0 = self.from_pytorch(inputs[0])
        self.t1 = self.from_pytorch(inputs[1])
        self.t2 = self.ops.add(self.t0, self.t1)
        self.t3 = self.ops.exp(self.t2)
        self.t4 = self.ops.mul(self.t3, self.t1)
        self.add_output(self.t4)

    def schedule(self):
        self.sched.split(self.t4, 1, 32)
        self.sched.parallelize(self.t4, 0, ParallelType.grid_x)
        self.plan(self, self.sched)


def everything(fd, sched):
    sched.transform_like(fd.t4)
    sched.parallelize_like(fd.t4)
    sched.inline_at(fd.t4, pos=-1, best_effort=True)


def a_selection(fd, sched):
    sched.transform_like(fd.t4, selected_tensors=[fd.t2, fd.t3])
    sched.parallelize_like(fd.t4, pos=-1, selected_tensors=[fd.t2, fd.t3],
                           selected_parallel_types={ParallelType.grid_x})
    sched.inline_most(selected_tensors=[fd.t2, fd.t3])


def to_a_position(fd, sched):
    sched.transform_like(fd.t4)
    sched.parallelize_like(fd.t4, 1)
    sched.inline_at(fd.t4, pos=1, best_effort=False, selected_tensors=[fd.t3])
    sched.inline_at(fd.t4, 2, True, [fd.t2])


expected = torch.exp(inputs[0] + inputs[1]) * inputs[1]
for plan in (everything, a_selection, to_a_position):
    torch.testing.assert_close(Selected(plan).execute(inputs)[0], expected, rtol=1e-5, atol=1e-5)
