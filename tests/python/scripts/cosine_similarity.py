"""Cosine similarity of two sets of vectors, with a smallest length that norms are raised to."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

inputs = [torch.randn(32, 100, device=device), torch.randn(32, 100, device=device)]


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    dot = fd.ops.sum(t0 * t1, dims=[1], keepdim=True)
    norm0 = fd.ops.sqrt(fd.ops.sum(t0 * t0, dims=[1], keepdim=True))
    norm1 = fd.ops.sqrt(fd.ops.sum(t1 * t1, dims=[1], keepdim=True))
    s_eps = fd.define_scalar(1e-8, dtype=DataType.Double)
    norm0 = fd.ops.where(norm0 < s_eps, s_eps, norm0)
    norm1 = fd.ops.where(norm1 < s_eps, s_eps, norm1)
    t2 = dot / (norm0 * norm1)
    fd.add_output(fd.ops.squeeze(t2, dims=[1]))


with FusionDefinition() as fd:
    fusion_func(fd)
nvf_out = fd.execute(inputs)
torch.testing.assert_close(nvf_out[0], torch.cosine_similarity(*inputs, dim=1), rtol=1e-5, atol=1e-5)

inputs[0][3] = 0
torch.testing.assert_close(fd.execute(inputs)[0], torch.cosine_similarity(*inputs, dim=1), rtol=1e-5, atol=1e-5)
