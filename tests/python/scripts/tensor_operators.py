"""Python's operators on tensors and scalars of a definition, with numbers of Python on the right."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [
    torch.randn(8, 50, device=device),
    torch.rand(8, 50, device=device) + 0.5,
    torch.randint(0, 100, (8, 50), device=device),
    torch.randint(1, 20, (8, 50), device=device),
]


def fusion_func(fd: FusionDefinition) -> None:
    a = fd.from_pytorch(inputs[0])
    b = fd.from_pytorch(inputs[1])
    m = fd.from_pytorch(inputs[2])
    n = fd.from_pytorch(inputs[3])
    s = fd.define_scalar(1.5, dtype=DataType.Double)
    i = fd.define_scalar(2, dtype=DataType.Int)
    fd.add_output(a * b + 2.0)
    fd.add_output((a - s) / b)
    fd.add_output(b ** s)
    fd.add_output(-a + abs(a))
    fd.add_output(s * a - i)
    fd.add_output(m % n)
    fd.add_output((m & n) | (m ^ n))
    fd.add_output(n << i)
    fd.add_output(m >> i)
    fd.add_output((a > b) & (a < 1.0))
    fd.add_output(a >= 0)
    fd.add_output(m == n)
    fd.add_output(m != n)
    fd.add_output(a <= b)
    fd.add_output(a * (s + i) * (s / i))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

a, b, m, n = inputs
eager_out = [a * b + 2.0, (a - 1.5) / b, b ** 1.5, -a + abs(a), 1.5 * a - 2, m % n, (m & n) | (m ^ n), n << 2, m >> 2,
             (a > b) & (a < 1.0), a >= 0, m == n, m != n, a <= b, a * 3.5 * 0.75]
assert len(nvf_out) == len(eager_out)
for got, expected in zip(nvf_out, eager_out):
    torch.testing.assert_close(got, expected)
