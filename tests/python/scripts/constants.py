"""Constants of several types, also by the older name, and expressions of constants."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(4, 33, device=device), torch.randint(0, 50, (4, 33), device=device)]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    c0 = fd.define_constant(3.0)
    c1 = fd.define_scalar(2)
    c2 = fd.define_scalar(-1.5e-3, dtype=DataType.Double)
    c3 = fd.define_scalar(float("inf"), dtype=DataType.Double)
    c4 = fd.define_scalar(False)
    c5 = fd.ops.div(fd.ops.add(c0, c2), c0)
    fd.add_output(fd.ops.mul(t0, c0))
    fd.add_output(fd.ops.mul(t1, c1))
    fd.add_output(fd.ops.mul(t0, c5))
    fd.add_output(fd.ops.lt(t0, c3))
    fd.add_output(fd.ops.logical_and(fd.ops.gt(t1, c1), c4))
    fd.add_output(fd.ops.sub(c0, t0))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

x, n = inputs
eager_out = [x * 3.0, n * 2, x * ((3.0 - 1.5e-3) / 3.0), torch.ones_like(x, dtype=torch.bool),
             torch.zeros_like(x, dtype=torch.bool), 3.0 - x]
for got, expected in zip(nvf_out, eager_out):
    torch.testing.assert_close(got, expected)
