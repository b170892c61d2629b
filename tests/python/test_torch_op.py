"""Programs as operators of torch: what tokamak.torch.op registers works eagerly and in what torch compiles."""
import gc
import os
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tokamak.numpy as tnp  # noqa: E402 (where torch is)
import tokamak.torch  # noqa: E402,F401
from random_definitions import RandomDefinition  # noqa: E402
from shared import run_in_threads, updating, viewing  # noqa: E402
from tokamak import BindError, DataType, DefinitionError, FusionDefinition, ScheduleError, fuse  # noqa: E402
from tokamak.torch import _op, op  # noqa: E402

FLOAT = DataType.Float
TYPES = [(DataType.Bool, torch.bool), (DataType.Int32, torch.int32), (DataType.Int, torch.int64),
         (DataType.Half, torch.float16), (DataType.BFloat16, torch.bfloat16), (FLOAT, torch.float32),
         (DataType.Double, torch.float64)]


@pytest.fixture(autouse=True)
def begin_anew():
    torch._dynamo.reset()
    torch.manual_seed(0)


def define(build, *inputs, contiguity=True):
    """A definition with inputs of (axes or None for a scalar, type)."""
    with FusionDefinition() as fd:
        made = [fd.define_scalar(dtype) if axes is None else
                fd.define_tensor([-1] * axes, contiguity=contiguity, dtype=dtype) for axes, dtype in inputs]
        outputs = build(fd, *made)
        for each in outputs if isinstance(outputs, tuple) else (outputs,):
            fd.add_output(each)
    return fd


def sums_of(fd, x, y):
    return fd.ops.softmax(x + y, 1), fd.ops.permute(x * 2, [1, 0]), fd.ops.sum(y, 0)


def sums(x, y):
    return torch.softmax(x + y, 1), (x * 2).T.contiguous(), y.sum(0)


SUMS = op(define(sums_of, (2, FLOAT), (2, FLOAT)), "sums")
STRIDED = op(define(lambda fd, x, y: x + 1, (2, FLOAT), (2, FLOAT), contiguity=False), "strided")
SCALED = op(define(lambda fd, x, s: x * s, (2, FLOAT), (None, DataType.Double)), "scaled",
            backward=lambda x, s, g: g * s)


@fuse
def rms_norm(x, weight, eps=1e-5):
    return x * tnp.rsqrt(tnp.mean(x * x, axis=-1, keepdims=True) + eps) * weight


@fuse
def rms_norm_backward(x, weight, eps, g):
    r = tnp.rsqrt(tnp.mean(x * x, axis=-1, keepdims=True) + eps)
    weighted = g * weight
    mean = tnp.mean(weighted * x, axis=-1, keepdims=True)
    return weighted * r - x * mean * r * r * r, (g * x * r).sum(axis=0)


RMS = op(rms_norm, "rms_norm", backward=rms_norm_backward)


def rms(x, weight, eps=1e-5):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def close(got, wanted):
    if isinstance(wanted, tuple):
        assert isinstance(got, (tuple, list)) and len(got) == len(wanted)
        for one, other in zip(got, wanted):
            close(one, other)
        return
    torch.testing.assert_close(got, wanted, rtol=2e-5, atol=2e-5)
    assert got.stride() == torch.empty(wanted.shape).stride()


# --- what it gives ---


def test_operators_are_checked_by_torch():
    x, y = torch.randn(4, 8), torch.randn(4, 8)
    for made, arguments in ((SUMS, (x, y)), (SCALED, (x, 0.5)), (RMS, (x, torch.randn(8))),
                            (SUMS, (x[:1], y[:1])), (SUMS, (x[:0], y[:0])), (STRIDED, (x.T, y[:, ::2])),
                            (SCALED, (x.clone().requires_grad_(), 0.5)),
                            (RMS, (x.clone().requires_grad_(), torch.randn(8, requires_grad=True), 0.1))):
        checked = torch.library.opcheck(made, arguments)
        assert set(checked.values()) == {"SUCCESS"}


