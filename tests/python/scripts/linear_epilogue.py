"""A linear layer with a bias, then SiLU and a residual, in bfloat16."""
import torch
import torch.nn.functional as F
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [
    torch.randn(2, 24, 64, device=device).to(torch.bfloat16),
    torch.randn(96, 64, device=device).to(torch.bfloat16) / 8,
    torch.randn(96, device=device).to(torch.bfloat16),
    torch.randn(2, 24, 96, device=device).to(torch.bfloat16),
]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    t2 = fd.from_pytorch(inputs[2])
    t3 = fd.from_pytorch(inputs[3])
    t4 = fd.ops.linear(t0, t1, t2)
    t5 = fd.ops.cast(t4, dtype=DataType.Float)
    t6 = fd.ops.silu(t5)
    t7 = fd.ops.add(t6, t3)
    t8 = fd.ops.cast(t7, dtype=DataType.BFloat16)
    fd.add_output(t8)
    fd.add_output(t4)
    fd.add_output(fd.ops.linear(t0, t1))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

x, w, b, r = inputs
linear = F.linear(x.float(), w.float(), b.float())
assert all(each.dtype == torch.bfloat16 for each in nvf_out)
torch.testing.assert_close(nvf_out[0].float(), F.silu(linear) + r.float(), rtol=2e-2, atol=5e-2)
torch.testing.assert_close(nvf_out[1].float(), linear, rtol=1.6e-2, atol=2e-2)
torch.testing.assert_close(nvf_out[2].float(), F.linear(x.float(), w.float()), rtol=1.6e-2, atol=2e-2)
