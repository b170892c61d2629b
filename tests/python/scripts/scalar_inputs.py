"""Numbers as inputs: a double, an integer and a bool, in another order than they are used."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def fusion_func(fd: FusionDefinition) -> None:
    s0 = fd.define_scalar(dtype=DataType.Double)
    t0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float)
    s1 = fd.define_scalar(dtype=DataType.Int)
    s2 = fd.define_scalar(dtype=DataType.Bool)
    t1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Int)
    s3 = fd.define_scalar()
    fd.add_output(fd.ops.add(fd.ops.mul(t0, s0), s3))
    fd.add_output(fd.ops.add(t1, s1))
    fd.add_output(fd.ops.mul(t0, s1))
    negative = fd.ops.lt(t0, s3)
    fd.add_output(fd.ops.logical_or(negative, s2))
    s4 = fd.ops.add(fd.ops.mul(s0, s3), s1)
    fd.add_output(fd.ops.sub(s4, t0))


with FusionDefinition() as fd:
    fusion_func(fd)

x = torch.randn(6, 50, device=device)
n = torch.randint(-100, 100, (6, 50), device=device)
for scale, shift, flag, offset in ((2.5, 3, True, -0.25), (-1.0, 1 << 40, False, 0.5), (0, -7, False, 1)):
    nvf_out = fd.execute([scale, x, shift, flag, n, offset])
    torch.testing.assert_close(nvf_out[0], x * scale + offset)
    torch.testing.assert_close(nvf_out[1], n + shift)
    torch.testing.assert_close(nvf_out[2], x * shift)
    torch.testing.assert_close(nvf_out[3], (x < offset) | flag)
    torch.testing.assert_close(nvf_out[4], scale * offset + shift - x)
