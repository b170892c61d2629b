"""Batch norm in training, written out: normalises by the batch and updates the running statistics in place."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id0(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[-1, -1, -1, -1], contiguity=[True, True, True, True], dtype=DataType.Float,
                          is_cpu=False, stride_order=[3, 2, 1, 0])
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False, stride_order=[0])
    T2 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False, stride_order=[0])
    T3 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False, stride_order=[0])
    T4 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False, stride_order=[0])
    T5 = fd.define_tensor(shape=[], contiguity=[], dtype=DataType.Int, is_cpu=False)
    T6, T7 = fd.ops.var_mean(T0, dims=[0, 2, 3], correction=0, keepdim=False)
    S8 = fd.define_scalar(1.00000e-05, dtype=DataType.Double)
    T9 = fd.ops.add(T6, S8)
    T10 = fd.ops.rsqrt(T9)
    V11 = fd.ops.shape(T0)
    T12 = fd.ops.broadcast_in_dim(T7, shape=V11, broadcast_dims=[1])
    T13 = fd.ops.sub(T0, T12)
    T14 = fd.ops.broadcast_in_dim(T10, shape=V11, broadcast_dims=[1])
    T15 = fd.ops.mul(T13, T14)
    T16 = fd.ops.broadcast_in_dim(T1, shape=V11, broadcast_dims=[1])
    T17 = fd.ops.mul(T15, T16)
    T18 = fd.ops.broadcast_in_dim(T2, shape=V11, broadcast_dims=[1])
    T19 = fd.ops.add(T17, T18)
    S20 = fd.ops.size(T0, dim=0)
    S21 = fd.ops.size(T0, dim=2)
    S22 = fd.ops.size(T0, dim=3)
    S23 = fd.ops.mul(S20, S21)
    S24 = fd.ops.mul(S23, S22)
    S25 = fd.define_scalar(1, dtype=DataType.Int)
    S26 = fd.ops.sub(S24, S25)
    S27 = fd.define_scalar(0.100000, dtype=DataType.Double)
    S28 = fd.define_scalar(0.900000, dtype=DataType.Double)
    T29 = fd.ops.mul(T7, S27)
    T30 = fd.ops.mul(T3, S28)
    T31 = fd.ops.add(T29, T30)
    T32 = fd.ops.mul(T6, S24)
    T33 = fd.ops.div(T32, S26)
    T34 = fd.ops.mul(T33, S27)
    T35 = fd.ops.mul(T4, S28)
    T36 = fd.ops.add(T34, T35)
    T37 = fd.ops.add(T5, S25)
    fd.add_output(T31, T3)
    fd.add_output(T36, T4)
    fd.add_output(T37, T5)
    fd.add_output(T19)
    fd.add_output(T7)
    fd.add_output(T10)

with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

module = torch.nn.BatchNorm2d(16, device=device)
weight, bias = torch.rand(16, device=device), torch.rand(16, device=device)
module.weight.data.copy_(weight)
module.bias.data.copy_(bias)
mean, var = torch.zeros(16, device=device), torch.ones(16, device=device)
count = torch.tensor(0, device=device)
for _ in range(2):
    x = torch.randn(8, 16, 6, 5, device=device)
    outputs = fd.execute([x, weight, bias, mean, var, count])
    with torch.no_grad():
        expected = module(x)
    assert len(outputs) == 3
    torch.testing.assert_close(outputs[0], expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(outputs[1], x.mean((0, 2, 3)), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(mean, module.running_mean, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(var, module.running_var, rtol=1e-4, atol=1e-5)
    assert count.item() == module.num_batches_tracked.item()
