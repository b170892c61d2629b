"""Finds infinities and numbers that are none, and replaces them."""
import torch
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

inf, nan = float("inf"), float("nan")
x = torch.randn(8, 40, device=device)
x[0, ::3] = nan
x[1, ::4] = inf
x[2, ::5] = -inf


def nan_to_num_fusion(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(x)
    s_zero = fd.define_scalar(0.0)
    s_max = fd.define_scalar(3.4028234663852886e38)
    s_min = fd.define_scalar(-3.4028234663852886e38)
    t1 = fd.ops.where(fd.ops.isnan(t0), s_zero, t0)
    t2 = fd.ops.where(fd.ops.isposinf(t1), s_max, t1)
    t3 = fd.ops.where(fd.ops.isneginf(t2), s_min, t2)
    fd.add_output(t3)
    fd.add_output(fd.ops.isfinite(t0))
    fd.add_output(fd.ops.isinf(t0))
    fd.add_output(fd.ops.ne(t0, t0))
    fd.add_output(fd.ops.isreal(t0))
    fd.add_output(fd.ops.signbit(t0))
    fd.add_output(fd.ops.max(t0, dims=[1]))
    fd.add_output(fd.ops.sum(fd.ops.where(fd.ops.isfinite(t0), t0, s_zero), dims=[0, 1]))
    fd.add_output(fd.ops.relu(t0))


with FusionDefinition() as fd:
    nan_to_num_fusion(fd)
nvf_out = fd.execute([x])

finite = torch.isfinite(x)
torch.testing.assert_close(nvf_out[0], torch.nan_to_num(x, nan=0.0))
torch.testing.assert_close(nvf_out[1], finite)
torch.testing.assert_close(nvf_out[2], torch.isinf(x))
torch.testing.assert_close(nvf_out[3], torch.isnan(x))
torch.testing.assert_close(nvf_out[4], torch.isreal(x))
torch.testing.assert_close(nvf_out[5][~torch.isnan(x)], torch.signbit(x)[~torch.isnan(x)])
torch.testing.assert_close(nvf_out[6], x.amax(1), equal_nan=True)
torch.testing.assert_close(nvf_out[7], torch.where(finite, x, 0.0).sum(), rtol=1e-4, atol=1e-4)
torch.testing.assert_close(nvf_out[8], torch.relu(x), equal_nan=True)
