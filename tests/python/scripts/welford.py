"""Means, sums of squared differences and counts by Welford's algorithm."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(16, 8, 33, device=device) + 5.0]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    mean, var_sum, n = fd.ops.welford(t0, dims=[0, 2])
    fd.add_output(mean)
    fd.add_output(var_sum)
    s_count = fd.define_scalar(16 * 33, dtype=DataType.Int)
    fd.add_output(fd.ops.div(var_sum, fd.ops.cast(s_count, dtype=DataType.Double)))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)
var, mean = torch.var_mean(inputs[0], [0, 2], correction=0)
torch.testing.assert_close(nvf_out[0], mean, rtol=1e-5, atol=1e-5)
torch.testing.assert_close(nvf_out[1], var * 16 * 33, rtol=1e-4, atol=1e-4)
torch.testing.assert_close(nvf_out[2], var, rtol=1e-4, atol=1e-4)
