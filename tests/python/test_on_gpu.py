"""Arrays of torch, CuPy and JAX on a real GPU. Where there is none, all of it is skipped."""
import importlib

import numpy as np
import pytest

import tokamak
from tokamak import DataType, FusionDefinition


def library(name):
    module = pytest.importorskip(name)
    try:
        has_gpu = module.cuda.is_available() if name == "torch" else bool(
            module.cuda.runtime.getDeviceCount()) if name == "cupy" else bool(module.devices("gpu"))
    except Exception:  # as each of them says that there is none
        has_gpu = False
    if not has_gpu:
        pytest.skip(f"{name} sees no GPU")
    return module


def scaled_sum():
    with FusionDefinition() as fd:
        x, y = fd.define_tensor([-1, -1]), fd.define_tensor([-1, -1])
        factor = fd.define_scalar(DataType.Double)
        fd.add_output(x * factor + y)
        fd.add_output(fd.ops.sum(x, 1))
    return fd


def test_torch():
    torch = library("torch")
    fd = scaled_sum()
    for sizes in ((64, 33), (1024, 512), (1, 7), (0, 4)):
        x, y = torch.randn(sizes, device="cuda"), torch.randn(sizes, device="cuda")
        for a, b in ((x, y), (x.t().contiguous().t(), y), (x[:, ::2], y[:, ::2])):
            for _ in range(2):
                first, second = fd.execute([a, b, 0.5])
                assert type(first) is torch.Tensor and first.is_cuda
                torch.testing.assert_close(first, a * 0.5 + b)
                torch.testing.assert_close(second, a.sum(1), rtol=1e-4, atol=1e-4)
    out = [torch.empty(64, 33, device="cuda"), torch.empty(64, device="cuda")]
    x = torch.randn(64, 33, device="cuda")
    fd.execute([x, x, 2.0], out=out)
    torch.testing.assert_close(out[0], x * 3)
    with pytest.raises(tokamak.BindError, match="CPU non-scalar"):
        fd.execute([x, x.cpu(), 1.0])
    first, _ = fd.execute([x, x, torch.tensor(2.0)])  # a number on the host
    torch.testing.assert_close(first, x * 3)
    first, _ = fd.execute([x, x, torch.tensor(2.0, device="cuda")])
    torch.testing.assert_close(first, x * 3)
    host, _ = fd.execute([x.cpu(), x.cpu(), 2.0])
    assert not host.is_cuda
    torch.testing.assert_close(host, x.cpu() * 3)


def test_torch_types():
    torch = library("torch")
    for dtype, kind in ((DataType.BFloat16, torch.bfloat16), (DataType.Half, torch.float16),
                        (DataType.Int, torch.int64), (DataType.Int32, torch.int32), (DataType.Double, torch.float64)):
        with FusionDefinition() as fd:
            x = fd.define_tensor([-1], dtype=dtype)
            fd.add_output(fd.ops.cast(x + x, dtype))
        x = torch.arange(100, device="cuda").to(kind)
        for _ in range(2):
            y, = fd.execute([x])
            assert y.dtype == kind and torch.equal(y, x + x)


def test_calls_are_in_order_with_the_callers_streams():
    """Each call reads what work on its stream wrote just before, and writes what that reads just after."""
    torch = library("torch")
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        fd.add_output(x + 1.0)
    n = 1 << 24
    streams = [torch.cuda.Stream() for _ in range(3)]
    results = []
    torch.cuda.synchronize()
    for step, stream in enumerate(streams * 4):
        with torch.cuda.stream(stream):
            x = torch.full((n,), 0.0, device="cuda")
            for _ in range(8):
                x.add_(1.0)  # takes a while
            y, = fd.execute([x])
            del x  # its memory may be given to what comes next on this stream
            z = torch.full((n,), -1.0, device="cuda")
            y, = fd.execute([y])
            results.append((step, y * 2.0, z))
    torch.cuda.synchronize()
    for step, y, z in results:
        assert (y == 20).all() and (z == -1).all(), step


