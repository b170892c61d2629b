"""Every op of fd.ops against NumPy or SciPy in float64."""
import inspect

import numpy as np
import pytest
from scipy import special

import tokamak
from tokamak import DataType, FusionDefinition
from tokamak._missing_ops import MISSING_OPS
from tokamak._ops import ROWS, signature_of

from shared import made_again

F, I, B = DataType.Float, DataType.Int, DataType.Bool
KINDS = {np.dtype(np.float32): F, np.dtype(np.float64): DataType.Double, np.dtype(np.int64): I, np.dtype(np.bool_): B,
         np.dtype(np.int32): DataType.Int32}
random = np.random.default_rng(7)


def real(*sizes, low=-3.0, high=3.0):
    return random.uniform(low, high, sizes).astype(np.float32)


def whole(*sizes, low=-9, high=10):
    return random.integers(low, high, sizes)


def truth(*sizes):
    return random.random(sizes) < 0.5


def first(results):
    return results[0] if isinstance(results, tuple) else results


def computed(call, *arrays):
    """The results of an op of inputs like these arrays."""
    with FusionDefinition() as fd:
        results = call(fd, *[fd.define_tensor([-1] * each.ndim, dtype=KINDS[each.dtype]) for each in arrays])
        for each in results if isinstance(results, tuple) else (results,):
            fd.add_output(each)
    assert made_again(fd).fusion_ir() == fd.fusion_ir()
    return fd.execute(list(arrays))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normalised(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def gelu(x):
    return x * special.ndtr(x)


def slope(function, x, grad, step=1e-6):
    """grad times the derivative of an elementwise function."""
    return grad * (function(x + step) - function(x - step)) / (2 * step)


# Name: (inputs, reference), called as fd.ops.<name>(*inputs).
POSITIVE, UNIT = real(40, low=0.1, high=5), real(40, low=-0.95, high=0.95)
ANY = real(40)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.0, 3e38], np.float32)
ELEMENTWISE = {
    "abs": ([ANY], np.abs), "acos": ([UNIT], np.arccos), "acosh": ([POSITIVE + 1], np.arccosh),
    "asin": ([UNIT], np.arcsin), "asinh": ([ANY], np.arcsinh), "atan": ([ANY], np.arctan), "atanh": ([UNIT], np.arctanh),
    "bitwise_not": ([whole(40)], np.invert), "ceil": ([ANY], np.ceil), "cos": ([ANY], np.cos), "cosh": ([ANY], np.cosh),
    "erf": ([ANY], special.erf), "erfc": ([ANY], special.erfc), "erfcinv": ([UNIT + 1], special.erfcinv),
    "erfinv": ([UNIT], special.erfinv), "exp": ([ANY], np.exp), "exp2": ([ANY], np.exp2), "expm1": ([ANY], np.expm1),
    "floor": ([ANY], np.floor), "frac": ([ANY], lambda x: x - np.trunc(x)), "gelu": ([ANY], gelu),
    "gelu_tanh": ([ANY], lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))),
    "isfinite": ([SPECIAL], np.isfinite), "isinf": ([SPECIAL], np.isinf), "isnan": ([SPECIAL], np.isnan),
    "isneginf": ([SPECIAL], np.isneginf), "isposinf": ([SPECIAL], np.isposinf), "isreal": ([SPECIAL], np.isreal),
    "leaky_relu": ([ANY], lambda x: np.where(x < 0, 0.01 * x, x)), "lgamma": ([POSITIVE], special.gammaln),
    "log": ([POSITIVE], np.log), "log10": ([POSITIVE], np.log10), "log1p": ([POSITIVE], np.log1p),
    "log2": ([POSITIVE], np.log2), "logical_not": ([truth(40)], np.logical_not), "neg": ([ANY], np.negative),
    "reciprocal": ([POSITIVE], np.reciprocal), "relu": ([ANY], lambda x: np.maximum(x, 0)), "round": ([ANY], np.round),
    "rsqrt": ([POSITIVE], lambda x: 1 / np.sqrt(x)), "segment_set": ([ANY], np.array), "set": ([ANY], np.array),
    "sigmoid": ([ANY], special.expit), "sign": ([ANY], np.sign), "signbit": ([SPECIAL], np.signbit),
    "silu": ([ANY], lambda x: x * special.expit(x)), "sin": ([ANY], np.sin), "sinh": ([ANY], np.sinh),
    "softplus": ([ANY], lambda x: np.logaddexp(x, 0)), "sqrt": ([POSITIVE], np.sqrt), "tan": ([UNIT], np.tan),
    "tanh": ([ANY], np.tanh), "trunc": ([ANY], np.trunc),
    "add": ([real(40), real(40)], np.add), "atan2": ([real(40), real(40)], np.arctan2),
    "bitwise_and": ([whole(40), whole(40)], np.bitwise_and), "bitwise_or": ([whole(40), whole(40)], np.bitwise_or),
    "bitwise_xor": ([whole(40), whole(40)], np.bitwise_xor),
    "bitwise_left_shift": ([whole(40), whole(40, low=0)], np.left_shift),
    "bitwise_right_shift": ([whole(40), whole(40, low=0)], np.right_shift),
    "logical_right_shift": ([whole(40), whole(40, low=0)], lambda x, y: (x.view(np.uint64) >> y.view(np.uint64)).view(np.int64)),
    "div": ([whole(40), whole(40, low=1)], lambda x, y: np.trunc(x / y)), "eq": ([whole(40), whole(40)], np.equal),
    "fmax": ([SPECIAL, SPECIAL[::-1].copy()], np.fmax), "fmin": ([SPECIAL, SPECIAL[::-1].copy()], np.fmin),
    "fmod": ([real(40), POSITIVE], np.fmod), "gcd": ([whole(40), whole(40)], np.gcd), "ge": ([whole(40), whole(40)], np.greater_equal),
    "gt": ([whole(40), whole(40)], np.greater), "le": ([whole(40), whole(40)], np.less_equal), "lt": ([whole(40), whole(40)], np.less),
    "logical_and": ([truth(40), truth(40)], np.logical_and), "logical_or": ([truth(40), truth(40)], np.logical_or),
    "maximum": ([SPECIAL, SPECIAL[::-1].copy()], np.maximum), "minimum": ([SPECIAL, SPECIAL[::-1].copy()], np.minimum),
    "mod": ([whole(40), whole(40, low=1)], np.fmod), "mul": ([real(40), real(40)], np.multiply),
    "ne": ([whole(40), whole(40)], np.not_equal), "pow": ([POSITIVE, real(40)], np.power),
    "remainder": ([real(40), POSITIVE], np.remainder), "sub": ([real(40), real(40)], np.subtract),
    "truediv": ([real(40), POSITIVE], np.divide),
    "addcmul": ([real(40), real(40), real(40), real(40)], lambda x, y, z, w: x + w * y * z),
    "add_alpha": ([real(40), real(40), real(40)], lambda x, y, z: x + y * z),
    "sub_alpha": ([real(40), real(40), real(40)], lambda x, y, z: x - y * z),
    "clamp": ([ANY, real(40, low=-2, high=0), real(40, low=0, high=2)], np.clip),
    "lerp": ([real(40), real(40), real(40)], lambda x, y, z: x + z * (y - x)),
    "threshold": ([ANY, real(40), real(40)], lambda x, y, z: np.where(x <= y, z, x)),
    "where": ([truth(40), real(40), real(40)], np.where),
}
M, N = real(6, 8), real(8, 5)
COMPOSITE = {
    "matmul": ([M, N], np.matmul), "linear": ([M, real(5, 8), real(5)], lambda x, w, b: x @ w.T + b),
    "gelu_backward": ([ANY, real(40)], lambda grad, x: slope(gelu, x, grad)),
    "gelu_tanh_backward": ([ANY, real(40)], lambda grad, x: slope(ELEMENTWISE["gelu_tanh"][1], x, grad)),
    "silu_backward": ([ANY, real(40)], lambda grad, x: slope(ELEMENTWISE["silu"][1], x, grad)),
    "softmax_backward": ([M, real(6, 8)], lambda grad, out: out * (grad - (grad * out).sum(-1, keepdims=True))),
    "log_softmax_backward": ([M, real(6, 8)], lambda grad, out: grad - np.exp(out) * grad.sum(-1, keepdims=True)),
    "rope": ([real(2, 6, 8), M, real(6, 8)],
             lambda x, cos, sin: x * cos + np.concatenate([-x[..., 4:], x[..., :4]], -1) * sin),
    "rope_backward": ([real(2, 6, 8), M, N.reshape(8, 5)[:6, :1] * np.ones((6, 8), np.float32)],
                      lambda grad, cos, sin: grad * cos + np.concatenate([(grad * sin)[..., 4:], -(grad * sin)[..., :4]], -1)),
}
INDEX = whole(3, low=0, high=6)
X = real(6, 8)
# Name: (what is called, inputs, reference).
CALLS = {
    "batch_norm": (lambda fd, x: fd.ops.batch_norm(x)[0], [real(4, 3, 5)], lambda x: normalised(x, (0, 2))),
    "batch_norm_inference": (lambda fd, x, m, v: fd.ops.batch_norm_inference(x, m, v), [real(4, 3, 5), real(3), real(3, low=1)],
                             lambda x, m, v: (x - m[:, None]) / np.sqrt(v[:, None] + 1e-5)),
    "batch_norm_backward": (lambda fd, g, x, m, r: fd.ops.batch_norm_backward(g, x, m, r),
                            [real(4, 3, 5), real(4, 3, 5), real(3), real(3, low=1)],
                            lambda g, x, m, r: (lambda c, i: i * (g - g.mean((0, 2), keepdims=True) - c * i * (g * c * i).mean(
                                (0, 2), keepdims=True)))(x - m[:, None], r[:, None])),
    "broadcast": (lambda fd, x: fd.ops.broadcast(x, [False, True, False]), [X], lambda x: x[:, None]),
    "broadcast_in_dim": (lambda fd, x: fd.ops.broadcast_in_dim(x, [3, 6, 8], [1, 2]), [X],
                         lambda x: np.broadcast_to(x, (3, 6, 8))),
    "cast": (lambda fd, x: fd.ops.cast(x, I), [X], lambda x: np.trunc(x)),
    "cat": (lambda fd, x, y: fd.ops.cat([x, y], 1), [X, real(6, 3)], lambda x, y: np.concatenate([x, y], 1)),
    "cross_entropy": (lambda fd, x, t: first(fd.ops.cross_entropy(x, t)), [X, whole(6, low=0, high=8)],
                      lambda x, t: -np.log(softmax(x))[np.arange(6), t].mean()),
    "embedding": (lambda fd, w, i: fd.ops.embedding(w, i), [X, INDEX], lambda w, i: w[i]),
    "expand": (lambda fd, x: fd.ops.expand(fd.ops.unsqueeze(x, 0), [4, 6, 8]), [X], lambda x: np.broadcast_to(x, (4, 6, 8))),
    "flip": (lambda fd, x: fd.ops.flip(x, [0, 1]), [X], lambda x: x[::-1, ::-1]),
    "full": (lambda fd: fd.ops.full([3, 4], 2.5, F), [], lambda: np.full((3, 4), 2.5)),
    "gather": (lambda fd, x, i: fd.ops.gather(x, i, 1), [X, whole(6, 2, low=0, high=8)],
               lambda x, i: np.take_along_axis(x, i, 1)),
    "group_norm": (lambda fd, x: fd.ops.group_norm(x, 2), [real(3, 4, 5)],
                   lambda x: normalised(x.reshape(3, 2, 10), 2).reshape(3, 4, 5)),
    "index_select": (lambda fd, x, i: fd.ops.index_select(x, i, 0), [X, INDEX], lambda x, i: x[i]),
    "iota": (lambda fd: fd.ops.iota(5, 3, 2), [], lambda: np.arange(3, 13, 2)),
    "layer_norm": (lambda fd, x, w, b: first(fd.ops.layer_norm(x, w, b)), [X, real(8), real(8)], lambda x, w, b: normalised(x, -1) * w + b),
    "log_softmax": (lambda fd, x: fd.ops.log_softmax(x), [X], lambda x: np.log(softmax(x))),
    "log_sum_exp": (lambda fd, x: fd.ops.log_sum_exp(x), [X], lambda x: special.logsumexp(x, -1)),
    "max": (lambda fd, x: fd.ops.max(x, [1]), [X], lambda x: x.max(1)),
    "mean": (lambda fd, x: fd.ops.mean(x, [0], keepdim=True), [X], lambda x: x.mean(0, keepdims=True)),
    "min": (lambda fd, x: fd.ops.min(x, 0), [X], lambda x: x.min(0)),
    "nextafter": (lambda fd, x, y: fd.ops.nextafter(x, y), [ANY, real(40)],
                  lambda x, y: np.nextafter(x.astype(np.float32), y.astype(np.float32))),
    "ones": (lambda fd: fd.ops.ones([3, 2]), [], lambda: np.ones((3, 2))),
    "permute": (lambda fd, x: fd.ops.permute(x, [1, 0]), [X], lambda x: x.T),
    "prod": (lambda fd, x: fd.ops.prod(x, [1]), [X], lambda x: x.prod(1)),
    "reshape": (lambda fd, x: fd.ops.reshape(x, [4, 12]), [X], lambda x: x.reshape(4, 12)),
    "rms_norm": (lambda fd, x, w: first(fd.ops.rms_norm(x, w)),
                 [X, real(8)], lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w),
    "select": (lambda fd, x: fd.ops.select(x, 2, 0), [X], lambda x: x[2]),
    "slice": (lambda fd, x: fd.ops.slice(x, [1, 0], [6, 8], [2, 3]), [X], lambda x: x[1:6:2, 0:8:3]),
    "softmax": (lambda fd, x: fd.ops.softmax(x, 0), [X], lambda x: softmax(x, 0)),
    "squeeze": (lambda fd, x: fd.ops.squeeze(fd.ops.unsqueeze(x, 1), [1]), [X], np.array),
    "sum": (lambda fd, x: fd.ops.sum(x, [0, -1], keepdim=True, dtype=DataType.Double), [X],
            lambda x: x.sum((0, 1), keepdims=True)),
    "take_along_axis": (lambda fd, x, i: fd.ops.take_along_axis(x, i, 1), [X, whole(6, 2, low=0, high=8)],
                        lambda x, i: np.take_along_axis(x, i, 1)),
    "transpose": (lambda fd, x: fd.ops.transpose(x, 0, 1), [X], lambda x: x.T),
    "unsqueeze": (lambda fd, x: fd.ops.unsqueeze(x, 1), [X], lambda x: x[:, None]),
    "var": (lambda fd, x: fd.ops.var(x, [1], 1), [X], lambda x: x.var(1, ddof=1)),
    "var_mean": (lambda fd, x: fd.ops.var_mean(x, [1], keepdim=True), [X],
                 lambda x: (x.var(1, ddof=1, keepdims=True), x.mean(1, keepdims=True))),
    "welford": (lambda fd, x: fd.ops.welford(x, [1])[:2], [X], lambda x: (x.mean(1), ((x - x.mean(1, keepdims=True)) ** 2).sum(1))),
    "cast": (lambda fd, x: fd.ops.cast(x, DataType.Double), [X], lambda x: x),
    "clamp_of_numbers": (lambda fd, x: (fd.ops.clamp(x, -0.5, 0.5), fd.ops.clamp(x, min=0.25), fd.ops.clamp(x, max=0.25)), [X],
              lambda x: (x.clip(-0.5, 0.5), x.clip(0.25), x.clip(max=0.25))),
    "real": (lambda fd, x: fd.ops.real(x), [X], lambda x: x),
    "triu": (lambda fd, x: (fd.ops.triu(x), fd.ops.triu(x, 2), fd.ops.triu(x, -1)), [real(2, 4, 5)],
             lambda x: (np.triu(x), np.triu(x, 2), np.triu(x, -1))),
    "zeros": (lambda fd: fd.ops.zeros([3, 2]), [], lambda: np.zeros((3, 2))),
    "pad": (lambda fd, x: fd.ops.pad(x, [1, 2, 0, 3], -1.0), [X],
            lambda x: np.pad(x, [(0, 3), (1, 2)], constant_values=-1)),
    "embedding_fwd": (lambda fd, i, w: fd.ops.embedding_fwd(i, w), [INDEX, X], lambda i, w: w[i]),
    "attention": (lambda fd, q, k, v: first(fd.ops.attention(q, k, v)),
                  [real(1, 2, 4, 8), real(1, 2, 6, 8), real(1, 2, 6, 8)],
                  lambda q, k, v: softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(8)) @ v),
    "dropout_backward": (lambda fd, g, m: fd.ops.dropout_backward(g, m, 0.25), [ANY, truth(40)], lambda g, m: g * m / 0.75),
}
for name, (arrays, reference) in (ELEMENTWISE | COMPOSITE).items():
    CALLS[name] = (lambda fd, *xs, name=name: getattr(fd.ops, name)(*xs), arrays, reference)

