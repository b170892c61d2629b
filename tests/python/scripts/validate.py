"""Compares a fusion's outputs with references by its own method, as benchmarks do."""
import torch
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(32, 128, device=device)]

with FusionDefinition() as fd:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.ops.sum(t0, dims=[1], keepdim=True)
    fd.add_output(fd.ops.sub(t0, t1))
    fd.add_output(t1)

total = inputs[0].sum(1, keepdim=True)
fd.validate(inputs, [inputs[0] - total, total])
try:
    fd.validate(inputs, [inputs[0] - total, total + 1.0])
except Exception:
    is_refused = True
else:
    is_refused = False
assert is_refused
