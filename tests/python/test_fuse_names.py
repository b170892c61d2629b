"""Names of NumPy and of the array API standard that are made of other functions: what they give is what NumPy gives."""
import numpy as np
import pytest

import tokamak.numpy as tnp
from tokamak import fuse

rng = np.random.default_rng(18)
X = rng.standard_normal((4, 6)).astype(np.float32)
T = rng.standard_normal((2, 4, 3))
V = X[0].copy()
I = rng.integers(-9, 10, (4, 6))
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -0.5, 1e-30, 3e4, np.inf, -np.inf, np.nan])
M = np.where(X > -0.3, X, np.nan).astype(np.float32)
M[:, 2] = np.nan


def same(got, wanted):
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for each, other in zip(got, wanted):
            same(each, other)
        return
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    tolerance = {"float32": 5e-6, "float64": 1e-12}.get(str(wanted.dtype), 0)
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
    if wanted.dtype.kind == "f":
        is_zero = wanted == 0
        np.testing.assert_array_equal(np.signbit(got[is_zero & (got == 0)]), np.signbit(wanted[is_zero & (got == 0)]))


def check(function, *arguments):
    with np.errstate(all="ignore"):
        same(fuse(function)(*arguments), function(*arguments))


ARRANGEMENTS = {
    "hstack": lambda x: np.hstack([x, x]), "hstack of vectors": lambda x: np.hstack([x[0], x[1]]),
    "vstack": lambda x: np.vstack([x, x]), "vstack of vectors": lambda x: np.vstack([x[0], x[1]]),
    "dstack": lambda x: np.dstack([x, x]), "dstack of vectors": lambda x: np.dstack([x[0], x[1]]),
    "column_stack": lambda x: np.column_stack([x, x[:, 0]]), "append": lambda x: np.append(x, x[:1], 0),
    "append all": lambda x: np.append(x, x), "atleast_1d": lambda x: np.atleast_1d(x[0, 0]),
    "atleast_2d": lambda x: [np.atleast_2d(x[0]), np.atleast_2d(x[0, 0]), np.atleast_2d(x)],
    "atleast_3d": lambda x: [np.atleast_3d(x[0]), np.atleast_3d(x[0, 0]), np.atleast_3d(x)],
    "array_split": lambda x: np.array_split(x, 3), "array_split at": lambda x: np.array_split(x, [1, 3], axis=1),
    "hsplit": lambda x: np.hsplit(x, 2), "hsplit of a vector": lambda x: np.hsplit(x[0], 2),
    "vsplit": lambda x: np.vsplit(x, 2), "dsplit": lambda x: np.dsplit(x[None], 2), "flipud": lambda x: np.flipud(x),
    "fliplr": lambda x: np.fliplr(x), "rot90": lambda x: [np.rot90(x, k) for k in range(-1, 4)],
    "rot90 of others": lambda x: np.rot90(x[None], axes=(2, 1)),
    "rollaxis": lambda x: [np.rollaxis(x[None], i, j) for i in range(3) for j in range(4)],
    "diag": lambda x: [np.diag(x, k) for k in (-2, 0, 1)], "diag of a vector": lambda x: [
        np.diag(x[0], k) for k in (-2, 0, 1)], "diagflat": lambda x: np.diagflat(x), "trace": lambda x: np.trace(x, 1),
    "diagonal": lambda x: np.diagonal(x[None], -1, 2, 1), "method": lambda x: [x.diagonal(), x.trace(), x.conj()],
    "beyond": lambda x: np.diagonal(x, 9), "pad edge": lambda x: np.pad(x, ((1, 2), (0, 3)), mode="edge"),
    "pad reflect": lambda x: np.pad(x, ((2, 9), (1, 4)), mode="reflect"), "pad wrap": lambda x: np.pad(
        x, 5, mode="wrap"), "pad symmetric": lambda x: np.pad(x, ((9, 1), (2, 2)), mode="symmetric"),
    "repeat some": lambda x: np.repeat(x, [1, 0, 2, 3], axis=0), "repeat none": lambda x: np.repeat(x, [0] * 4, 0),
    "take clip": lambda x: np.take(x, np.array([-3, 1, 99]), 1, mode="clip"),
    "take wrap": lambda x: np.take(x, np.array([-3, 1, 99]), 1, mode="wrap"),
    "roll an axis twice": lambda x: np.roll(x, (1, 2), (1, 1)), "full_like": lambda x: np.full_like(x, 2, shape=(3,)),
    "order": lambda x: np.ravel(x, order="C"), "shape": lambda x: np.shape(x), "ndim": lambda x: np.ndim(x) * x,
    "size": lambda x: (np.size(x), np.size(x, 1)), "itemsize": lambda x: (x.itemsize, x.nbytes, x.real),
}


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_arrangements(name):
    check(ARRANGEMENTS[name], X)


