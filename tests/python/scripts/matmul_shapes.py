"""Products of matrices, vectors and batches of matrices, also transposed ones, with an epilogue."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

m, n, k = 24, 16, 32
cases = [
    ((m, k), (k, n)),
    ((k,), (k, n)),
    ((m, k), (k,)),
    ((k,), (k,)),
    ((3, m, k), (k, n)),
    ((3, m, k), (3, k, n)),
    ((2, 1, m, k), (3, k, n)),
]


def fusion_func(fd: FusionDefinition, inputs) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    t2 = fd.ops.matmul(t0, t1)
    s3 = fd.define_scalar(0.25, dtype=DataType.Double)
    t4 = fd.ops.mul(t2, s3)
    t5 = fd.ops.relu(t4)
    fd.add_output(t5)
    fd.add_output(t2)


for a_shape, b_shape in cases:
    inputs = [torch.randn(a_shape, device=device), torch.randn(b_shape, device=device)]
    with FusionDefinition() as fd:
        fusion_func(fd, inputs)
    nvf_out = fd.execute(inputs)
    product = torch.matmul(inputs[0], inputs[1])
    torch.testing.assert_close(nvf_out[0], torch.relu(product * 0.25), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(nvf_out[1], product, rtol=1e-4, atol=1e-4)

for dtype in (torch.float16, torch.bfloat16):
    inputs = [torch.randn(m, k, device=device).to(dtype), torch.randn(n, k, device=device).to(dtype).t()]
    with FusionDefinition() as fd:
        fusion_func(fd, inputs)
    nvf_out = fd.execute(inputs)
    product = inputs[0].float() @ inputs[1].float()
    assert nvf_out[1].dtype == dtype
    torch.testing.assert_close(nvf_out[1].float(), product, rtol=1.6e-2, atol=5e-2)
