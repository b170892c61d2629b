"""Variances with each correction, with and without the mean, with kept axes, and their square root."""
import torch
from tokamak.nvfuser import FusionDefinition

device = "cuda" if torch.cuda.is_available() else "cpu"

num_elements = 64
inputs = [torch.randn(12, num_elements, 3, device=device)]

for dims in ([1], [0, 2], [-1], [0, 1, 2]):
    for correction in (0, 1, 2):
        for keepdim in (False, True):

            def fusion_func(fd: FusionDefinition) -> None:
                t0 = fd.from_pytorch(inputs[0])
                t1 = fd.ops.var(t0, dims, correction, keepdim)
                t2, t3 = fd.ops.var_mean(t0, dims, correction=correction, keepdim=keepdim)
                fd.add_output(t1)
                fd.add_output(t2)
                fd.add_output(t3)
                fd.add_output(fd.ops.sqrt(t1))

            with FusionDefinition() as fd:
                fusion_func(fd)
            nvf_out = fd.execute(inputs)
            var, mean = torch.var_mean(inputs[0], dims, correction=correction, keepdim=keepdim)
            torch.testing.assert_close(nvf_out[0], var, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(nvf_out[1], var, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(nvf_out[2], mean, rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(nvf_out[3], torch.std(inputs[0], dims, correction=correction, keepdim=keepdim))
