"""Inputs that are transposed, sliced, expanded, permuted or have gaps: from_pytorch reads sizes and strides."""
import torch
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

base = torch.randn(12, 20, 8, device=device)
matrix = torch.randn(16, 24, device=device)
views = [
    matrix.t(),
    matrix[::2, 3:17],
    matrix[:, ::3],
    matrix[5],
    matrix[:, 7],
    matrix[:, :1].expand(16, 24),
    base.permute(2, 0, 1),
    base.transpose(0, 1)[:, 2:9],
    base[:, 4:5, :],
    torch.randn(2, 3, 4, 5, device=device).to(memory_format=torch.channels_last),
]

for view in views:
    with FusionDefinition() as fd:
        t0 = fd.from_pytorch(view)
        t1 = fd.ops.sin(t0)
        t2 = fd.ops.sum(t1, dims=[-1])
        fd.add_output(t1)
        fd.add_output(t2)
    nvf_out = fd.execute([view])
    torch.testing.assert_close(nvf_out[0], torch.sin(view), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(nvf_out[1], torch.sin(view).sum(-1), rtol=1e-4, atol=1e-4)

with FusionDefinition() as fd:
    t0 = fd.from_pytorch(matrix)
    t1 = fd.from_pytorch(matrix.t())
    fd.add_output(fd.ops.add(t0, fd.ops.permute(t1, [1, 0])))
torch.testing.assert_close(fd.execute([matrix, matrix.t()])[0], matrix * 2)
