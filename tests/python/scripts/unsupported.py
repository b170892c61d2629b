"""What is not there says so by its name, so that a script may take another way."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

x = torch.randn(4, 8, device=device)


def top(fd: FusionDefinition, t0):
    try:
        values, _ = fd.ops.topk(t0, 1, dim=-1)
    except NotImplementedError as error:
        assert "topk" in str(error)
        values = fd.ops.max(t0, dims=[-1], keepdim=True)
    return values


with FusionDefinition() as fd:
    t0 = fd.from_pytorch(x)
    fd.add_output(top(fd, t0))
torch.testing.assert_close(fd.execute([x])[0], x.topk(1).values)

for dtype in (DataType.ComplexFloat, DataType.Float8_e4m3fn, DataType.Float4_e2m1fn, DataType.UInt64):
    try:
        FusionDefinition().define_tensor(shape=[-1], dtype=dtype)
    except NotImplementedError as error:
        assert dtype.name in str(error)
    else:
        raise AssertionError(f"{dtype} was taken")
