"""Inputs defined by the sizes and strides of tensors, which give contiguity and order of axes."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [
    torch.randn(6, 10, 14, device=device),
    torch.randn(14, 6, 10, device=device).permute(1, 2, 0),
    torch.randn(6, 1, 14, device=device),
    torch.randn(6, 20, 14, device=device, dtype=torch.float64)[:, ::2],
]

with FusionDefinition() as fd:
    t0 = fd.define_tensor(sizes=inputs[0].size(), strides=inputs[0].stride(), dtype=DataType.Float)
    t1 = fd.define_tensor(list(inputs[1].size()), list(inputs[1].stride()), dtype=DataType.Float, static_sizes=True)
    t2 = fd.define_tensor(sizes=list(inputs[2].shape), strides=list(inputs[2].stride()))
    t3 = fd.define_tensor(
        sizes=inputs[3].size(), strides=inputs[3].stride(), dtype=DataType.Double, static_sizes=False, is_cpu=False
    )
    t4 = fd.ops.add(fd.ops.mul(t0, t1), t2)
    fd.add_output(t4)
    fd.add_output(fd.ops.sub(t3, t4))

nvf_out = fd.execute(inputs)
expected = inputs[0] * inputs[1] + inputs[2]
torch.testing.assert_close(nvf_out[0], expected)
torch.testing.assert_close(nvf_out[1], inputs[3] - expected, rtol=1e-5, atol=1e-5)
assert nvf_out[1].dtype == torch.float64