def test_updates_in_place():
    torch = library("torch")
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        fd.add_output(x * 2.0, x)
        fd.add_output(x + 0.0)
    x = torch.ones(1000, device="cuda")
    for step in range(5):
        y, = fd.execute([x])
        assert (y == 2 ** step).all() and (x == 2 ** (step + 1)).all()


def test_a_loop_holds_no_memory():
    torch = library("torch")
    fd = scaled_sum()
    x = torch.ones(1 << 12, 1 << 10, device="cuda")
    for _ in range(3):
        fd.execute([x, x, 1.0])
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(200):
        fd.execute([x, x, 1.0])
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() <= before


def test_cupy():
    cupy = library("cupy")
    fd = scaled_sum()
    x, y = cupy.random.rand(64, 33).astype("float32"), cupy.random.rand(64, 33).astype("float32")
    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
        with stream:
            for _ in range(3):
                first, second = fd.execute([x * 1.0, y, 0.5])
                assert isinstance(first, cupy.ndarray)
                cupy.testing.assert_allclose(first, x * 0.5 + y, rtol=1e-5)
                cupy.testing.assert_allclose(second, x.sum(1), rtol=1e-4)
            out = [cupy.empty((64, 33), "float32"), cupy.empty(64, "float32")]
            fd.execute([x, y, 2.0], out=out)
            cupy.testing.assert_allclose(out[0], x * 2 + y, rtol=1e-5)


def test_jax():
    jax = library("jax")
    fd = scaled_sum()
    x, y = jax.numpy.ones((64, 33)), jax.numpy.full((64, 33), 2.0)
    for _ in range(3):
        first, second = fd.execute([x, y, 0.5])
        assert isinstance(first, jax.Array)
        np.testing.assert_allclose(first, x * 0.5 + y, rtol=1e-5)
        np.testing.assert_allclose(second, np.full(64, 33.0))


def test_mixed_libraries():
    torch, cupy = library("torch"), library("cupy")
    fd = scaled_sum()
    x = torch.full((8, 4), 3.0, device="cuda")
    y = cupy.full((8, 4), 2.0, "float32")
    first, _ = fd.execute([x, y, 1.0])
    assert type(first) is torch.Tensor and (first == 5).all()
    first, _ = fd.execute([y, x, 1.0])
    assert isinstance(first, cupy.ndarray) and bool((first == 5).all())


def test_fused_functions():
    torch = library("torch")
    import tokamak.numpy as tnp

    @tokamak.fuse
    def normalised(x, weight, eps=1e-5):
        difference = x - x.mean(axis=-1, keepdims=True)
        return difference / tnp.sqrt((difference * difference).mean(axis=-1, keepdims=True) + eps) * weight, x.shape[0]

    for dtype in (torch.float32, torch.bfloat16):
        for n in (4, 64, 1000):
            x, weight = torch.randn(n, 512, device="cuda", dtype=dtype), torch.rand(512, device="cuda", dtype=dtype)
            got, count = normalised(x, weight)
            wanted = torch.nn.functional.layer_norm(x.float(), (512,)) * weight.float()
            assert got.is_cuda and got.dtype == dtype and count == n
            torch.testing.assert_close(got.float(), wanted, rtol=2e-2, atol=2e-2 if dtype is torch.bfloat16 else 1e-4)
    assert len(normalised.programs) == 2


@pytest.mark.parametrize("products", ["torch", "tokamak"])
def test_torch_compile(products):
    torch = library("torch")
    importlib.import_module("tokamak.torch")
    torch._dynamo.reset()
    torch.manual_seed(0)
    module = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True, device="cuda")
    compiled = torch.compile(module, backend="tokamak", options={"products": products})
    for n in (3, 5, 8):
        x = torch.randn(n, 17, 64, device="cuda")
        results = []
        for run in (compiled, module):
            given = x.clone().requires_grad_()
            y = run(given)
            results.append([y, *torch.autograd.grad((y * y).sum(), [given, *module.parameters()])])
        torch.testing.assert_close(*results, rtol=2e-3, atol=2e-3)


