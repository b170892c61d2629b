"""Runs with each of execute's arguments, and with an id and a length of the definition."""
import torch
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(8, 16, device=device), torch.randn(16, 8, device=device)]

with FusionDefinition(id=12, max_length=9999) as fd:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    fd.add_output(fd.ops.relu(fd.ops.matmul(t0, t1)))
expected = torch.relu(inputs[0] @ inputs[1])

for options in (
    {"device": inputs[0].device if device == "cuda" else None},
    {"override_user_schedule": False},
    {"capture_debug_output": False, "print_repro": False},
    {"profile": False, "save_repro_inputs": False},
    {"_enable_options": ["fuse_matmul"], "_disable_options": ["matmul_expr_eval"]},
):
    torch.testing.assert_close(fd.execute(inputs, **options)[0], expected, rtol=1e-4, atol=1e-4)