def test_arrangements_of_other_sizes():
    def function(x):
        return np.diag(x), np.diag(x[0], 1), np.trace(x), np.hstack([x, x]), np.pad(x, 1, mode="wrap"), np.rot90(x)

    fused = fuse(function)
    for shape in ((4, 6), (3, 7), (2, 9), (8, 5)):
        x = rng.standard_normal(shape)
        same(fused(x), function(x))
    assert len(fused.programs) == 2  # the shorter axis is asked for


# Axes of indices that others part come first.
PARTED = [(0, slice(None), [0, 1]), ([0, 1], slice(None), 0), ([0, 1], slice(None), [2, 0]), ([0, 1], None, [1, 3]),
          (0, [1, 2]), ([[1], [0]], slice(1, 3), [0, 2]), (Ellipsis, [1, 2], 0), (1, slice(None), [[0, 1]])]


@pytest.mark.parametrize("key", PARTED, ids=str)
def test_indices_that_others_part(key):
    key = tuple(np.array(each) if isinstance(each, list) else each for each in key)
    check(lambda x: x[key], T)


ELEMENTS = {
    "radians": lambda x: np.radians(x), "degrees": lambda x: np.degrees(x), "deg2rad": lambda x: np.deg2rad(x),
    "rad2deg": lambda x: np.rad2deg(x), "heaviside": lambda x: np.heaviside(x, 0.5), "sinc": lambda x: np.sinc(x),
    "cbrt": lambda x: np.cbrt(x), "logaddexp2": lambda x: np.logaddexp2(x, x[::-1]), "modf": lambda x: np.modf(x),
    "ldexp": lambda x: [np.ldexp(x, k) for k in (-300, -3, 0, 5, 130)], "nan_to_num": lambda x: np.nan_to_num(x),
    "nan_to_num of": lambda x: np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-3.0), "real": lambda x: np.real(x),
    "isclose": lambda x: [np.isclose(x, x * 1.000001), np.isclose(x, x[::-1]), np.isclose(x, x, equal_nan=True)],
    "allclose": lambda x: [np.allclose(x, x), np.allclose(x, x, equal_nan=True), np.allclose(x[:4], x[:4])],
    "array_equal": lambda x: [np.array_equal(x, x), np.array_equal(x[:4], x[:4]), np.array_equal(x[:3], x[:2]),
                              np.array_equal(x, x, equal_nan=True)],
    "select": lambda x: np.select([x > 1, x > 0], [x, -x], 7), "isin": lambda x: np.isin(x, [1.0, 2.5]),
    "not isin": lambda x: np.isin(x, [1.0], invert=True), "polyval": lambda x: np.polyval(x[2:5], x),
    "float_power": lambda x: np.float_power(x, 3), "fabs": lambda x: np.fabs(x), "conj": lambda x: np.conj(x),
    "clip": lambda x: np.clip(x, a_min=-1, a_max=1), "outer": lambda x: np.subtract.outer(x, x[:2]),
    "nextafter": lambda x: np.nextafter(x, x[::-1]),
}


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elements(name, dtype):
    check(ELEMENTS[name], SPECIAL.astype(dtype))


def test_elements_of_integers():
    check(lambda x, y: np.lcm(x, y), I, I[::-1].copy())
    check(lambda x: np.fabs(x), I)
    for decimals in (-3, -1, 1):
        check(lambda x: np.round(x, decimals), np.arange(-300, 301, 5))
    check(lambda x, y: x @ y, I > 0, I.T > 0)
    check(lambda x: np.nan_to_num(x), I)
    with pytest.raises(TypeError, match="ldexp takes integers as exponents, not DataType.Float"):
        fuse(lambda x: np.ldexp(x, x))(X)


def test_the_next_number_of_a_half_type():
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    for towards in (np.inf, -np.inf, 0.0, 1.0, np.nan):
        other = np.full_like(every, towards)
        with np.errstate(over="ignore"):
            got, wanted = fuse(lambda x, y: np.nextafter(x, y))(every, other), np.nextafter(every, other)
        np.testing.assert_array_equal(got, wanted)
        is_number = ~np.isnan(wanted) & (every != other)  # of equal zeros NumPy's half types alone give the first
        np.testing.assert_array_equal(np.signbit(got)[is_number], np.signbit(wanted)[is_number])


