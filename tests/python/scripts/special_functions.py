"""Every function of one number that torch has, too, on numbers of its domain."""
import torch
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

anywhere = ["abs", "asinh", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "floor", "frac",
            "neg", "relu", "round", "sigmoid", "sign", "silu", "sin", "sinh", "tan", "tanh", "trunc"]
within_one = ["acos", "asin", "atanh", "erfinv"]
positive = ["log", "log10", "log1p", "log2", "lgamma", "reciprocal", "rsqrt", "sqrt"]

inputs = [
    torch.testing.make_tensor((16, 64), dtype=torch.float32, device=device, low=-4, high=4),
    torch.testing.make_tensor((16, 64), dtype=torch.float32, device=device, low=-0.95, high=0.95),
    torch.testing.make_tensor((16, 64), dtype=torch.float32, device=device, low=0.1, high=9),
]


def fusion_func(fd: FusionDefinition) -> None:
    t0, t1, t2 = [fd.from_pytorch(each) for each in inputs]
    for names, tensor in ((anywhere, t0), (within_one, t1), (positive, t2)):
        for name in names:
            fd.add_output(getattr(fd.ops, name)(tensor))
    one = fd.define_scalar(1.0)
    fd.add_output(fd.ops.acosh(fd.ops.add(t2, one)))
    fd.add_output(fd.ops.erfcinv(fd.ops.add(t1, one)))
    fd.add_output(fd.ops.atan2(t0, t2))
    fd.add_output(fd.ops.pow(t2, t1))
    fd.add_output(fd.ops.nextafter(t0, t1))
    fd.add_output(fd.ops.fmod(t0, t2))
    fd.add_output(fd.ops.remainder(t0, t2))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

x, y, z = inputs
torch_name = {"relu": torch.relu, "silu": torch.nn.functional.silu}
eager_out = [torch_name.get(name, getattr(torch, name, None))(each)
             for names, each in ((anywhere, x), (within_one, y), (positive, z)) for name in names]
eager_out += [torch.acosh(z + 1.0), torch.erfinv(-y), torch.atan2(x, z), torch.pow(z, y), torch.nextafter(x, y),
              torch.fmod(x, z), torch.remainder(x, z)]
assert len(nvf_out) == len(eager_out)
for got, expected in zip(nvf_out, eager_out):
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