def test_results_are_torchs():
    for shape in [(4, 8), (1, 1), (0, 3), (7, 33), (1, 9), (9, 1)]:
        x, y = torch.randn(shape), torch.randn(shape)
        close(SUMS(x, y), sums(x, y))
        close(STRIDED(x.T, y.T), (x + 1).T.contiguous())
        close(torch.ops.tokamak.sums(x, y), sums(x, y))
        close(RMS(x, y[0] if shape[0] else y.new_ones(shape[1])), rms(x, y[0] if shape[0] else y.new_ones(shape[1])))
    close(RMS(x, y[0], 1.0), rms(x, y[0], 1.0))


@pytest.mark.parametrize("dtype, theirs", TYPES)
def test_types_of_elements(dtype, theirs):
    made = op(define(lambda fd, x: (fd.ops.cast(fd.ops.where(x == x, x, x), dtype), x == x), (2, dtype)))
    x = torch.randn(3, 5).mul(4).to(theirs)
    for function in (made, torch.compile(made, fullgraph=True, backend="aot_eager")):
        same, truth = function(x)
        assert same.dtype == theirs and (same == x).all() and truth.dtype == torch.bool and truth.all()


def test_scalars_and_tensors_without_axes():
    made = op(define(lambda fd, x, f, i, b: (x * f + i, fd.ops.where(b, x, -x)), (0, FLOAT), (None, DataType.Double),
                     (None, DataType.Int), (None, DataType.Bool)))
    assert str(made._opoverload._schema).endswith("(Tensor a0, float a1, SymInt a2, bool a3) -> (Tensor, Tensor)")
    close(made(torch.tensor(2.0), 1.5, 3, False), (torch.tensor(6.0), torch.tensor(-2.0)))
    torch.library.opcheck(made, (torch.tensor(2.0), 1.5, 3, True))


def test_sizes_that_scalars_are():
    made = op(define(lambda fd, x, n: (fd.ops.iota(n * 2 + 1, None, None, DataType.Int), x + 1), (1, FLOAT),
                     (None, DataType.Int)))

    def ours(x):
        return made(x, x.shape[0])[0] + 1

    compiled = torch.compile(ours, fullgraph=True, dynamic=True, backend="aot_eager")
    for n in (3, 7, 5):
        close(ours(torch.zeros(n)), torch.arange(2 * n + 1) + 1)
        close(compiled(torch.zeros(n)), torch.arange(2 * n + 1) + 1)


def test_views_and_repeated_outputs_have_memory_of_their_own():
    made = op(viewing())
    x = torch.randn(3, 4)
    got = made(x)
    close(got, (x + 1, x + 1, x, x.expand(3, 3, 4).contiguous(), x.T.contiguous()))
    assert len({each.data_ptr() for each in (x, *got)}) == 6
    torch.library.opcheck(made, (x,))


def test_updates_are_told_to_torch():
    made = op(updating())
    assert made._opoverload._schema.arguments[0].alias_info.is_write

    def ours(x, y):
        doubled = made(x, y)
        return doubled + x

    def theirs(x, y):
        doubled = x * 2
        x.add_(y)
        return doubled + x

    for function in (ours, torch.compile(ours, fullgraph=True)):
        x, y = torch.randn(4, 8), torch.randn(4, 8)
        same = x.clone()
        version = x._version
        close(function(x, y), theirs(same, y))
        close(x, same)
        assert x._version > version
    torch.library.opcheck(made, (torch.randn(4, 8), torch.randn(4, 8)))
    with FusionDefinition() as only:
        a = only.define_tensor([-1], contiguity=True)
        only.add_output(a + 1, alias_input=a)
    count = op(only)
    x = torch.zeros(3)
    assert count(x) is None and torch.compile(lambda x: count(x), fullgraph=True)(x) is None
    assert x.tolist() == [2, 2, 2]


def test_random_numbers_are_drawn_by_each_call():
    made = op(define(lambda fd, x: fd.ops.uniform(0.0, 1.0, [fd.ops.size(x, 0)]), (1, FLOAT)))
    x = torch.zeros(1000)
    for function in (made, torch.compile(lambda x: made(x), fullgraph=True)):
        first, second = function(x), function(x)
        assert not (first == second).all() and 0.4 < first.mean() < 0.6


