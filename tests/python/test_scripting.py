"""What scripts for nvFuser use beside ops: vectors, seeds that calls choose, options, validate(), repr()."""
import random

import numpy as np
import pytest

import tokamak
from tokamak import DataType, FusionDefinition

from shared import made_again

X = np.arange(24, dtype=np.float32).reshape(4, 6)


def test_vectors():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        sizes = fd.ops.shape(x)
        assert sizes.size == 2 and len(fd.ops.tensor_sizes(x)) == 2 and len(x.shape()) == 2
        for scalar in (sizes.at(1), sizes[1], fd.ops.at(sizes, 1), x.size(1), x.size(-1)):
            fd.add_output(fd.ops.full([1], scalar, DataType.Int))
        with pytest.raises(IndexError):
            sizes.at(2)
        with pytest.raises(TypeError, match="an index: .a. is no integer"):
            fd.ops.at(sizes, "a")
    assert [each.tolist() for each in fd.execute([X])] == [[6]] * 5


def test_a_list_among_the_inputs_is_a_vector():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        wanted = fd.define_vector(3)
        fd.add_output(fd.ops.reshape(x, wanted))
    for sizes in ([4, 3, 2], (2, 2, 6), [24, 1, 1]):
        y, = fd.execute([X, sizes])
        np.testing.assert_array_equal(y, X.reshape(sizes))
    for wrong in ([4, 6], [4, 3, 2, 1], [4, 3, "2"], [[4, 3, 2]]):
        with pytest.raises(tokamak.BindError):
            fd.execute([X, wrong])


def test_numbers_in_other_types():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        half = fd.ops.cast(fd.ops.truediv(x.size(0), 8), DataType.Float)
        assert isinstance(half, tokamak.Scalar) and half.dtype is DataType.Float
        fd.add_output(x * half)
        with pytest.raises(tokamak.DefinitionError, match="not a tensor"):
            fd._native.cast(x._value, "f64")
    np.testing.assert_array_equal(fd.execute([X])[0], X * 0.5)


def test_each_call_has_other_random_numbers_unless_seeded():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        low, high = fd.define_scalar(-2.0), fd.define_scalar(DataType.Double)
        fd.add_output(fd.ops.uniform(low, high, fd.ops.shape(x)))
        fd.add_output(fd.ops.rand_like(x))
        fd.add_output(fd.ops.randn_like(x))
        fd.add_output(fd.ops.normal(3.0, 0.5, fd.ops.shape(x), dtype=DataType.Double))
        last = fd.define_scalar(DataType.Int)
        fd.add_output(fd.ops.full([1], last, DataType.Int))
    x = np.empty((100, 200), np.float32)
    calls = [fd.execute([x, high, 17]) for high in (4.0, 4.0, 0.0)]
    for high, (bounded, unit, gauss, moved, number) in zip((4.0, 4.0, 0.0), calls):
        assert -2 <= bounded.min() < -1.9 and high - 0.1 < bounded.max() < high
        assert 0 <= unit.min() < 0.01 and 0.99 < unit.max() < 1
        assert abs(gauss.mean()) < 0.05 and abs(gauss.std() - 1) < 0.05
        assert moved.dtype == np.float64 and abs(moved.mean() - 3) < 0.03 and abs(moved.std() - 0.5) < 0.03
        assert number.tolist() == [17]
        assert abs(np.corrcoef(unit.ravel(), gauss.ravel())[0, 1]) < 0.05
    for first, second in zip(calls[0][:4], calls[1][:4]):
        assert (first != second).mean() > 0.99
    with FusionDefinition() as fd:
        seed = fd.define_scalar(DataType.Int)
        fd.add_output(fd.ops.uniform(-1.0, 1.0, [1000], seed, 0))
    np.testing.assert_array_equal(fd.execute([5])[0], fd.execute([5])[0])
    assert (fd.execute([5])[0] != fd.execute([6])[0]).mean() > 0.99


