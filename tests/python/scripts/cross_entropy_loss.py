"""Mean cross entropy of logits and labels, where a label of -100 counts for nothing."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


def nvfuser_fusion_id7(fd : FusionDefinition) -> None :
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False,
                          stride_order=[1, 0])
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int, is_cpu=False, stride_order=[0])
    T2 = fd.ops.cast(T0, dtype=DataType.Float)
    T3 = fd.ops.max(T2, dims=[1], keepdim=True, dtype=DataType.Null)
    V4 = fd.ops.shape(T0)
    T5 = fd.ops.broadcast_in_dim(T3, shape=V4, broadcast_dims=[0, 1])
    T6 = fd.ops.sub(T2, T5)
    T7 = fd.ops.exp(T6)
    T8 = fd.ops.sum(T7, dims=[1], keepdim=True, dtype=DataType.Null)
    T9 = fd.ops.log(T8)
    T10 = fd.ops.broadcast_in_dim(T9, shape=V4, broadcast_dims=[0, 1])
    T11 = fd.ops.sub(T6, T10)
    T12 = fd.ops.neg(T11)
    T13 = fd.ops.broadcast(T1, is_broadcast_dim=[False, True])
    S14 = fd.define_scalar(-100, dtype=DataType.Int)
    T15 = fd.ops.ne(T13, S14)
    S16 = fd.define_scalar(0, dtype=DataType.Int)
    T17 = fd.ops.where(T15, T13, S16)
    T18 = fd.ops.take_along_axis(T12, T17, dim=1)
    S19 = fd.define_scalar(0.00000, dtype=DataType.Double)
    T20 = fd.ops.where(T15, T18, S19)
    T21 = fd.ops.cast(T15, dtype=DataType.Float)
    T22 = fd.ops.sum(T21, dims=[0, 1], keepdim=False, dtype=DataType.Null)
    T23 = fd.ops.sum(T20, dims=[0, 1], keepdim=False, dtype=DataType.Null)
    T24 = fd.ops.div(T23, T22)
    fd.add_output(T24)
    fd.add_output(T11)

with FusionDefinition() as fd:
    nvfuser_fusion_id7(fd)

logits = torch.randn(48, 320, device=device).to(torch.bfloat16)
labels = torch.randint(0, 320, (48,), device=device)
labels[::7] = -100
outputs = fd.execute([logits, labels])
assert outputs[0].shape == ()
torch.testing.assert_close(outputs[0], torch.nn.functional.cross_entropy(logits.float(), labels), rtol=1e-4, atol=1e-4)
torch.testing.assert_close(outputs[1], torch.log_softmax(logits.float(), 1), rtol=1e-4, atol=1e-4)
