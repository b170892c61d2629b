"""Schedules by the library's heuristics, with their parameters read and edited."""
import torch
from tokamak.nvfuser import FusionDefinition, SchedulerType, schedule

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(64, 256, device=device), torch.randn(64, 256, device=device)]


class Pointwise(FusionDefinition):
    def definition(self):
        t0 = self.from_pytorch(inputs[0])
        t1 = self.from_pytorch(inputs[1])
        self.add_output(self.ops.gelu(self.ops.add(t0, t1)))

    def schedule(self):
        is_legal, message = self.sched.can_schedule(SchedulerType.reduction)
        assert not is_legal and len(message) > 0
        assert SchedulerType.pointwise in self.sched.find_compatible_schedulers()
        parameters = self.sched.compute_pointwise_heuristics()
        assert len(repr(parameters)) > 0
        self.sched.schedule()


wanted = torch.nn.functional.gelu(inputs[0] + inputs[1])
torch.testing.assert_close(Pointwise().execute(inputs)[0], wanted, rtol=1e-4, atol=1e-5)

with FusionDefinition() as fd:
    t0 = fd.from_pytorch(inputs[0])
    fd.add_output(fd.ops.softmax(t0, 1))
kinds = schedule.find_compatible_schedulers(fd.fusion)
params = schedule.compute_heuristics(fd.fusion, kinds[0])
schedule.schedule(fd.fusion, params)
torch.testing.assert_close(fd.execute(inputs[:1])[0], torch.softmax(inputs[0], 1), rtol=1e-5, atol=1e-6)