def test_running_variance_of_doubles_is_one_of_doubles():
    x = np.random.default_rng(3).random((5, 3, 7))
    mean, variance = np.zeros(3), np.ones(3)
    with FusionDefinition() as fd:
        tensors = [fd.define_tensor([-1] * each.ndim, dtype=DataType.Double) for each in (x, mean, variance)]
        fd.add_output(fd.ops.batch_norm(tensors[0], None, None, *tensors[1:], 0.25, 1e-5, True)[0])
    fd.execute([x, mean, variance])
    np.testing.assert_allclose(variance, 0.75 + 0.25 * x.var((0, 2), ddof=1), rtol=1e-13)
    np.testing.assert_allclose(mean, 0.25 * x.mean((0, 2)), rtol=1e-13)


def test_random_numbers_are_repeated():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.uniform(0.0, 1.0, [50]))
    random.seed(5)
    first = [fd.execute([])[0] for _ in range(3)]
    random.seed(5)
    for each in first:
        np.testing.assert_array_equal(fd.execute([])[0], each)
    torch = pytest.importorskip("torch")
    from tokamak import nvfuser

    with nvfuser.FusionDefinition() as fd:
        fd.add_output(fd.ops.uniform(0.0, 1.0, [50]))
    torch.manual_seed(5)
    first = fd.execute([])[0]
    assert not torch.equal(first, fd.execute([])[0])
    torch.manual_seed(5)
    assert torch.equal(first, fd.execute([])[0])


def test_numbers_of_numpy_are_arguments():
    with FusionDefinition() as fd:
        x = fd.define_tensor(np.array([-1, -1]), contiguity=np.array([True, True]).tolist())
        y = fd.ops.sum(x, dims=np.array([1]), keepdim=np.bool_(True))
        z = fd.ops.reshape(np.float32(0.25) * y * np.int64(2), np.array([np.int64(2), 2]))
        fd.add_output(z, stride_order=np.array([0, 1]))
    assert "np" not in repr(fd) and made_again(fd).fusion_ir() == fd.fusion_ir()
    np.testing.assert_array_equal(fd.execute([X])[0], (X.sum(1) / 2).reshape(2, 2))


def test_the_import_for_scripts_divides_as_they_expect():
    from tokamak import nvfuser

    for kind, wanted in ((nvfuser.FusionDefinition, [-1, 0, 1]), (FusionDefinition, [-1.75, 0.25, 1.75])):
        with kind() as fd:
            x = fd.define_tensor([-1], dtype=DataType.Int)
            fd.add_output(x / 4)
        assert fd.execute([np.array([-7, 1, 7])])[0].tolist() == wanted


def test_options_of_scripts():
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1, -1]) * 2.0)
    wanted = X * 2
    for options in ({"_enable_options": ["fuse_matmul"], "_disable_options": ["fallback"]}, {"profile": False},
                    {"capture_debug_output": False, "save_repro_inputs": False, "print_repro": False}):
        np.testing.assert_array_equal(fd.execute([X], **options)[0], wanted)
    with pytest.raises(RuntimeError, match="Unrecognized enable_option: fast"):
        fd.execute([X], _enable_options=["fast"])
    with pytest.raises(RuntimeError, match="Unrecognized disable_option: fast"):
        fd.execute([X], _disable_options=["fast"])
    with pytest.raises(NotImplementedError, match="capture_debug_output is not there"):
        fd.execute([X], capture_debug_output=True)


def test_print_repro(capsys):
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1, -1]) * 2.0)
    fd.execute([X], print_repro=True)
    assert "T1 = fd.ops.mul(arg1=T0, arg2=2.0)" in capsys.readouterr().out