@pytest.mark.parametrize("seed", range(40))
def test_random_definitions(seed):
    made = RandomDefinition(seed)
    registered = op(made.definition)
    for number in range(3):
        inputs = made.arrays(made.sizes())
        outputs, updated = made.expected(inputs)
        given = [torch.tensor(each) if isinstance(each, np.ndarray) else each for each in inputs]
        if number == 0:
            torch.library.opcheck(registered, [each.clone() if isinstance(each, torch.Tensor) else each
                                               for each in given])
        got = registered(*given)
        for one, other in zip(got if isinstance(got, tuple) else [got], outputs, strict=True):
            assert one.shape == other.shape and one.numpy().dtype == other.dtype
            assert one.stride() == torch.empty(one.shape).stride()
            np.testing.assert_allclose(one.double(), np.asarray(other, "d"), rtol=2e-3, atol=2e-3)
        if updated is not None:
            np.testing.assert_array_equal(given[0].numpy(), updated)


# --- compilers ---


def test_the_default_compiler_takes_one_graph():
    def ours(x, y, w):
        first, second, third = SUMS(x.sin(), y)
        return RMS(first + second.T, w) * third

    def theirs(x, y, w):
        first, second, third = sums(x.sin(), y)
        return rms(first + second.T, w) * third

    compiled = torch.compile(ours, fullgraph=True)
    w = torch.randn(8)
    for n in (4, 4, 6, 9, 1):
        x, y = torch.randn(n, 8), torch.randn(n, 8)
        torch.testing.assert_close(compiled(x, y, w), theirs(x, y, w), rtol=1e-4, atol=1e-4)


def test_sizes_stay_symbols():
    frames = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(lambda x, w: RMS(x * 2, w) + 1, fullgraph=True, dynamic=True, backend=frames)
    defined = torch.compile(lambda x, y: SUMS(x, y)[1] + 1, fullgraph=True, dynamic=True, backend=frames)
    for n in (3, 5, 7, 11):
        x, w = torch.randn(n, 2 * n), torch.randn(2 * n)
        close(compiled(x, w), rms(x * 2, w) + 1)
        close(defined(x, x), sums(x, x)[1] + 1)
    assert frames.frame_count == 2


