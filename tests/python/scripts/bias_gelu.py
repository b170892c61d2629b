"""Adds a bias to rows of bfloat16 numbers and applies GELU by its tanh formula, computed in float."""
import torch
import torch.nn.functional as F
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def bias_gelu_fusion(fd: FusionDefinition, dtype: DataType):
    x = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=dtype, is_cpu=False)
    bias = fd.define_tensor(shape=[-1], contiguity=[True], dtype=dtype, is_cpu=False)
    x = fd.ops.cast(x, dtype=DataType.Float)
    bias = fd.ops.cast(bias, dtype=DataType.Float)
    V0 = fd.define_vector([x.size(0), x.size(1)], dtype=DataType.Int)
    bias = fd.ops.broadcast_in_dim(bias, shape=V0, broadcast_dims=[1])
    T1 = fd.ops.add(x, bias)
    S_cubic = fd.define_scalar(0.044715)
    S_scale = fd.define_scalar(0.79788456)
    T2 = fd.ops.mul(T1, T1)
    T3 = fd.ops.mul(T2, T1)
    T4 = fd.ops.mul(T3, S_cubic)
    T5 = fd.ops.add(T1, T4)
    T6 = fd.ops.mul(T5, S_scale)
    T7 = fd.ops.tanh(T6)
    S_one = fd.define_scalar(1.0)
    T8 = fd.ops.add(T7, S_one)
    S_half = fd.define_scalar(0.5)
    T9 = fd.ops.mul(T8, S_half)
    T10 = fd.ops.mul(T9, T1)
    T10 = fd.ops.cast(T10, dtype=dtype)
    fd.add_output(T10)


for torch_dtype, dtype in ((torch.bfloat16, DataType.BFloat16), (torch.float16, DataType.Half)):
    with FusionDefinition() as fd:
        bias_gelu_fusion(fd, dtype)
    inputs = [torch.randn(32, 384, device=device, dtype=torch_dtype),
              torch.randn(384, device=device, dtype=torch_dtype)]
    nvf_out = fd.execute(inputs)
    eager_out = F.gelu(inputs[0].float() + inputs[1].float(), approximate="tanh").to(torch_dtype)
    assert nvf_out[0].dtype == torch_dtype
    torch.testing.assert_close(nvf_out[0], eager_out, rtol=1.6e-2, atol=1e-3)
