"""Sizes that are known when defining: written as numbers, or taken from a tensor with static_sizes."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [
    torch.testing.make_tensor((8, 24), dtype=torch.float32, device=device),
    torch.testing.make_tensor((24,), dtype=torch.float32, device=device),
    torch.testing.make_tensor((8, 1), dtype=torch.float32, device=device),
]


def nvfuser_fusion_id6(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[8, 24], contiguity=[True, True], dtype=DataType.Float, is_cpu=False,
                          stride_order=[1, 0])
    T1 = fd.from_pytorch(inputs[1], static_sizes=True)
    T2 = fd.define_tensor(shape=[8, 1], contiguity=[True, None], dtype=DataType.Float, is_cpu=False,
                          stride_order=[1, 0])
    T3 = fd.ops.broadcast_in_dim(T1, shape=[8, 24], broadcast_dims=[1])
    T4 = fd.ops.broadcast_in_dim(T2, shape=[8, 24], broadcast_dims=[0, 1])
    T5 = fd.ops.mul(T0, T3)
    T6 = fd.ops.add(T5, T4)
    T7 = fd.ops.reshape(T6, new_shape=[4, 2, 24])
    T8 = fd.ops.sum(T7, dims=[1], keepdim=False, dtype=DataType.Null)
    fd.add_output(T6)
    fd.add_output(T8)

with FusionDefinition() as fd:
    nvfuser_fusion_id6(fd)

outputs = fd.execute(inputs)
expected = inputs[0] * inputs[1] + inputs[2]
torch.testing.assert_close(outputs[0], expected)
torch.testing.assert_close(outputs[1], expected.reshape(4, 2, 24).sum(1), rtol=1e-5, atol=1e-5)