def test_validate():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        fd.add_output(fd.ops.sum(x, 1))
        fd.add_output(x > 3.0)
    fd.validate([X], [X.sum(1), X > 3])
    fd.validate([X], [X.sum(1) * 1.001, X > 3], rtol=0.01)
    with FusionDefinition() as same:
        same.add_output(same.ops.set(same.define_tensor([-1])))
        same.add_output(same.ops.set(same.define_tensor([-1], dtype=DataType.Int)))
    inf, whole = np.array([np.inf], np.float32), np.array([1 << 60])
    same.validate([inf, whole], [inf, whole])
    for given, reference in ((inf, -inf), (-inf, inf), (np.ones(1, np.float32), inf), (inf, np.ones(1))):
        with pytest.raises(tokamak.Error, match="output 0"):
            same.validate([given, whole], [reference, whole])
    with pytest.raises(tokamak.Error,
                       match="output 1: 1 of 1 .* 1152921504606846976, and the reference 11529215046068469"):
        same.validate([inf, whole], [inf, whole + 1])
    with pytest.raises(tokamak.Error, match="complex"):
        same.validate([inf, whole], [inf + 1j, whole])
    for wrong, words in (([X.sum(1) * 1.001, X > 3], "output 0: 4 of 4 elements differ"),
                         ([X.sum(1), X > 4], "output 1: 1 of 24 elements differ .* the first at .0, 4.: True"),
                         ([X.sum(1)], "1 references for 2 outputs"), ([X.sum(0), X > 3], "output 0: its shape is"),
                         ([X.sum(1) * np.nan, X > 3], "output 0")):
        with pytest.raises(tokamak.Error, match=words):
            fd.validate([X], wrong)
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.log(fd.define_tensor([-1])))
    with np.errstate(all="ignore"):
        fd.validate([X[0] - 1], [np.log(X[0] - 1)])  # NaN where NaN is, and infinities


def test_repr_makes_the_definition_again():
    with FusionDefinition(id=7) as fd:
        x = fd.define_tensor([-1, 1, 4], contiguity=[False, None, True])
        y = fd.define_tensor(sizes=[3, 5, 4], strides=[20, 4, 1], dtype=DataType.Half, static_sizes=True)
        n, m = fd.define_scalar(DataType.Int), fd.define_scalar(float("-inf"))
        z = fd.ops.where(x > m, 1.0 - x, fd.ops.expand(x, [n, 1, 4])) * abs(-y)
        a, b = fd.ops.var_mean(z, [2], correction=0)
        fd.add_output(fd.ops.stride_order(z, [0, 2, 1]))
        fd.add_output(a, stride_order=[0, 1])
        fd.add_output(b)
        fd.add_output(fd.ops.cat([z, z], dim=-1))
        fd.add_output(x + 1, x)
        fd.add_output(fd.ops.batch_norm(z, training=False)[0])
        fd.add_output(fd.ops.rand_like(z))
        fd.add_output(fd.ops.reshape(z, [*fd.ops.shape(z)[:1], 20]))
    again = made_again(fd)
    assert again.fusion_ir() == fd.fusion_ir() and repr(again) == repr(fd)
    assert repr(fd).startswith(
        "def fusion_7(fd: FusionDefinition) -> None:\n    T0 = fd.define_tensor(shape=[-1, 1, 4], ")
    assert repr(FusionDefinition()) == "def fusion(fd: FusionDefinition) -> None:\n    pass"


@pytest.mark.parametrize("name", [7, "a b", -1, 2.5, "quote'\"", "line\nbreak", "\u00e9", ""])
def test_any_id_gives_texts_that_can_be_read(name):
    with FusionDefinition(id=name) as fd:
        fd.add_output(~(fd.define_tensor([-1], dtype=DataType.Int)))
        fd.add_output(~(fd.define_tensor([-1], dtype=DataType.Bool)))
    assert made_again(fd).fusion_ir() == fd.fusion_ir()
    assert [each.tolist() for each in fd.execute([np.array([5]), np.array([True])])] == [[-6], [False]]


def test_what_raised_is_not_in_repr():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        with pytest.raises(tokamak.DefinitionError):
            fd.ops.sum(x, [5])
        with pytest.raises(TypeError, match="ops.sum.arg, dims"):
            fd.ops.sum()
        fd.add_output(x * 2.0)
    assert made_again(fd).fusion_ir() == fd.fusion_ir()
    assert repr(fd).count("\n") == 3