OPS = {name for name, value in vars(type(FusionDefinition().ops)).items() if name[0] != "_" and callable(value)}
# What random numbers are is the tests' of the library; gradients of these are composites of what stands above.
ELSEWHERE = {"rand", "random_bits", "dropout", "cross_entropy_backward", "layer_norm_backward",
             "rms_norm_backward"}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_gives_what_numpy_gives(name):
    call, arrays, reference = CALLS[name]
    results = computed(call, *arrays)
    wanted = reference(*[each.astype(np.float64) if each.dtype == np.float32 else each for each in arrays])
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    assert len(results) == len(wanted)
    for result, expected in zip(results, wanted):
        assert result.shape == np.shape(expected)
        np.testing.assert_allclose(result, expected, rtol=3e-5, atol=3e-5)


def test_every_op_whose_signature_is_written_here_has_a_case():
    """One that the library's table alone names is called as the library says, and compared by tests/numerics."""
    assert ELSEWHERE <= set(ROWS) and not ELSEWHERE & set(CALLS)
    assert {name for name in ROWS if not ROWS[name][0].is_own} <= set(CALLS)
    assert set(ROWS) < OPS


def test_random_numbers_have_seeds():
    for define in (lambda ops: ops.rand([1000], seed=1, offset=0), lambda ops: ops.uniform(0, 1, [1000], 1, 0)):
        x, = computed(lambda fd: define(fd.ops))
        again, = computed(lambda fd: define(fd.ops))
        assert 0 <= x.min() and x.max() < 1 and 0.45 < x.mean() < 0.55
        np.testing.assert_array_equal(x, again)