REDUCTIONS = {
    "sum": lambda x: np.sum(x, axis=1, initial=2.5, where=x > 0), "prod": lambda x: np.prod(x, initial=2, where=x > 0),
    "max": lambda x: np.max(x, axis=0, initial=-1, where=x < 1), "min": lambda x: np.min(x, axis=0, initial=0),
    "min where": lambda x: np.min(x, axis=1, keepdims=True, initial=5, where=x > 0), "any": lambda x: np.any(
        x > 1, axis=1, where=x < 2), "all": lambda x: np.all(x > 0, axis=1, where=x > -1),
    "mean": lambda x: np.mean(x, axis=1, where=x > 0), "mean of a row": lambda x: np.mean(x, axis=0, where=x[0] > 0),
    "ptp": lambda x: [np.ptp(x), np.ptp(x, axis=0), np.ptp(x, 1, keepdims=True)], "average": lambda x: np.average(x, 1),
    "weights": lambda x: np.average(x, axis=0, weights=np.arange(1.0, 5.0)), "weights of all": lambda x: np.average(
        x, axis=1, weights=np.abs(X), returned=True), "cov": lambda x: [np.cov(x), np.cov(x[0])],
    "cov of columns": lambda x: np.cov(x, rowvar=False, bias=True),
}


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    check(REDUCTIONS[name], X)
    check(REDUCTIONS[name], X.astype(np.float64))


@pytest.mark.parametrize("x", [I, I.astype(np.int32), I > 0], ids=["int64", "int32", "bool"])
def test_reductions_where_of_integers(x):
    mask = np.tile([True, False, False], 8).reshape(4, 6)
    check(lambda x: [np.sum(x, 0, where=mask), np.prod(x, 1, where=mask), np.any(x, 0, where=mask),
                     np.all(x, 0, where=mask)], x)
    if x.dtype != bool:
        check(lambda x: [np.max(x, 0, initial=-99, where=mask), np.min(x, 1, initial=99, where=mask)], x)
    check(lambda x: np.max(x[:0], 0, initial=0), x)
    with pytest.raises(ValueError, match="max: of no elements there is none: where= takes initial="):
        fuse(lambda x: np.max(x, where=mask))(x)


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:Mean of empty slice")
@pytest.mark.parametrize("name", ["nanprod", "nanvar", "nanstd"])
def test_reductions_pass_over_what_is_no_number(name):
    function = getattr(np, name)
    for given in (M, M.astype(np.float64), I):
        check(lambda x: [function(x), function(x, axis=0), function(x, axis=1, keepdims=True)], given)
        if name != "nanprod":
            check(lambda x: function(x, axis=0, ddof=2), given)


def test_places_of_extremes_pass_over_what_is_no_number():
    check(lambda x: [np.nanargmax(x), np.nanargmin(x), np.nanargmax(x, axis=1), np.nanargmin(x, axis=1)], M)
    check(lambda x: np.nanargmax(x, axis=0), I)


def test_integrals():
    wanted = getattr(np, "trapezoid", None) or np.trapz
    at = np.cumsum(np.abs(V)).astype(np.float64)
    for given, options in ((X, {}), (X, {"dx": 0.5, "axis": 0}), (T, {"axis": 1})):
        same(fuse(lambda y: tnp.trapezoid(y, **options))(given), wanted(given, **options))
    same(fuse(lambda y, x: tnp.trapezoid(y, x))(X, at), wanted(X, at))


