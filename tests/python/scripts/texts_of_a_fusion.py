"""Asks a definition for its texts: its Python form, its IR, its scheduled IR and its kernels."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(4, 64, device=device)]


class Doubled(FusionDefinition):
    def definition(self):
        self.t0 = self.from_pytorch(inputs[0])
        self.t1 = self.ops.mul(self.t0, self.define_scalar(2.0, dtype=DataType.Double))
        self.add_output(self.t1)

    def schedule(self):
        self.sched.split(self.t1, 1, 16)
        assert "16" in self.sched.to_string(self.t1)
        assert len(self.sched.user_schedule_ir()) > 0


fd = Doubled()
torch.testing.assert_close(fd.execute(inputs)[0], inputs[0] * 2)
assert "mul" in repr(fd) and "define_tensor" in repr(fd)
assert len(fd.fusion_ir()) > 0
assert len(fd.last_scheduled_fusion_ir()) > 0
assert len(fd.last_cuda_code()) > 0
assert len(fd.cuda_code_for(inputs)) > 0
assert len(fd.scheduled_fusion_ir_for(inputs)) > 0