def test_what_python_asked_of_sizes_becomes_a_guard():
    @fuse
    def halves(x):
        return x[: x.shape[0] // 2] if x.shape[0] > 6 else tnp.concat([x, x])

    made = op(halves)
    frames = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda x: made(x) + 1, fullgraph=True, dynamic=True, backend=frames)
    for n in (3, 5, 8, 12, 4, 20):
        x = torch.randn(n)
        close(compiled(x), (x[: n // 2] if n > 6 else torch.cat([x, x])) + 1)
    assert 2 <= frames.frame_count <= 3


def test_sizes_by_arithmetic():
    made = op(define(lambda fd, x, y: (fd.ops.cat([x, y], 0),
                                       fd.ops.reshape(x, [fd.ops.size(x, 0) * fd.ops.size(x, 1)]),
                                       fd.ops.slice(x, [1, 0], [fd.ops.size(x, 0), fd.ops.size(x, 1)])),
                     (2, FLOAT), (2, FLOAT)))
    compiled = torch.compile(lambda x, y: made(x, y), fullgraph=True, dynamic=True, backend="aot_eager")
    for n in (3, 5, 8):
        x, y = torch.randn(n, 6), torch.randn(n + 2, 6)
        close(compiled(x, y), (torch.cat([x, y]), x.reshape(-1), x[1:].contiguous()))


def test_sizes_that_only_a_run_tells():
    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    try:
        def places(y):
            return y.nonzero().float().contiguous()

        y = torch.tensor([[0, 1.0], [2, 3]])
        compiled = torch.compile(lambda y: SUMS(places(y), places(y))[1] + 1, fullgraph=True, backend="aot_eager")
        close(compiled(y), places(y).T.contiguous() * 2 + 1)
        with pytest.raises(Exception, match="is known only when the program runs; a FusionDefinition takes it"):
            torch.compile(lambda y: RMS(places(y), torch.ones(2)), fullgraph=True, backend="aot_eager")(y)
    finally:
        torch._dynamo.config.capture_dynamic_output_shape_ops = False


def test_tensors_without_elements_and_modes_of_torch():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():  # of a GPU that is not here
        x = torch.empty(4, 8, device="cuda")
        assert [(each.shape, each.device.type) for each in SUMS(x, x)] == [
            ((4, 8), "cuda"), ((8, 4), "cuda"), ((8,), "cuda")]
        assert RMS(x, x[0]).shape == (4, 8)
    x = torch.empty(4, 8, device="meta")
    assert SUMS(x, x)[1].shape == (8, 4) and SUMS(x, x)[1].is_meta
    with torch.inference_mode():
        close(SUMS(torch.ones(2, 2), torch.ones(2, 2))[2], torch.full((2,), 2.0))


def test_export_keeps_the_operator():
    class Module(torch.nn.Module):
        def forward(self, x, y):
            return SUMS(x, y)[0] + 1

    n = torch.export.Dim("n", min=2)
    x = torch.randn(4, 8)
    exported = torch.export.export(Module(), (x, x), dynamic_shapes=({0: n}, {0: n}))
    assert any(node.target is torch.ops.tokamak.sums.default for node in exported.graph.nodes)
    for rows in (2, 5):
        x = torch.randn(rows, 8)
        close(exported.module()(x, x), sums(x, x)[0] + 1)


def test_tensors_of_any_layout_are_told_to_torch():
    @fuse
    def double(x):
        return x * 2

    doubled = op(double, "layouts")
    for x in (torch.randn(3, 5).t(), torch.randn(4, 6)[::2, ::3], torch.randn(5, 1).expand(5, 3)):
        close(doubled(x), x * 2)
        torch.library.opcheck(doubled, (x,))
        close(torch.compile(doubled, fullgraph=True, backend="aot_eager")(x), x * 2)


def test_tensors_are_of_one_device():
    @fuse
    def add(x, y):
        return x + y

    added = op(add, "devices")
    with pytest.raises(tokamak.BindError, match="the tensors are on (cpu and meta|meta and cpu); legal are tensors of"):
        added(torch.ones(4), torch.ones(4, device="meta"))
    assert added(torch.ones(4, device="meta"), torch.ones(4, device="meta")).device.type == "meta"


def test_export_says_which_sizes_a_branch_takes():
    @fuse
    def branchy(x):
        return x * 2 if x.shape[0] > 3 else x * 3

    class Module(torch.nn.Module):
        def forward(self, x):
            return branched(x)

    branched, x = op(branchy, "branchy"), torch.ones(5, 3)
    n = torch.export.Dim("n", min=4, max=64)
    assert torch.export.export(Module(), (x,), dynamic_shapes=({0: n},)).module()(torch.ones(6, 3))[0, 0] == 2
    with pytest.raises(Exception, match="Not all values of n"):
        torch.export.export(Module(), (x,), dynamic_shapes=({0: torch.export.Dim("n", min=2, max=64)},))


def test_vmap_calls_one_after_the_other():
    x, y, w = torch.randn(3, 4, 8), torch.randn(4, 8), torch.randn(8)
    close(torch.vmap(SUMS, (0, None))(x, y), tuple(torch.stack(each) for each in zip(*(sums(each, y) for each in x))))
    close(torch.vmap(RMS, (1, None))(x, w), rms(x, w).transpose(0, 1).contiguous())
    none = x[:0]
    close(torch.vmap(SUMS, (0, None))(none, y), tuple(each.new_empty(0, *each.shape) for each in sums(x[0], y)))
    with pytest.raises(NotImplementedError, match="updates its inputs, and is not there under torch.vmap"):
        torch.vmap(op(updating()))(x, x)


# --- gradients ---


def test_gradients_are_torchs():
    x, w = torch.randn(5, 8, requires_grad=True), torch.randn(8, requires_grad=True)
    g = torch.randn(5, 8)
    wanted = torch.autograd.grad(rms(x * 2, w), (x, w), g)
    for function in (lambda x, w: RMS(x * 2, w), torch.compile(lambda x, w: RMS(x * 2, w), fullgraph=True),
                     torch.compile(lambda x, w: RMS(x * 2, w), fullgraph=True, dynamic=True)):
        close(function(x, w), rms(x * 2, w))
        for one, other in zip(torch.autograd.grad(function(x, w), (x, w), g), wanted):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    close(torch.autograd.grad(SCALED(x, 3.0).sum(), x)[0], torch.full((5, 8), 3.0))
    torch.autograd.gradcheck(op(define(lambda fd, x: x * x, (1, DataType.Double)), backward=define(
        lambda fd, x, g: x * g * 2.0, (1, DataType.Double), (1, DataType.Double))),
        torch.randn(4, dtype=torch.float64, requires_grad=True))


def test_rules_for_gradients_that_torch_is_told():
    made = op(define(lambda fd, x: fd.ops.exp(x), (1, FLOAT)))
    made.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0],
                           setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))
    x = torch.randn(4, requires_grad=True)
    close(torch.autograd.grad(made(x).sum(), x)[0], x.exp().detach())


