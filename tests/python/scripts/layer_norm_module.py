"""A definition inside a torch module that is made once for each rank and called with several batches."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"


class FusedLayerNorm(torch.nn.LayerNorm):
    def __init__(self, width):
        super().__init__(width, device=device)
        self.fusions = {}

    def define(self, rank):
        with FusionDefinition(max_length=500) as fd:
            x = fd.define_tensor([-1] * rank, contiguity=True, dtype=DataType.Float)
            w = fd.define_tensor([-1], contiguity=True, dtype=DataType.Float)
            b = fd.define_tensor([-1], contiguity=True, dtype=DataType.Float)
            var, mean = fd.ops.var_mean(x, [rank - 1], correction=0, keepdim=True)
            scale = fd.ops.rsqrt(var + fd.define_scalar(self.eps))
            normalised = (x - mean) * scale
            shape = fd.ops.shape(x)
            w = fd.ops.broadcast_in_dim(w, shape, [rank - 1])
            b = fd.ops.broadcast_in_dim(b, shape, [rank - 1])
            fd.add_output(normalised * w + b)
        return fd

    def forward(self, x):
        if x.ndim not in self.fusions:
            self.fusions[x.ndim] = self.define(x.ndim)
        return self.fusions[x.ndim].execute([x, self.weight.detach(), self.bias.detach()])[0]


fused = FusedLayerNorm(96)
for shape in ((3, 96), (2, 7, 96), (5, 96), (1, 1, 96), (2, 3, 4, 96)):
    x = torch.randn(shape, device=device)
    expected = torch.nn.functional.layer_norm(x, [96], fused.weight, fused.bias)
    torch.testing.assert_close(fused(x), expected.detach(), rtol=1e-4, atol=1e-4)
