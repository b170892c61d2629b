"""Tokens and positions are looked up, added, normalised, and pooled over the words that are no padding."""
import torch
from tokamak.nvfuser import FusionDefinition, DataType

device = "cuda" if torch.cuda.is_available() else "cpu"

words, places, width, padding = 40, 12, 16, 0
tokens = torch.randint(0, words, (3, places), device=device)
tokens[:, 9:] = padding
inputs = [tokens, torch.randn(words, width, device=device), torch.randn(places, width, device=device)]


def fusion_func(fd: FusionDefinition) -> None:
    t_tokens, t_words, t_places = (fd.from_pytorch(each) for each in inputs)
    looked_up = fd.ops.embedding_fwd(t_tokens, t_words, padding_idx=fd.define_scalar(padding, dtype=DataType.Int))
    order = fd.ops.iota(fd.ops.size(t_tokens, 1), dtype=DataType.Int)
    position = fd.ops.index_select(t_places, order, dim=0)
    t = fd.ops.add(looked_up, position)
    t = fd.ops.mul(t, fd.ops.rsqrt(fd.ops.sum(fd.ops.mul(t, t), dims=[-1], keepdim=True)))
    is_word = fd.ops.ne(t_tokens, fd.define_scalar(padding, dtype=DataType.Int))
    is_word = fd.ops.broadcast(is_word, is_broadcast_dim=[False, False, True])
    kept = fd.ops.where(is_word, t, fd.define_scalar(0.0, dtype=DataType.Double))
    count = fd.ops.sum(fd.ops.cast(is_word, dtype=DataType.Float), dims=[1], keepdim=False)
    fd.add_output(fd.ops.div(fd.ops.sum(kept, dims=[1]), count))


with FusionDefinition() as fd:
    fusion_func(fd)
t = torch.nn.functional.embedding(tokens, inputs[1]) + inputs[2]
t = t / t.norm(dim=-1, keepdim=True)
mask = (tokens != padding).unsqueeze(-1)
torch.testing.assert_close(fd.execute(inputs)[0], (t * mask).sum(1) / mask.sum(1), rtol=1e-5, atol=1e-5)
