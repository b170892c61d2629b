#!/usr/bin/env python3
"""Handwritten digits: a perceptron that learns, with one program for loss, gradients and Adam's step.

    pip install tokamak numpy scikit-learn
    python examples/python/train_digits.py            # by a FusionDefinition
    python examples/python/train_digits.py --torch    # by torch.compile(backend="tokamak"), with torch's Adam

Parameters and Adam's moments are written in place, by add_output(alias_input=...). The data are scikit-learn's: 1797
images of 8 x 8, of which a fifth is kept for the test.
"""
from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tokamak
import tokamak.numpy as tnp
from tokamak import DataType, FusionDefinition, Scalar, Tensor

Layers = list[tuple[np.ndarray, np.ndarray]]  # matrices [out, in] and biases [out]
Arrays = list[np.ndarray]
State = tuple[Tensor, Tensor, Tensor]  # a parameter, and Adam's means of its gradient and of the gradient's square

SIZES = (64, 128, 10)  # of the input, of the hidden layer, and of the output
EPOCHS = 30
BATCH = 64
RATE = 2e-3
BETAS = (0.9, 0.999)
EPS = 1e-8


# --- the step, as a program ---

def cross_entropy(fd: FusionDefinition, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The mean loss of rows [n, classes] with labels i64[n], and its gradient for the rows."""
    count, classes = logits.size(0), SIZES[-1]
    logarithms = fd.ops.log_softmax(logits, 1)
    is_class = fd.ops.eq(fd.ops.broadcast(labels, [False, True]),
                         fd.ops.broadcast(fd.ops.iota(fd.define_scalar(classes), dtype=DataType.Int), [True, False]))
    wanted = fd.ops.cast(is_class, logits.dtype)
    loss = -fd.ops.sum(logarithms * wanted) / count
    return loss, (fd.ops.exp(logarithms) - wanted) / count


def gradients(fd: FusionDefinition, x: Tensor, labels: Tensor, layers: Sequence[tuple[Tensor, Tensor]]
              ) -> tuple[Tensor, list[Tensor]]:
    """The loss, and its gradients for the layers' matrices and biases, in their order."""
    activations = [x]
    for weight, bias in layers[:-1]:
        activations.append(fd.ops.relu(fd.ops.linear(activations[-1], weight, bias)))
    loss, flowing = cross_entropy(fd, fd.ops.linear(activations[-1], *layers[-1]), labels)
    found: list[Tensor] = []
    for (weight, _), taken in zip(reversed(layers), reversed(activations)):
        found = [fd.ops.matmul(fd.ops.permute(flowing, [1, 0]), taken), fd.ops.sum(flowing, [0]), *found]
        if taken is not x:
            flowing = fd.ops.where(taken > 0, fd.ops.matmul(flowing, weight), 0)
    return loss, found


def adam(fd: FusionDefinition, step: Scalar, rate: Scalar, state: State, gradient: Tensor) -> None:
    """Adam's step number `step` (from 1), which writes a parameter and its two moments in place."""
    parameter, mean, square = state
    new_mean = BETAS[0] * mean + (1 - BETAS[0]) * gradient
    new_square = BETAS[1] * square + (1 - BETAS[1]) * gradient * gradient
    is_unbiased = [fd.ops.cast(1 - fd.ops.pow(fd.define_scalar(each, DataType.Double), step), parameter.dtype)
                   for each in BETAS]
    change = new_mean / is_unbiased[0] / (fd.ops.sqrt(new_square / is_unbiased[1]) + EPS)
    fd.add_output(parameter - fd.ops.cast(rate, parameter.dtype) * change, alias_input=parameter)
    fd.add_output(new_mean, alias_input=mean)
    fd.add_output(new_square, alias_input=square)


def step_program(layers: int, dtype: DataType = DataType.Float) -> FusionDefinition:
    """The program of a step. Inputs: images [n, features], labels i64[n], the step's number and the rate (f64 scalars),
    then a parameter and its two moments for each matrix and each bias. Output: the loss."""
    with FusionDefinition() as fd:
        x, labels = fd.define_tensor([-1, -1], True, dtype), fd.define_tensor([-1], True, DataType.Int)
        step, rate = (fd.define_scalar(DataType.Double) for _ in range(2))

        def state_of(ndim: int) -> State:
            parameter, mean, square = (fd.define_tensor([-1] * ndim, True, dtype) for _ in range(3))
            return parameter, mean, square

        states = [state_of(ndim) for _ in range(layers) for ndim in (2, 1)]
        parameters = [each[0] for each in states]
        loss, found = gradients(fd, x, labels, list(zip(parameters[::2], parameters[1::2])))
        fd.add_output(loss)
        for state, gradient in zip(states, found):
            adam(fd, step, rate, state, gradient)
    return fd


@tokamak.fuse
def predicted(x, layers):
    """The classes of images [n, features]."""
    for weight, bias in layers[:-1]:
        x = tnp.relu(tnp.linear(x, weight, bias))
    return tnp.argmax(tnp.linear(x, *layers[-1]), 1)


# --- training ---

def first_layers(seed: int, sizes: Sequence[int] = SIZES, dtype: Any = np.float32) -> Layers:
    """Random matrices, by He's rule, and biases of zeros."""
    random = np.random.default_rng(seed)
    return [((random.standard_normal((n, m)) * (2 / m) ** 0.5).astype(dtype), np.zeros(n, dtype))
            for m, n in itertools.pairwise(sizes)]


def digits() -> tuple[Arrays, Arrays]:
    """Images f32[n, 64] from 0 to 1 and labels i64[n]: those to learn from, and those of the test."""
    from sklearn.datasets import load_digits

    x, labels = load_digits(return_X_y=True)
    x, labels = (x / 16).astype(np.float32), labels.astype(np.int64)
    order = np.random.default_rng(0).permutation(len(x))
    test, train = np.split(order, [len(x) // 5])
    return [x[train], labels[train]], [x[test], labels[test]]


def batches(data: Arrays, epochs: int, size: int = BATCH) -> Iterator[Arrays]:
    """The data in another order in each epoch, so many at a time."""
    random = np.random.default_rng(1)
    for _ in range(epochs):
        order = random.permutation(len(data[0]))
        for start in range(0, len(order), size):
            yield [np.ascontiguousarray(each[order[start:start + size]]) for each in data]


def train(layers: Layers, data: Arrays, epochs: int = EPOCHS) -> list[float]:
    """Changes the layers in place; gives the loss of each step."""
    program = step_program(len(layers), DataType.Float if layers[0][0].dtype == np.float32 else DataType.Double)
    states = [each for layer in layers for value in layer for each in (value, np.zeros_like(value),
                                                                       np.zeros_like(value))]
    losses = []
    for number, (x, labels) in enumerate(batches(data, epochs), 1):
        loss, = program.execute([x, labels, float(number), RATE, *states])
        losses.append(float(loss))
    return losses


def train_in_torch(layers: Layers, data: Arrays, epochs: int = EPOCHS, backend: str = "tokamak") -> list[float]:
    """The same with torch's autograd and Adam. The layers are changed in place: their memory is torch's meanwhile."""
    import torch

    if backend == "tokamak":
        import tokamak.torch  # noqa: F401

    parameters = [tuple(torch.from_numpy(each).requires_grad_() for each in layer) for layer in layers]
    optimiser = torch.optim.Adam([each for pair in parameters for each in pair], RATE, BETAS, EPS)

    @torch.compile(backend=backend, dynamic=True)
    def loss_of(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        for weight, bias in parameters[:-1]:
            x = torch.relu(torch.nn.functional.linear(x, weight, bias))
        return torch.nn.functional.cross_entropy(torch.nn.functional.linear(x, *parameters[-1]), labels)

    losses = []
    for batch in batches(data, epochs):
        optimiser.zero_grad()
        loss = loss_of(*map(torch.from_numpy, batch))
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return losses


def accuracy(layers: Layers, data: Arrays) -> float:
    """The part of the images whose class is found."""
    x, labels = data
    return float(np.mean(predicted(x, layers) == labels))


def main() -> None:
    to_learn, of_test = digits()
    layers = first_layers(seed=0)
    losses = (train_in_torch if "--torch" in sys.argv[1:] else train)(layers, to_learn)
    print(f"{len(losses)} steps: loss from {losses[0]:.3f} to {losses[-1]:.3f}")
    print(f"accuracy in the test: {accuracy(layers, of_test):.1%}")


if __name__ == "__main__":
    main()
