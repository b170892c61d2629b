"""Scaled dot product attention, forward and backward, from its own ops."""
import torch
import torch.nn.functional as F
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

N, H, L, S, E = 2, 4, 16, 24, 8
q = torch.randn(N, H, L, E, device=device, requires_grad=True)
k, v = (torch.randn(N, H, S, E, device=device, requires_grad=True) for _ in range(2))
grad = torch.randn(N, H, L, E, device=device)


def forward(fd: FusionDefinition, is_causal: bool) -> None:
    tensors = [fd.define_tensor(shape=[-1] * 4, contiguity=True, dtype=DataType.Float) for _ in range(3)]
    dropout_p = fd.define_scalar(0.0, dtype=DataType.Double)
    causal = fd.define_scalar(is_causal, dtype=DataType.Bool)
    for each in fd.ops.sdpfa_fwd(*tensors, dropout_p, causal, None):
        fd.add_output(each)


def backward(fd: FusionDefinition, is_causal: bool) -> None:
    tensors = [fd.define_tensor(shape=[-1] * 4, contiguity=True, dtype=DataType.Float) for _ in range(5)]
    logsumexp = fd.define_tensor(shape=[-1] * 3, contiguity=True, dtype=DataType.Float)
    seed, offset = (fd.define_tensor(shape=[], contiguity=[], dtype=DataType.Int, is_cpu=True) for _ in range(2))
    dropout_p = fd.define_scalar(0.0, dtype=DataType.Double)
    causal = fd.define_scalar(is_causal, dtype=DataType.Bool)
    for each in fd.ops.sdpfa_bwd(*tensors, logsumexp, dropout_p, causal, seed, offset, None):
        fd.add_output(each)


for is_causal in (False, True):
    with FusionDefinition() as fd_fwd:
        forward(fd_fwd, is_causal)
    with FusionDefinition() as fd_bwd:
        backward(fd_bwd, is_causal)
    out, logsumexp, seed, offset = fd_fwd.execute([q, k, v])
    wanted = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    torch.testing.assert_close(out, wanted.detach(), rtol=1e-4, atol=1e-5)
    assert logsumexp.shape == (N, H, L)
    wanted_grads = torch.autograd.grad(wanted, [q, k, v], grad)
    grads = fd_bwd.execute([grad, q, k, v, out, logsumexp, seed, offset])
    for ours, reference in zip(grads, wanted_grads):
        torch.testing.assert_close(ours, reference, rtol=1e-4, atol=1e-4)
