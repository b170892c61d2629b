"""A definition of several segments: a set between them cuts, and each part is a kernel."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(16, 96, device=device), torch.randn(96, device=device)]


def nvfuser_fusion_id3(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False)
    T2 = fd.ops.broadcast(T1, is_broadcast_dim=[True, False])
    T3 = fd.ops.sinh(fd.ops.mul(T0, T2))
    T4 = fd.ops.segment_set(T3)
    T5 = fd.ops.sum(T4, dims=[0], keepdim=False, dtype=DataType.Null)
    T6 = fd.ops.segment_set(T5)
    T7 = fd.ops.sub(T4, fd.ops.broadcast(T6, is_broadcast_dim=[True, False]))
    fd.add_output(T7)
    fd.add_output(T6)


with FusionDefinition() as fd:
    nvfuser_fusion_id3(fd)

fd.segment(inputs)
assert len(fd.segments) >= 2
for segment in fd.segments:
    assert len(segment.fusion_ir()) > 0
outputs = fd.execute(inputs)

sinh = torch.sinh(inputs[0] * inputs[1])
torch.testing.assert_close(outputs[0], sinh - sinh.sum(0), rtol=1e-4, atol=1e-4)
torch.testing.assert_close(outputs[1], sinh.sum(0), rtol=1e-4, atol=1e-4)