def test_outputs_and_inputs_without_fractions_have_no_gradient():
    made = op(define(lambda fd, x, n: (fd.ops.cast(x, DataType.Int), x * n), (1, FLOAT), (1, DataType.Int)),
              backward=lambda x, n, g: g * n)
    x, n = torch.randn(4, requires_grad=True), torch.arange(4)
    whole, scaled = made(x, n)
    assert not whole.requires_grad or whole.dtype == torch.int64
    close(torch.autograd.grad(scaled.sum(), x)[0], n.float())


def test_gradients_without_a_backward_are_refused_by_torch():
    x = torch.randn(4, 8, requires_grad=True)
    first, _, _ = SUMS(x, x)
    with pytest.raises(RuntimeError):
        first.sum().backward()
    with pytest.raises(ValueError, match="updates its inputs, and torch has no gradients"):
        op(updating(), backward=lambda x, y, g: (g, g))
    wrong = op(define(lambda fd, x: x * 2, (1, FLOAT)), backward=lambda x, g: (g, g))
    with pytest.raises(TypeError, match="gives 2 gradients; legal is one for each of the 1 tensors"):
        wrong(torch.randn(3, requires_grad=True)).sum().backward()


# --- what is refused ---


def test_what_does_not_fit_is_refused_eagerly_and_when_torch_traces():
    x = torch.randn(4, 8)
    for refused in (lambda: SUMS(x, x[:3]), lambda: SUMS(x[0], x[0]), lambda: SCALED(x.double(), 1.0)):
        with pytest.raises(BindError):
            refused()
        with pytest.raises(Exception) as caught:
            torch.compile(refused, fullgraph=True, backend="aot_eager")()
        assert any(words in str(caught.value) for words in (
            "axis 0 has size 3, but i0 is 4 elsewhere", "has 2 axes, but a tensor of rank 1 was given",
            "elements of type torch.float64, and the definition's are torch.float32"))
    with pytest.raises(BindError, match="must be dense with stride 1"):
        SUMS(x.T, x.T)
    for refused in (lambda: SUMS(x), lambda: SUMS(x, 3), lambda: SCALED(x, "a"), lambda: SCALED(x, x)):
        with pytest.raises(RuntimeError, match="tokamak::"):
            refused()


def test_programs_and_names_that_are_none():
    for name in ("", "a-b", "a::b::c", "1a", 3, "ä"):
        with pytest.raises(ValueError, match="is no name of an operator"):
            op(updating(), name)
    for program in (3, None, lambda x: x):
        with pytest.raises(TypeError, match="takes a FusionDefinition or a function of tokamak.fuse"):
            op(program)
    unfinished = FusionDefinition()
    unfinished.define_tensor([-1])
    with pytest.raises(DefinitionError, match="not finished"):
        op(unfinished)
    with pytest.raises(TypeError, match="operators have positional ones"):
        op(fuse(lambda *x: x[0]))
    with pytest.raises(TypeError, match="legal defaults are numbers"):
        op(fuse(lambda x, name="sum": x))


