"""RMS norm of half-precision rows with a weight; the root mean square is an output, too."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def rmsnorm_fwd_fusion(fd: FusionDefinition, dtype: DataType, eps: float = 1e-5) -> None:
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=dtype, is_cpu=False)
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=dtype, is_cpu=False)
    T2 = fd.ops.cast(T0, dtype=DataType.Float)
    T3 = fd.ops.cast(T1, dtype=DataType.Float)
    S4 = fd.define_scalar(2.00000, dtype=DataType.Double)
    T5 = fd.ops.pow(T2, S4)
    T6 = fd.ops.sum(T5, dims=[1], keepdim=False, dtype=DataType.Null)
    V7 = fd.define_vector([T0.size(0), 1], dtype=DataType.Int)
    T8 = fd.ops.broadcast_in_dim(T6, shape=V7, broadcast_dims=[0])
    S9 = fd.ops.reciprocal(T0.size(1))
    T10 = fd.ops.mul(T8, S9)
    S11 = fd.define_scalar(eps, dtype=DataType.Double)
    T12 = fd.ops.add(T10, S11)
    T13 = fd.ops.sqrt(T12)
    V14 = fd.define_vector([T0.size(0), T0.size(1)], dtype=DataType.Int)
    T15 = fd.ops.broadcast_in_dim(T13, shape=V14, broadcast_dims=[0, 1])
    T16 = fd.ops.div(T2, T15)
    T17 = fd.ops.broadcast_in_dim(T3, shape=V14, broadcast_dims=[1])
    T18 = fd.ops.mul(T16, T17)
    T19 = fd.ops.cast(T18, dtype=dtype)
    fd.add_output(T19)
    fd.add_output(T13)


with FusionDefinition() as fd:
    rmsnorm_fwd_fusion(fd, DataType.Half)

x = torch.randn(32, 512, device=device, dtype=torch.float16)
weight = torch.randn(512, device=device, dtype=torch.float16)
nvf_out = fd.execute([x, weight])

rms = torch.sqrt(x.float().pow(2).mean(1, keepdim=True) + 1e-5)
torch.testing.assert_close(nvf_out[0], (x.float() / rms * weight.float()).half(), rtol=2e-3, atol=1e-3)
torch.testing.assert_close(nvf_out[1], rms)
