"""Results, judged by the reference."""
import numpy as np
import pytest

import tokamak
import tokamak.testing
from tokamak import DataType, FusionDefinition


def norm(dtype=DataType.Float):
    with FusionDefinition() as fd:
        x = fd.ops.cast(fd.define_tensor([-1, -1], dtype=dtype), DataType.Float)
        mean = fd.ops.broadcast(fd.ops.sum(x, 1) / 9.0, [False, True])
        fd.add_output(fd.ops.cast((x - mean) * fd.ops.rsqrt(fd.ops.exp(x)), dtype))
        fd.add_output(fd.ops.gt(x, mean))
    return fd


@pytest.mark.parametrize("dtype, kind", [(DataType.Float, np.float32), (DataType.Half, np.float16)])
def test_right_results_pass(dtype, kind):
    x = np.random.default_rng(1).standard_normal((5, 9)).astype(kind)
    tokamak.testing.check(norm(dtype), [x])


@pytest.mark.parametrize("place, by", [((0, 0), 1e-3), ((4, 8), 1e-2), ((2, 3), np.nan), ((2, 3), np.inf)])
def test_a_wrong_element_is_found(place, by):
    x = np.random.default_rng(1).standard_normal((5, 9)).astype(np.float32)
    outputs = norm().execute([x])
    right = outputs[0].copy()
    outputs[0][place] += by
    with pytest.raises(AssertionError, match=rf"output 0: 1 of 45 elements differ[^$]*\[{place[0]}, {place[1]}\]"):
        tokamak.testing.check(norm(), [x], outputs)
    outputs[1][1, 1] ^= True
    with pytest.raises(AssertionError, match="^output 1: 1 of 45"):
        tokamak.testing.check(norm(), [x], [right, outputs[1]])


def test_updates_in_place_are_judged():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        fd.add_output(x * 0.3, x)
        fd.add_output(x + 1.0)
    x = np.linspace(-1, 1, 7, dtype=np.float32)
    before = x.copy()
    tokamak.testing.check(fd, [x])
    np.testing.assert_allclose(x, before * np.float32(0.3), rtol=1e-6)


def test_functions_are_judged():
    @tokamak.fuse
    def f(x, factor):
        return x * factor, x.sum(axis=0)

    tokamak.testing.check(f, [np.ones((3, 4), np.float32), 0.3])
    assert tokamak.testing.reference(f, [np.ones((3, 4), np.float32), 0.5])[1].tolist() == [3, 3, 3, 3]


def test_the_reference_is_not_rounded():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], dtype=DataType.Half)
        fd.add_output(fd.ops.cast(fd.ops.exp(fd.ops.cast(x, DataType.Double)), DataType.Double))
        fd.add_output(fd.ops.cast(x, DataType.Int))
    x = np.array([0.5, 2.0, -3.0], np.float16)
    exact, integers = tokamak.testing.reference(fd, [x])
    assert exact.dtype == np.float64 and integers.dtype == np.int64
    np.testing.assert_allclose(exact, np.exp(x.astype(np.float64)), rtol=1e-15)
    assert integers.tolist() == [0, 2, -3]


@pytest.mark.parametrize("call, kind, sentence", [
    (lambda: tokamak.testing.check(5, []), TypeError, "check takes a FusionDefinition or a function"),
    (lambda: tokamak.testing.check(norm(), []), tokamak.BindError, "0 inputs for a definition that has 1"),
    (lambda: tokamak.testing.check(norm(), [np.ones((2, 2), np.float32)], [None, None]), tokamak.BindError,
     "check: output 0 is None; an array is legal for each output"),
    (lambda: tokamak.testing.check(norm(), [np.ones((2, 2), np.float32)], []), tokamak.BindError, "0 outputs"),
    (lambda: tokamak.testing.check(norm(), [np.ones((2, 2), np.float32)], [np.ones((2, 2), np.float64)] * 2),
     tokamak.BindError, "f64"),
    (lambda: tokamak.testing.reference(norm(), [np.ones(2, np.float32)]), tokamak.BindError, "1"),
])
def test_what_cannot_be_judged_is_refused(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()
