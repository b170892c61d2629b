"""A call that captures what was compiled for it."""
import torch
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(4, 64, device=device)]

with FusionDefinition() as fd:
    t0 = fd.from_pytorch(inputs[0])
    fd.add_output(fd.ops.sinh(fd.ops.mul(t0, t0)))

fd.execute(inputs)
assert fd.debug_output() is None
out = fd.execute(inputs, capture_debug_output=True)
torch.testing.assert_close(out[0], torch.sinh(inputs[0] ** 2), rtol=1e-5, atol=1e-5)
assert "sinh" in fd.debug_output()
