"""Chooses between numbers: where, clamp, threshold, lerp, addcmul, minimum and maximum."""
import torch
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [
    torch.randn(16, 40, device=device),
    torch.randn(16, 40, device=device),
    torch.rand(16, 40, device=device),
]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    t2 = fd.from_pytorch(inputs[2])
    s_low = fd.define_scalar(-0.5)
    s_high = fd.define_scalar(0.75)
    s_zero = fd.define_scalar(0.0)
    s_two = fd.define_scalar(2.0)
    fd.add_output(fd.ops.where(fd.ops.gt(t0, t1), t0, t2))
    fd.add_output(fd.ops.where(fd.ops.lt(t0, s_zero), s_zero, t1))
    fd.add_output(fd.ops.where(fd.ops.ge(t0, s_zero), s_two, s_low))
    fd.add_output(fd.ops.clamp(t0, s_low, s_high))
    fd.add_output(fd.ops.threshold(t1, s_zero, s_two))
    fd.add_output(fd.ops.lerp(t0, t1, t2))
    fd.add_output(fd.ops.lerp(t0, t1, s_high))
    fd.add_output(fd.ops.addcmul(t0, t1, t2, s_two))
    fd.add_output(fd.ops.maximum(t0, t1))
    fd.add_output(fd.ops.minimum(t0, s_zero))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

a, b, c = inputs
eager_out = [
    torch.where(a > b, a, c),
    torch.where(a < 0, 0.0, b),
    torch.where(a >= 0, 2.0, -0.5),
    torch.clamp(a, -0.5, 0.75),
    torch.nn.functional.threshold(b, 0.0, 2.0),
    torch.lerp(a, b, c),
    torch.lerp(a, b, 0.75),
    torch.addcmul(a, b, c, value=2.0),
    torch.maximum(a, b),
    torch.clamp(a, max=0.0),
]
assert len(nvf_out) == len(eager_out)
for i, (got, expected) in enumerate(zip(nvf_out, eager_out)):
    torch.testing.assert_close(got, expected.to(got.dtype), rtol=1e-5, atol=1e-5)
    assert got.dtype == torch.float32 or i == 2
