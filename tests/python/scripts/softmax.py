"""Softmax of rows in half precision: maximum, exponential, sum and quotient."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id2(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Half, is_cpu=False,
                          stride_order=[1, 0])
    T1 = fd.ops.cast(T0, dtype=DataType.Float)
    T2 = fd.ops.max(T1, dims=[1], keepdim=False, dtype=DataType.Null)
    S3 = fd.ops.size(T0, dim=0)
    S4 = fd.define_scalar(1, dtype=DataType.Int)
    V5 = fd.define_vector([S3, S4], dtype=DataType.Int)
    T6 = fd.ops.broadcast_in_dim(T2, shape=V5, broadcast_dims=[0])
    S7 = fd.ops.size(T0, dim=1)
    V8 = fd.define_vector([S3, S7], dtype=DataType.Int)
    T9 = fd.ops.broadcast_in_dim(T6, shape=V8, broadcast_dims=[0, 1])
    T10 = fd.ops.sub(T1, T9)
    T11 = fd.ops.exp(T10)
    T12 = fd.ops.sum(T11, dims=[1], keepdim=False, dtype=DataType.Null)
    T13 = fd.ops.broadcast_in_dim(T12, shape=V5, broadcast_dims=[0])
    T14 = fd.ops.broadcast_in_dim(T13, shape=V8, broadcast_dims=[0, 1])
    T15 = fd.ops.reciprocal(T14)
    T16 = fd.ops.mul(T11, T15)
    T17 = fd.ops.cast(T16, dtype=DataType.Half)
    fd.add_output(T17)

with FusionDefinition() as fd:
    nvfuser_fusion_id2(fd)

for shape in ((64, 512), (1, 300), (17, 1), (8, 129)):
    inputs = [torch.testing.make_tensor(shape, dtype=torch.float16, device=device)]
    outputs = fd.execute(inputs)
    torch.testing.assert_close(outputs[0], torch.softmax(inputs[0].float(), 1).half(), rtol=2e-3, atol=1e-4)