def test_results_that_no_annotation_tells():
    x = torch.randn(3)
    with pytest.raises(TypeError, match="its annotation says 1 tensors"):
        op(fuse(lambda x: (x, x + 1)))(x)
    with pytest.raises(TypeError, match="its annotation says 1 tensors"):
        op(fuse(lambda x: x.shape[0]))(x)

    def two(x: torch.Tensor, n: int, flag: bool = True, scale: "float" = 2) -> "tuple[torch.Tensor, torch.Tensor]":
        return x * n, x * scale if flag else x

    made = op(fuse(two))
    close(made(x, 3), (x * 3, x * 2))
    close(made(x, 3, False), (x * 3, x))


def test_names_that_come_again_and_names_of_others():
    first = op(define(lambda fd, x: x * 2, (1, FLOAT)), "others_library::twice")
    assert torch.ops.others_library.twice(torch.ones(2)).tolist() == [2, 2]
    again = op(define(lambda fd, x: x * 3, (1, FLOAT)), "others_library::twice")
    assert torch.ops.others_library.twice(torch.ones(2)).tolist() == [3, 3] and again is not first
    one, other = (op(updating()) for _ in range(2))
    assert one._qualname != other._qualname


# --- lifetimes and threads ---


def test_programs_live_as_long_as_their_operator():
    def make(number):
        fd = define(lambda fd, x: x * number, (1, FLOAT))
        return op(fd, "tokamak::replaced"), weakref.ref(fd)

    made, first = make(2.0)
    gc.collect()
    assert made(torch.ones(2)).tolist() == [2, 2]
    for number in (3.0, 4.0):
        made, last = make(number)
    gc.collect()
    assert made(torch.ones(2)).tolist() == [4, 4] and first() is None and last() is not None


def test_operators_that_are_replaced_leave_nothing():
    def memory():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) / 256

    def several(count):
        for number in range(count):
            made = op(define(lambda fd, x: x * float(number % 40), (1, FLOAT)), "tokamak::made_again")  # noqa: B023
            assert made(torch.ones(2)).tolist() == [number % 40] * 2

    several(200)
    before = memory()
    several(1000)
    assert memory() - before < 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_compiles_again():
    x = torch.ones(2, 2)
    SCALED(x, 2.0)
    child = os.fork()
    if child == 0:
        try:
            os._exit(int(SCALED(x, 2.0).sum().item()))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 8


def test_the_backend_of_torch_compile_keeps_operators():
    x, w = torch.randn(4, 8), torch.randn(8)
    compiled = torch.compile(lambda x, w: RMS(x * 2, w) + 1, backend="tokamak", fullgraph=True)
    close(compiled(x, w), rms(x * 2, w) + 1)


def test_schedules_by_hand_are_kept():
    fd = FusionDefinition()
    with fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = x * 3.0
        fd.add_output(y)
    fd.sched.merge(y, 0)
    made = op(fd)
    close(made(torch.ones(4, 8)), torch.full((4, 8), 3.0))
    with pytest.raises(ScheduleError, match="The definition has run with it"):
        fd.sched.merge(y, 0)


def test_threads_call_operators():
    wrong = []
    compiled = torch.compile(lambda x: SCALED(x, 2.0) + 1, fullgraph=True, backend="aot_eager", dynamic=True)
    compiled(torch.ones(3, 5))

    def work(number):
        for i in range(50):
            x = torch.full((2 + i % 4, 8), float(number))
            if not (SCALED(x, 3.0) == 3 * number).all() or not torch.equal(RMS(x, x[0]), rms(x, x[0])) and not (
                    torch.allclose(RMS(x, x[0]), rms(x, x[0]), rtol=1e-5)):
                wrong.append(number)
            if not (compiled(x) == 2 * number + 1).all():
                wrong.append(number)

    run_in_threads(work, range(1, 5))
    assert not wrong


def test_memory_of_calls_does_not_grow():
    def memory():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) / 256

    x = torch.randn(16, 32)
    for _ in range(500):
        SUMS(x, x)
    before = memory()
    for i in range(3000):
        SUMS(x[: i % 16 + 1], x[: i % 16 + 1])
    assert memory() - before < 20


def test_arrays_of_numpy_are_not_tensors():
    with pytest.raises(RuntimeError, match="tokamak::scaled"):
        SCALED(np.ones((2, 2), "f"), 1.0)
    assert _op._full_name("a", "b") == "tokamak::a"