@pytest.mark.parametrize("name", MISSING_OPS)
def test_what_is_not_there_says_so(name):
    with pytest.raises(NotImplementedError, match=name):
        getattr(FusionDefinition().ops, name)


def test_signatures_are_those_that_scripts_use():
    assert str(signature_of("sum")) == "(arg, dims=None, keepdim=False, dtype=DataType.Null)"
    assert str(signature_of("var")) == "(arg, dims, correction=1, keepdim=False)"
    assert str(signature_of("slice")) == "(arg, start_indices, end_indices, strides=None, manual_normalization=False)"
    assert str(inspect.signature(FusionDefinition().ops.cat)) == "(tensors, dim=0, manual_padding=False)"
    names = list(inspect.signature(FusionDefinition().ops.batch_norm).parameters)
    assert names[:4] == ["arg", "weight", "bias", "running_mean"]
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        y = fd.ops.sum(x, dims=[1], keepdim=True)
        fd.add_output(fd.ops.slice(arg=y, start_indices=[0, 0], end_indices=[1, 1]))
    assert fd.execute([np.ones((3, 4), np.float32)])[0] == 4


def test_any_arguments_end_in_an_exception_of_python():
    """Random tuples of arguments: whatever happens is an exception of the documented kinds, and the process lives."""
    rng = np.random.default_rng(11)
    outcomes = {"taken": 0, "refused": 0}
    for name in sorted(OPS):
        for _ in range(60):
            fd = FusionDefinition()
            pool = [fd.define_tensor([-1, -1]), fd.define_tensor([3], dtype=I), fd.define_tensor([], dtype=B),
                    fd.define_tensor([2, 1, 4], dtype=DataType.Half), fd.define_scalar(F), fd.define_scalar(3, I), None, True, 0,
                    1, -1, 7, 2 ** 70, 1.5, float("nan"), "x", "mean", b"x", [], [0], [1, 0], [True, False], [-1, 2 ** 62], [0.5],
                    [[0]], (1,), {}, object(), F, DataType.Null, DataType.ComplexFloat, I]
            count = max(0, len(ROWS.get(name, "ab")) + int(rng.integers(-1, 2)))
            arguments = [pool[int(rng.integers(6 if rng.random() < 0.5 else len(pool)))] for _ in range(count)]
            try:
                getattr(fd.ops, name)(*arguments)
                outcomes["taken"] += 1
            except (tokamak.Error, TypeError, ValueError, NotImplementedError):
                outcomes["refused"] += 1
    assert outcomes["taken"] > 300 and outcomes["refused"] > 3000