def test_jax_calls_programs():
    jax = library("jax")
    importlib.import_module("tokamak.jax")
    fd = scaled_sum()

    def ours(x, y, factor):
        first, second = tokamak.jax.call(fd, jax.numpy.sin(x), y, factor)
        return first + 1, second

    compiled = jax.jit(ours)
    for rows in (64, 3, 1, 1000):
        x, y = (jax.random.normal(jax.random.key(seed), (rows, 33)) for seed in (0, 1))
        for function in (ours, compiled):
            for factor in (0.5, jax.numpy.float32(2)):  # which is read from the GPU
                first, second = function(x, y, factor)
                np.testing.assert_allclose(first, jax.numpy.sin(x) * factor + y + 1, rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose(second, jax.numpy.sin(x).sum(1), rtol=1e-3, atol=1e-3)
    x = jax.numpy.ones((64, 33))
    for _ in range(20):  # in order with what JAX does before and after
        x, _ = compiled(x * 0.0, x, 1.0)
    np.testing.assert_array_equal(x, np.full((64, 33), 21.0))
    on_host = jax.jit(ours, backend="cpu")(np.ones((4, 8), "f"), np.ones((4, 8), "f"), 2.0)
    np.testing.assert_allclose(on_host[0], np.sin(np.ones((4, 8))) * 2 + 2, rtol=1e-5)
    with pytest.raises(tokamak.BindError, match="elsewhere"):
        compiled(x, x[:3], 1.0)


def test_jax_calls_update_donated_arrays():
    jax = library("jax")
    importlib.import_module("tokamak.jax")
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(x * 2.0, x)
    doubled = jax.jit(lambda x: tokamak.jax.call(fd, x)[0], donate_argnums=0)
    x = jax.numpy.ones(1000)
    kept = x + 0.0
    for _ in range(5):
        x = doubled(x)
    np.testing.assert_array_equal(x, np.full(1000, 32.0))
    again = jax.jit(lambda x: tokamak.jax.call(fd, x)[0])(kept)
    assert float(again.sum()) == 2000 and float(kept.sum()) == 1000


def test_operators_of_torch():
    torch = library("torch")
    importlib.import_module("tokamak.torch")
    torch._dynamo.reset()
    import tokamak.numpy as tnp

    @tokamak.fuse
    def scaled(x, weight):
        return x * tnp.exp(weight)

    @tokamak.fuse
    def scaled_backward(x, weight, g):
        return g * tnp.exp(weight), (g * x * tnp.exp(weight)).sum(axis=0)

    made = tokamak.torch.op(scaled, "scaled_on_gpu", backward=scaled_backward)
    sums = tokamak.torch.op(scaled_sum(), "sums_on_gpu")
    weight = torch.randn(33, device="cuda", requires_grad=True)
    for dynamic in (False, True):
        compiled = torch.compile(lambda x, w: made(x * 2, w) + 1, fullgraph=True, dynamic=dynamic)
        for n in (3, 64, 100):
            x = torch.randn(n, 33, device="cuda", requires_grad=True)
            for function in (compiled, lambda x, w: made(x * 2, w) + 1):
                got, wanted = function(x, weight), x * 2 * weight.exp() + 1
                torch.testing.assert_close(got, wanted)
                for one, other in zip(*(torch.autograd.grad((y * y).sum(), (x, weight)) for y in (got, wanted))):
                    torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)
    x = torch.randn(16, 33, device="cuda")
    torch.library.opcheck(sums, (x, x, 0.5))
    torch.testing.assert_close(sums(x, x, 0.5)[0], x * 1.5)