PRODUCTS = {
    "dot of arrays": lambda x: np.dot(x, np.ones((5, 3, 2))), "dot with a vector": lambda x: np.dot(x, x[0, 0]),
    "inner": lambda x: np.inner(x, x), "inner of vectors": lambda x: np.inner(x[0, 0], x[0, 1]),
    "vdot": lambda x: np.vdot(x, x), "kron": lambda x: np.kron(x[0], x[1, :2]), "kron of ranks": lambda x: np.kron(
        x[0, 0], x[1]), "cross": lambda x: np.cross(x, x[::-1]), "cross of rows": lambda x: np.cross(
        x[0].T, x[1].T, axis=0), "cross with one": lambda x: np.cross(x, x[0, 0]),
    "trace by letters": lambda x: np.einsum("ii", x[0, :3]), "diagonals": lambda x: np.einsum("bii->bi", x[:, :3]),
    "diagonal with": lambda x: np.einsum("bii,i->b", x[:, :3], x[0, 0]), "optimize": lambda x: np.einsum(
        "bij,bkj->bik", x, x, optimize=True), "multi_dot": lambda x: np.linalg.multi_dot([x[0], x[1].T, x[0]]),
    "power": lambda x: [np.linalg.matrix_power(x[:, :3], n) for n in (0, 1, 3)],
    "norms of matrices": lambda x: [np.linalg.norm(x, order, axis=axes) for order in (1, -1, np.inf, -np.inf)
                                    for axes in ((0, 1), (2, 0))],
    "norms kept": lambda x: np.linalg.norm(x, 1, axis=(0, 2), keepdims=True),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    check(PRODUCTS[name], T)


def test_types_and_their_ranges():
    def told(x):
        assert tnp.iinfo(np.int32).max == 2**31 - 1 and tnp.iinfo(tnp.int64).min == -2**63
        assert tnp.isdtype(x.dtype, "real floating") and tnp.isdtype(tnp.int32, ("bool", "integral"))
        assert not tnp.isdtype(x.dtype, "signed integer") and tnp.isdtype(x.dtype, tnp.float32)
        assert tnp.can_cast(x, tnp.float64) and not tnp.can_cast(tnp.float64, np.float32)
        return x

    fuse(told)(X)


def test_the_extension_for_matrices():
    same(fuse(lambda x: tnp.linalg.trace(x))(T), np.trace(T, axis1=1, axis2=2))
    same(fuse(lambda x: tnp.linalg.diagonal(x, 1))(T), np.diagonal(T, 1, 1, 2))
    same(fuse(lambda x: tnp.linalg.matrix_norm(x))(T), np.linalg.norm(T, axis=(1, 2)))


REFUSED = {
    "a factorisation": (NotImplementedError, "numpy.linalg.svd is not there yet: factorisations come later",
                        lambda x: np.linalg.svd(x)),
    "a name of linalg": (AttributeError, "tokamak.numpy.linalg has no svdd", lambda x: tnp.linalg.svdd(x)),
    "a type": (NotImplementedError, "tokamak.numpy.int8 is not there yet; legal are float64", lambda x: x + tnp.int8),
    "an argument": (NotImplementedError, "numpy.ravel: .*'order'; for traced arrays legal are x",
                    lambda x: np.ravel(x, order="F")),
    "a function": (NotImplementedError, "numpy.interp is not there", lambda x: np.interp(x, x, x)),
    "a method": (AttributeError, "cumsum of a traced array is not there yet", lambda x: x.cumsum()),
    "no method": (AttributeError, "a traced array has no foo", lambda x: x.foo()),
    "a mode of pad": (NotImplementedError, "pad: mode 'mean' is not there; legal are 'constant', 'edge'",
                      lambda x: np.pad(x, 1, mode="mean")),
    "nothing to repeat": (ValueError, "pad: axis 0 has no elements", lambda x: np.pad(x[:0], 1, mode="edge")),
    "repeats": (ValueError, "repeat: 2 numbers for 4 elements", lambda x: np.repeat(x, [1, 2], axis=0)),
    "traced repeats": (NotImplementedError, "repeat: how often", lambda x: tnp.repeat(x, x.astype(int), axis=0)),
    "a mode of take": (ValueError, "take: mode 'x'", lambda x: tnp.take(x, np.array([0]), mode="x")),
    "select": (ValueError, "select: 1 conditions for 2 choices", lambda x: np.select([x > 0], [x, x])),
    "letters": (ValueError, "einsum: 'i' is an axis of 4 and of 6 elements", lambda x: np.einsum("ii", x)),
    "letters in lists": (NotImplementedError, "einsum: subscripts are a string", lambda x: np.einsum(x, [0, 1])),
    "vectors in a plane": (ValueError, "cross: axes of 2 and of 2", lambda x: np.cross(x[:, :2], x[:, :2])),
    "inverses": (NotImplementedError, "matrix_power: inverses", lambda x: np.linalg.matrix_power(x[:, :4], -1)),
    "a diagonal of a vector": (ValueError, "diagonal takes an array with two", lambda x: np.diagonal(x[0])),
    "diag": (ValueError, "diag takes a vector or a matrix", lambda x: np.diag(x[None])),
    "parts": (ValueError, "array_split: 0 parts", lambda x: np.array_split(x, 0)),
    "norms of three": (ValueError, "norm: ord=1 along 3 axes", lambda x: np.linalg.norm(x[None], 1, axis=(0, 1, 2))),
    "cov of three": (ValueError, "cov takes a vector or a matrix", lambda x: np.cov(x[None])),
    "cov of two": (NotImplementedError, "cov: y is not there", lambda x: np.cov(x, x)),
    "kinds": (ValueError, "isdtype: 'odd' is no kind", lambda x: tnp.isdtype(x.dtype, "odd")),
    "iinfo": (ValueError, "DataType.Float is no integer type", lambda x: tnp.iinfo(x)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(what):
    error, words, function = REFUSED[what]
    with pytest.raises(error, match=words):
        fuse(function)(X)
