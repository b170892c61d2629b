"""Numbers of Python given straight to operations, where others define a scalar first."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(8, 32, device=device), torch.randint(0, 9, (8, 32), device=device)]

with FusionDefinition() as fd:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    fd.add_output(fd.ops.add(t0, 3.0))
    fd.add_output(fd.ops.mul(2, t0))
    fd.add_output(fd.ops.where(fd.ops.gt(t0, 0.0), t0, 0.0))
    fd.add_output(fd.ops.eq(t1, 4))
    fd.add_output(fd.ops.clamp(t0, -1.0, 1.0))
    fd.add_output(fd.ops.select(t0, 2, dim=0))
    fd.add_output(fd.ops.full(shape=[2, 32], fill_value=0.5, dtype=DataType.Half))
    fd.add_output(fd.ops.iota(5, 1, 3))
    fd.add_output(fd.ops.iota(4, dtype=DataType.Int))
    fd.add_output(fd.ops.pad(t0, [1, 1], -1.0))

nvf_out = fd.execute(inputs)
x, n = inputs
eager_out = [x + 3.0, 2 * x, torch.relu(x), n == 4, torch.clamp(x, -1.0, 1.0), x[2],
             torch.full((2, 32), 0.5, dtype=torch.float16, device=device),
             torch.tensor([1, 4, 7, 10, 13], device=device), torch.arange(4, device=device),
             torch.nn.functional.pad(x, [1, 1], value=-1.0)]
assert len(nvf_out) == len(eager_out)
for got, expected in zip(nvf_out, eager_out):
    torch.testing.assert_close(got, expected)
