"""Group norm of an image: reshape to groups, statistics of each, scale and shift of each channel."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

N, C, H, W, G = 2, 32, 6, 6, 8


class GroupNorm(FusionDefinition):
    def definition(self):
        self.x = self.define_tensor(shape=[N, C, H, W], contiguity=[True, True, True, True], dtype=DataType.Float)
        self.w = self.define_tensor(shape=[C], contiguity=[True], dtype=DataType.Float)
        self.b = self.define_tensor(shape=[C], contiguity=[True], dtype=DataType.Float)
        grouped = self.ops.reshape(self.x, new_shape=[N, G, C // G, H, W])
        var, mean = self.ops.var_mean(grouped, dims=[2, 3, 4], correction=0, keepdim=True)
        eps = self.define_scalar(1e-5, dtype=DataType.Double)
        scale = self.ops.rsqrt(self.ops.add(var, eps))
        normalised = self.ops.mul(self.ops.sub(grouped, mean), scale)
        normalised = self.ops.reshape(normalised, new_shape=[N, C, H, W])
        w = self.ops.broadcast_in_dim(self.w, shape=[N, C, H, W], broadcast_dims=[1])
        b = self.ops.broadcast_in_dim(self.b, shape=[N, C, H, W], broadcast_dims=[1])
        self.add_output(self.ops.add(self.ops.mul(normalised, w), b))


fd = GroupNorm()
inputs = [torch.randn(N, C, H, W, device=device), torch.rand(C, device=device), torch.rand(C, device=device)]
nvf_out = fd.execute(inputs)
eager_out = torch.nn.functional.group_norm(inputs[0], G, inputs[1], inputs[2], eps=1e-5)
torch.testing.assert_close(nvf_out[0], eager_out, rtol=1e-4, atol=1e-4)
