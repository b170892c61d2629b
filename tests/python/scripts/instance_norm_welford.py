"""Instance norm by Welford's means and sums of squares, with an affine map, in bfloat16 and float."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType
from tokamak.nvfuser.pytorch_utils import torch_dtype_to_nvfuser_dtype

device = "cuda" if torch.cuda.is_available() else "cpu"


def instance_norm(fd: FusionDefinition, dtype: DataType, eps: float = 1e-5) -> None:
    x = fd.define_tensor(shape=[-1, -1, -1, -1], contiguity=True, dtype=dtype)
    weight = fd.define_tensor(shape=[-1], contiguity=True, dtype=dtype)
    bias = fd.define_tensor(shape=[-1], contiguity=True, dtype=dtype)
    wide = fd.ops.cast(x, dtype=DataType.Float)
    mean, m2, count = fd.ops.welford(wide, dims=[2, 3])
    shape = fd.ops.shape(x)
    variance = fd.ops.div(m2, fd.ops.cast(count, dtype=DataType.Float))
    rstd = fd.ops.rsqrt(fd.ops.add(variance, fd.define_scalar(eps, dtype=DataType.Double)))
    centred = fd.ops.sub(wide, fd.ops.broadcast_in_dim(mean, shape=shape, broadcast_dims=[0, 1]))
    normed = fd.ops.mul(centred, fd.ops.broadcast_in_dim(rstd, shape=shape, broadcast_dims=[0, 1]))
    scaled = fd.ops.mul(normed, fd.ops.broadcast_in_dim(weight, shape=shape, broadcast_dims=[1]))
    shifted = fd.ops.add(scaled, fd.ops.broadcast_in_dim(bias, shape=shape, broadcast_dims=[1]))
    fd.add_output(fd.ops.cast(shifted, dtype=dtype))
    fd.add_output(mean)
    fd.add_output(rstd)


for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 2e-2)):
    with FusionDefinition() as fd:
        instance_norm(fd, torch_dtype_to_nvfuser_dtype(dtype))
    x = torch.randn(2, 6, 9, 11, device=device).to(dtype)
    weight, bias = torch.rand(6, device=device).to(dtype), torch.randn(6, device=device).to(dtype)
    out, mean, rstd = fd.execute([x, weight, bias])
    wanted = torch.nn.functional.instance_norm(x.float(), weight=weight.float(), bias=bias.float())
    assert out.dtype == dtype and mean.shape == rstd.shape == (2, 6)
    torch.testing.assert_close(out.float(), wanted, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(mean, x.float().mean((2, 3)), rtol=1e-4, atol=1e-5)
