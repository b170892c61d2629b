"""A feed-forward block of Llama: two projections, SiLU of one times the other, and the projection back."""
import torch
import torch.nn.functional as F
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


class SwiGLU(FusionDefinition):
    def __init__(self, inputs):
        super().__init__()
        self.inputs = inputs

    def definition(self):
        x, w_gate, w_up, w_down = [self.from_pytorch(each) for each in self.inputs]
        gate = self.ops.cast(self.ops.linear(x, w_gate), dtype=DataType.Float)
        up = self.ops.cast(self.ops.linear(x, w_up), dtype=DataType.Float)
        one = self.define_scalar(1.0)
        sigmoid = self.ops.reciprocal(self.ops.add(one, self.ops.exp(self.ops.neg(gate))))
        hidden = self.ops.mul(self.ops.mul(gate, sigmoid), up)
        self.add_output(self.ops.linear(self.ops.cast(hidden, dtype=DataType.BFloat16), w_down))


tokens, width, wide = 32, 64, 160
inputs = [
    torch.randn(tokens, width, device=device).to(torch.bfloat16),
    (torch.randn(wide, width, device=device) / 8).to(torch.bfloat16),
    (torch.randn(wide, width, device=device) / 8).to(torch.bfloat16),
    (torch.randn(width, wide, device=device) / 12).to(torch.bfloat16),
]
nvf_out = SwiGLU(inputs).execute(inputs)

x, w_gate, w_up, w_down = [each.float() for each in inputs]
expected = F.linear(F.silu(F.linear(x, w_gate)) * F.linear(x, w_up), w_down)
assert nvf_out[0].dtype == torch.bfloat16
torch.testing.assert_close(nvf_out[0].float(), expected, rtol=2e-2, atol=5e-2)
