"""Batch norm by its own operation, in training with running statistics, and in evaluation."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

momentum, eps = 0.2, 1e-4
inputs = [
    torch.randn(4, 8, 5, 5, device=device),
    torch.rand(8, device=device),
    torch.rand(8, device=device),
    torch.zeros(8, device=device),
    torch.ones(8, device=device),
    momentum,
    eps,
]


def batch_norm_fusion(fd: FusionDefinition, training: bool) -> None:
    a = fd.from_pytorch(inputs[0])
    w = fd.from_pytorch(inputs[1])
    b = fd.from_pytorch(inputs[2])
    running_mean = fd.from_pytorch(inputs[3])
    running_var = fd.from_pytorch(inputs[4])
    s_momentum = fd.define_scalar(dtype=DataType.Double)
    s_eps = fd.define_scalar(dtype=DataType.Double)
    a_norm, new_mean, new_invstd = fd.ops.batch_norm(
        a, w, b, running_mean, running_var, s_momentum, s_eps, training, channels_last=False
    )
    fd.add_output(a_norm)


for training in (True, False):
    with FusionDefinition() as fd:
        batch_norm_fusion(fd, training)
    torch_mean, torch_var = inputs[3].clone(), inputs[4].clone()
    expected = torch.nn.functional.batch_norm(inputs[0], torch_mean, torch_var, inputs[1], inputs[2], training,
                                              momentum, eps)
    nvf_out = fd.execute(inputs)
    torch.testing.assert_close(nvf_out[0], expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(inputs[3], torch_mean, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(inputs[4], torch_var, rtol=1e-4, atol=1e-5)
