"""Fused functions over arrays of torch and JAX: results are what these libraries give, in type and value."""
import itertools
import operator
import subprocess
import sys

import numpy as np
import pytest

import tokamak
import tokamak.numpy as tnp
from tokamak import fuse

torch = pytest.importorskip("torch")

TYPES = ["bool", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
OPERATORS = [operator.add, operator.mul, operator.truediv, operator.lt]
VALUES = np.array([[1, 2, 3], [4, 0, 2]])


def tensor(dtype):
    return torch.tensor(VALUES).to(getattr(torch, dtype))


def operators(x, y):
    return tuple(function(x, y) for function in OPERATORS)


def close(got, wanted):
    if isinstance(wanted, tuple):
        for pair in zip(got, wanted, strict=True):
            close(*pair)
        return
    assert type(got) is type(wanted) and got.dtype == wanted.dtype and got.shape == wanted.shape
    got, wanted = (np.asarray(each.to(torch.float64) if isinstance(each, torch.Tensor) else each.astype("float64"))
                   for each in (got, wanted))
    np.testing.assert_allclose(got, wanted, rtol=1e-2 if wanted.size else 0, atol=0)


@pytest.mark.parametrize("first, second", itertools.product(TYPES, TYPES))
def test_torch_tensors_meet_as_torch_says(first, second):
    x, y = tensor(first), tensor(second) + (2 if second != "bool" else False)
    close(fuse(operators)(x, y), operators(x, y))
    close(fuse(operators)(x, y[0, 0]), operators(x, y[0, 0]))  # which has no axes


@pytest.mark.parametrize("dtype", TYPES)
def test_torch_tensors_meet_numbers(dtype):
    x = tensor(dtype)
    for number in (True, 3, 0.5):
        close(fuse(operators, static_argnames="y")(x, number), operators(x, number))
        if type(number) is not bool:
            close(fuse(operators)(x, number), operators(x, number))
    for name in ("sum", "prod") + (("amax",) if dtype != "bool" else ()):
        close(fuse(lambda x: getattr(tnp, name)(x, 1))(x), getattr(torch, name)(x, 1))
    close(fuse(lambda x: tnp.sqrt(x))(x), torch.sqrt(x))
    close(fuse(lambda x: tnp.argmax(x, 1))(x), torch.argmax(x.to(torch.float64), 1))


def test_a_function_of_torch_modules_parameters():
    linear = torch.nn.Linear(6, 3)
    x = torch.randn(4, 6)

    @fuse
    def layer(x):
        return tnp.tanh(x @ linear.weight.T + linear.bias)

    torch.testing.assert_close(layer(x), torch.tanh(linear(x)).detach())
    with torch.no_grad():
        linear.weight.mul_(2)
    torch.testing.assert_close(layer(x), torch.tanh(linear(x)).detach())


def test_layouts_of_torch_tensors():
    fused = fuse(lambda x: x * 2 + 1)
    x = torch.randn(2, 3, 4, 5)
    for each in (x, x.to(memory_format=torch.channels_last), x[:, ::2], x.permute(3, 1, 0, 2), x.expand(2, 3, 4, 5)):
        torch.testing.assert_close(fused(each), each * 2 + 1)
    got = fused(x.to(memory_format=torch.channels_last))
    assert got.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("is_wide", [False, True])
def test_jax_arrays_meet_as_jax_says(is_wide):
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", is_wide)
    try:
        compare_with_jax(jax)
    finally:
        jax.config.update("jax_enable_x64", before)


def compare_with_jax(jax):
    x = jax.numpy.arange(6, dtype="float32").reshape(2, 3)
    for dtype in ("bool", "int32", "float16", "bfloat16", "float32"):
        y = (jax.numpy.arange(6) % 3 + 1).reshape(2, 3).astype(dtype)
        close(fuse(operators)(x, y), operators(x, y))
        for number in (2, 2.5):
            close(fuse(operators)(y, number), operators(y, number))
        for name in ("sum", "argmax"):
            close(fuse(lambda y: getattr(tnp, name)(y, axis=1))(y), getattr(jax.numpy, name)(y, axis=1))
        close(fuse(lambda y: tnp.sqrt(y))(y), jax.numpy.sqrt(y))
    close(fuse(lambda x: tnp.arange(x.shape[0]))(x), jax.numpy.arange(2))


@pytest.mark.parametrize("function, name", [
    (torch.sin, "sin"), (lambda x: torch.cat([x, x]), "concat"), (lambda x: torch.mul(x, 2), "multiply"),
    (torch.special.erf, "erf"), (lambda x: torch.softmax(x, 0), "softmax"), (torch.abs, "abs"),
    (lambda x: torch.nn.functional.relu(x), "relu"), (lambda x: torch.clamp(x, 0, 1), "clip"),
    (lambda x: torch.ones(2).add(x), "add")])
def test_functions_of_torch_are_refused_by_name(function, name):
    with pytest.raises(TypeError, match=f"torch's .* takes tensors, .*; tokamak.numpy.{name} is legal"):
        fuse(function)(torch.ones(2))


@pytest.mark.parametrize("function", [torch.std, lambda x: torch.split(x, 1), lambda x: torch.transpose(x, 0, 0),
                                      lambda x: torch.linalg.norm(x), lambda x: torch.sort(x),
                                      lambda x: torch.ones(2)[x]])
def test_functions_of_torch_that_mean_something_else_are_refused(function):
    with pytest.raises(TypeError, match="torch's .* takes tensors, .*; the functions of tokamak.numpy are legal"):
        fuse(function)(torch.ones(2))


@pytest.mark.parametrize("name", "add sub mul truediv floordiv mod pow matmul eq ne lt le gt ge".split())
def test_operators_take_tensors_that_a_function_knows(name):
    known, function = torch.tensor([[1.5, 2.0], [3.0, 7.0]]), getattr(operator, name)
    x = torch.tensor([[2.0, 2.0], [1.0, 3.0]])
    torch.testing.assert_close(fuse(lambda x: function(known, x))(x), function(known, x))
    torch.testing.assert_close(fuse(lambda x: function(x, known))(x), function(x, known))


def test_deleted_arrays_of_jax_are_told():
    jnp = pytest.importorskip("jax.numpy")
    gone = jnp.ones(3)
    gone.delete()
    with pytest.raises(tokamak.BindError, match="input 0 is an array that was deleted, or donated to a function of "
                                                "JAX"):
        fuse(lambda x: x * 2)(gone)


SEVERAL_DEVICES = """
import jax, tokamak, numpy as np
jax.config.update("jax_num_cpu_devices", 3)
first, second, third = jax.devices()
x = jax.device_put(jax.numpy.arange(3.0), third)
twice = tokamak.fuse(lambda x: x * 2)
assert twice(x).device == third and twice(x).tolist() == [0, 2, 4]
assert twice(jax.device_put(x, first)).device == first
both = tokamak.fuse(lambda x, y: x + y)
assert both(x, np.ones(3, np.float32)).device == third
try:
    both(x, jax.device_put(x, second))
except tokamak.BindError as error:
    print(error)
"""


def test_jax_arrays_stay_on_their_device_of_several():
    pytest.importorskip("jax")
    done = subprocess.run([sys.executable, "-c", SEVERAL_DEVICES], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Inputs are not all on the same device! Input 1 is on cpu:1, input 0 on cpu:2" in done.stdout


def test_transformed_arrays_are_refused_by_name():
    doubled, x = fuse(lambda x: x * 2), torch.ones(3, 4)
    doubled(x[0])  # a program is there
    for transformed in (torch.vmap(doubled), torch.func.grad(lambda x: doubled(x).sum())):
        with pytest.raises(TypeError, match=r"input 0 is a tensor that torch.vmap .* tokamak.torch.op\(program\)"):
            transformed(x)
    jax = pytest.importorskip("jax")
    for transform in (jax.jit, jax.vmap, lambda function: jax.grad(lambda x: function(x).sum())):
        for function in (doubled, lambda x: doubled.definition_for(np.ones(3, "float32")).execute([x])[0]):
            with pytest.raises(TypeError, match=r"input 0 is a tracer of JAX.*tokamak.jax.call\(program\)"):
                transform(function)(jax.numpy.ones(3))
