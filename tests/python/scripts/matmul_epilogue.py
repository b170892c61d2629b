"""A product of a transposed operand, in half, with an epilogue: scale, bias, GELU by tanh and a residual."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

m, n, k = 48, 40, 32
inputs = [
    torch.randn(m, k, device=device).half() / 4,
    torch.randn(n, k, device=device).half().t() / 4,
    torch.randn(n, device=device).half(),
    torch.randn(m, n, device=device).half(),
]


def fusion_func(fd: FusionDefinition) -> None:
    a = fd.from_pytorch(inputs[0])
    b = fd.from_pytorch(inputs[1])
    bias = fd.from_pytorch(inputs[2])
    residual = fd.from_pytorch(inputs[3])
    d = fd.ops.matmul(a, b)
    S_alpha = fd.define_scalar(0.75, dtype=DataType.Double)
    t = fd.ops.mul(d, S_alpha)
    t = fd.ops.add(t, fd.ops.broadcast_in_dim(bias, shape=[m, n], broadcast_dims=[1]))
    inner = 0.7978845608 * (t + 0.044715 * t * t * t)
    t = 0.5 * t * (1.0 + fd.ops.tanh(inner))
    t = fd.ops.add(t, residual)
    fd.add_output(fd.ops.cast(t, dtype=DataType.Half))


with FusionDefinition() as fd:
    fusion_func(fd)
(out,) = fd.execute(inputs)

a, b, bias, residual = (each.float() for each in inputs)
ref = torch.nn.functional.gelu(0.75 * (a @ b) + bias, approximate="tanh") + residual
assert out.dtype == torch.float16 and out.shape == (m, n)
torch.testing.assert_close(out.float(), ref, rtol=1e-2, atol=1e-2)
