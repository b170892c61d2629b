"""Log-softmax over the last axis of a 3-d tensor, with shapes that are taken from the input."""
import torch
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(4, 16, 96, device=device, dtype=torch.float32)]


def fusion_func(fd: FusionDefinition):
    t0 = fd.from_pytorch(inputs[0])
    shape = fd.ops.shape(t0)
    largest = fd.ops.max(t0, dims=[-1], keepdim=True)
    largest = fd.ops.broadcast_in_dim(largest, shape=shape, broadcast_dims=[0, 1, 2])
    shifted = fd.ops.sub(t0, largest)
    total = fd.ops.sum(fd.ops.exp(shifted), dims=[-1], keepdim=True)
    log_total = fd.ops.broadcast_in_dim(fd.ops.log(total), shape, [0, 1, 2])
    fd.add_output(fd.ops.sub(shifted, log_total))


with FusionDefinition() as fd:
    fusion_func(fd)

nvf_out = fd.execute(inputs)
torch.testing.assert_close(nvf_out[0], torch.log_softmax(inputs[0], dim=-1), rtol=1e-5, atol=1e-5)

other = torch.randn(2, 3, 33, device=device)
torch.testing.assert_close(fd.execute([other])[0], torch.log_softmax(other, dim=-1), rtol=1e-5, atol=1e-5)
