"""Inputs by from_pytorch: of several types and layouts, of static sizes, and without axes on the CPU."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType, nvfuser_dtype_to_torch_dtype

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [
    torch.randn(4, 6, device=device),
    torch.randn(6, 4, device=device).t(),
    torch.randn(4, 12, device=device)[:, ::2],
    torch.randn(6, device=device).expand(4, 6),
    torch.randint(0, 9, (4, 6), device=device),
    torch.tensor(2.5),
]

with FusionDefinition() as fd:
    tensors = [fd.from_pytorch(each, static_sizes=i % 2 == 0) for i, each in enumerate(inputs[:5])]
    scale = fd.define_tensor(shape=[], contiguity=[], dtype=DataType.Float, is_cpu=True)
    total = tensors[0]
    for tensor in tensors[1:]:
        total = fd.ops.add(total, tensor)
    fd.add_output(fd.ops.mul(total, scale))
    for each in tensors:
        fd.add_output(fd.ops.set(each))
outputs = fd.execute(inputs)
torch.testing.assert_close(outputs[0], sum(inputs[:5]) * 2.5)
for out, given, tensor in zip(outputs[1:], inputs, tensors):
    assert torch.equal(out, given) and out.dtype == nvfuser_dtype_to_torch_dtype(tensor.dtype)
