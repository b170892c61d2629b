"""One definition with symbolic sizes runs on tensors of many sizes, each time with the right answer."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id8(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[-1, -1, -1], contiguity=[True, True, True], dtype=DataType.Float, is_cpu=False,
                          stride_order=[2, 1, 0])
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False, stride_order=[0])
    V2 = fd.ops.shape(T0)
    T3 = fd.ops.broadcast_in_dim(T1, shape=V2, broadcast_dims=[2])
    T4 = fd.ops.mul(T0, T3)
    T5 = fd.ops.sum(T4, dims=[0, 1], keepdim=False, dtype=DataType.Null)
    S6 = fd.ops.size(T0, dim=0)
    S7 = fd.ops.size(T0, dim=1)
    S8 = fd.ops.size(T0, dim=2)
    S9 = fd.ops.mul(S6, S7)
    V10 = fd.define_vector([S9, S8], dtype=DataType.Int)
    T11 = fd.ops.reshape(T4, new_shape=V10)
    T12 = fd.ops.max(T11, dims=[1], keepdim=True, dtype=DataType.Null)
    T13 = fd.ops.sub(T11, T12)
    S14 = fd.ops.reciprocal(S9)
    T15 = fd.ops.mul(T5, S14)
    fd.add_output(T13)
    fd.add_output(T15)

with FusionDefinition() as fd:
    nvfuser_fusion_id8(fd)

for shape in ((4, 8, 16), (1, 8, 16), (4, 1, 33), (3, 5, 1), (7, 11, 64), (2, 1, 300), (4, 8, 16), (1, 1, 1)):
    x = torch.randn(shape, device=device)
    w = torch.randn(shape[2], device=device)
    outputs = fd.execute([x, w])
    flat = (x * w).reshape(shape[0] * shape[1], shape[2])
    torch.testing.assert_close(outputs[0], flat - flat.amax(1, keepdim=True), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(outputs[1], flat.mean(0), rtol=1e-4, atol=1e-5)
