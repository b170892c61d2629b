"""Sums and products of different types get the type that torch gives them, save that half types become float."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

types = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.bool]
inputs = [torch.testing.make_tensor((6, 10), dtype=dtype, device=device, low=0, high=4) for dtype in types]
pairs = [(a, b) for a in range(6) for b in range(7)]


def fusion_func(fd: FusionDefinition) -> None:
    tensors = [fd.from_pytorch(each) for each in inputs]
    for a, b in pairs:
        fd.add_output(fd.ops.add(tensors[a], tensors[b]))
    s_double = fd.define_scalar(0.5, dtype=DataType.Double)
    s_int = fd.define_scalar(3, dtype=DataType.Int)
    for each in tensors:
        fd.add_output(fd.ops.mul(each, s_int))
    for each in tensors[:4]:
        fd.add_output(fd.ops.mul(each, s_double))
    for each in tensors[4:]:
        fd.add_output(fd.ops.sqrt(each))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)


def widened(tensor):
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


wide = [widened(each) for each in inputs]
eager_out = [wide[a] + wide[b] for a, b in pairs]
eager_out += [each * 3 for each in wide]
eager_out += [each * 0.5 for each in wide[:4]]
eager_out += [torch.sqrt(each) for each in wide[4:]]
assert len(nvf_out) == len(eager_out)
for got, expected in zip(nvf_out, eager_out):
    assert got.dtype == expected.dtype
    torch.testing.assert_close(got, expected)
