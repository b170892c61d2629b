"""Integers: bits, shifts, divisions, remainders and greatest common divisors, in 32 and 64 bits."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

for dtype in (torch.int32, torch.int64):
    inputs = [
        torch.randint(-1000, 1000, (4, 65), device=device, dtype=dtype),
        torch.randint(1, 30, (4, 65), device=device, dtype=dtype),
    ]

    def fusion_func(fd: FusionDefinition) -> None:
        t0 = fd.from_pytorch(inputs[0])
        t1 = fd.from_pytorch(inputs[1])
        s2 = fd.define_scalar(5, dtype=DataType.Int)
        fd.add_output(fd.ops.bitwise_and(t0, t1))
        fd.add_output(fd.ops.bitwise_or(t0, t1))
        fd.add_output(fd.ops.bitwise_xor(t0, t1))
        fd.add_output(fd.ops.bitwise_not(t0))
        fd.add_output(fd.ops.bitwise_left_shift(t1, fd.ops.remainder(t1, s2)))
        fd.add_output(fd.ops.bitwise_right_shift(t0, t1))
        fd.add_output(fd.ops.gcd(t0, t1))
        fd.add_output(t0 / t1)
        fd.add_output(fd.ops.truediv(t0, t1))
        fd.add_output(fd.ops.remainder(t0, t1))
        fd.add_output(fd.ops.fmod(t0, t1))
        fd.add_output(fd.ops.mod(t1, s2))
        fd.add_output(fd.ops.abs(t0))
        fd.add_output(fd.ops.sign(t0))
        fd.add_output(t0 / t1)

    with FusionDefinition() as fd:
        fusion_func(fd)
    nvf_out = fd.execute(inputs)

    a, b = inputs
    eager_out = [
        a & b,
        a | b,
        a ^ b,
        ~a,
        b << (b % 5),
        a >> b,
        torch.gcd(a, b),
        torch.div(a, b, rounding_mode="trunc"),
        torch.true_divide(a, b),
        torch.remainder(a, b),
        torch.fmod(a, b),
        b % 5,
        torch.abs(a),
        torch.sign(a),
        torch.div(a, b, rounding_mode="trunc"),  # its operator divides as C does
    ]
    assert len(nvf_out) == len(eager_out)
    for got, expected in zip(nvf_out, eager_out):
        torch.testing.assert_close(got, expected.to(got.dtype))
        assert got.dtype.is_floating_point == expected.dtype.is_floating_point
