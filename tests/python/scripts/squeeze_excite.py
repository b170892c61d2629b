"""Global average pooling and squeeze-and-excite scaling of an image in half precision."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [
    torch.randn(2, 16, 9, 9, device=device).half(),
    torch.randn(16, 16, device=device).half() / 4,
]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    t2 = fd.ops.cast(t0, dtype=DataType.Float)
    t3 = fd.ops.sum(t2, dims=[2, 3], keepdim=False)
    s4 = fd.ops.mul(fd.ops.size(t0, 2), fd.ops.size(t0, 3))
    t5 = fd.ops.div(t3, s4)
    t6 = fd.ops.linear(fd.ops.cast(t5, dtype=DataType.Half), t1)
    t7 = fd.ops.sigmoid(fd.ops.cast(t6, dtype=DataType.Float))
    t8 = fd.ops.broadcast_in_dim(t7, shape=fd.ops.shape(t0), broadcast_dims=[0, 1])
    fd.add_output(fd.ops.cast(fd.ops.mul(t2, t8), dtype=DataType.Half))
    fd.add_output(t5)


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)

x, w = [each.float() for each in inputs]
pooled = x.mean((2, 3))
gate = torch.sigmoid(pooled @ w.t())
torch.testing.assert_close(nvf_out[0].float(), x * gate[:, :, None, None], rtol=5e-3, atol=5e-3)
torch.testing.assert_close(nvf_out[1], pooled, rtol=1e-5, atol=1e-5)
