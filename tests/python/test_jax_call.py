"""Programs in JAX: tokamak.jax.call gives what NumPy and JAX give, eagerly and in what JAX compiles."""
import gc
import os
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402 (where JAX is)
import tokamak.jax  # noqa: E402
import tokamak.numpy as tnp  # noqa: E402
from random_definitions import RandomDefinition  # noqa: E402
from shared import define, run_in_threads, updating, viewing  # noqa: E402
from tokamak import BindError, DataType, FusionDefinition, _programs, fuse  # noqa: E402
from tokamak.jax import _call, call  # noqa: E402

FLOAT = DataType.Float
TYPES = [(DataType.Bool, "bool"), (DataType.Int32, "int32"), (DataType.Int, "int64"), (DataType.Half, "float16"),
         (DataType.BFloat16, "bfloat16"), (FLOAT, "float32"), (DataType.Double, "float64")]


def values(*shape, dtype="float32", seed=0):
    made = np.random.default_rng(seed).uniform(-4, 4, shape)
    return (made > 0 if dtype == "bool" else made).astype(jnp.dtype(dtype))


@pytest.fixture
def wide():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


SCALED = define(lambda fd, x, s: x * s, (2, FLOAT), (None, DataType.Double))
SUMS = define(lambda fd, x, y: (fd.ops.softmax(x + y, 1), fd.ops.permute(x * 2, [1, 0]), fd.ops.sum(y, 0)), (2, FLOAT),
              (2, FLOAT))


def sums(x, y):
    return [jax.nn.softmax(x + y, 1), (x * 2).T, y.sum(0)]


def close(got, wanted):
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted):
        assert isinstance(one, jax.Array) and one.shape == other.shape and one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


# --- what it gives ---


@pytest.mark.parametrize("given", [np.ones(3), np.float64(2), np.arange(3), np.float32([1, 2, 3]), np.array(True), 2.5])
def test_functions_take_arrays_of_numpy_as_jax_does(given):
    scaled = fuse(lambda x, w: x * w)
    x = values(4, 3)
    for array in (jnp.asarray(x), x):
        close([call(scaled, array, given)], [jnp.asarray(x) * given])
        close([jax.jit(lambda x: call(scaled, x, given))(array)], [jnp.asarray(x) * given])
    assert len(scaled.programs) == 2  # of arrays, and of what JAX traces


def test_functions_take_indices_of_numpy():
    rows = fuse(lambda x, i: tnp.take(x, i, axis=0))
    x = values(4, 3)
    close([call(rows, x, np.array([1, 2]))], [jnp.take(x, np.array([1, 2]), axis=0)])


def test_static_arguments_stay_as_they_are():
    power = fuse(lambda x, n: x * float(type(n) is np.int64), static_argnames="n")
    close([call(power, values(4), np.int64(3))], [jnp.asarray(values(4))])


def test_wide_arrays_of_numpy_stay_wide(wide):
    close([call(fuse(lambda x, w: x * w), jnp.ones(3), np.full(3, 1 / 3))], [jnp.ones(3) * np.full(3, 1 / 3)])


def test_a_backward_that_is_none_is_refused_at_once():
    with pytest.raises(TypeError, match="tokamak.jax.call: backward is a FusionDefinition, a function of tokamak.fuse "
                                        "or one of JAX, not 'x'"):
        call(SCALED, values(2, 2), 2.0, backward="x")


def test_a_definition_eagerly_and_compiled():
    compiled = jax.jit(lambda x, y: call(SUMS, x, y))
    inside = jax.jit(lambda x, y: [each + 1 for each in call(SUMS, jnp.sin(x), y * 2)])
    for shape in [(4, 8), (1, 1), (0, 3), (7, 33), (4, 8)]:
        x, y = values(*shape), values(*shape, seed=1)
        close(call(SUMS, x, y), sums(jnp.asarray(x), jnp.asarray(y)))
        close(compiled(x, y), sums(jnp.asarray(x), jnp.asarray(y)))
        close(inside(x, y), [each + 1 for each in sums(jnp.sin(x), jnp.asarray(y) * 2)])


@pytest.mark.parametrize("dtype, name", TYPES)
def test_types_of_elements(dtype, name, wide):
    fd = define(lambda fd, x: (fd.ops.cast(fd.ops.where(x == x, x, x), dtype), x == x), (2, dtype))
    x = values(3, 5, dtype=name)
    for function in (lambda x: call(fd, x), jax.jit(lambda x: call(fd, x))):
        same, truth = function(x)
        assert same.dtype == x.dtype and truth.dtype == bool and truth.all()
        np.testing.assert_array_equal(np.asarray(same), x)


def test_arrays_without_axes_and_without_elements():
    fd = define(lambda fd, x: x + 1, (0, FLOAT))
    for one in (np.float32(2), 2, 2.0, np.asarray(2, "f"), jnp.float32(2)):
        assert call(fd, one)[0] == 3 and call(fd, one)[0].shape == ()
    rows = define(lambda fd, x: (fd.ops.sum(x, 1), x + 1), (2, FLOAT))
    total, plus = jax.jit(lambda x: call(rows, x))(np.zeros((3, 0), "f"))
    assert total.tolist() == [0, 0, 0] and plus.shape == (3, 0)


def test_scalars_are_constants_or_arrays_without_axes():
    x = values(3, 4)
    for number in (2, 0.5, True, np.float32(1.5), np.int64(3)):
        close(call(SCALED, x, number), [jnp.asarray(x) * np.float32(number)])
    traces = []

    @jax.jit
    def scaled(x, s):
        traces.append(s)
        return call(SCALED, x, s)

    for number in (0.5, 2.5, -1.0):
        close(scaled(x, number), [jnp.asarray(x) * number])
    assert len(traces) == 1
    close(scaled(x, jnp.int32(3)), [jnp.asarray(x) * 3])
    close(jax.vmap(lambda s: call(SCALED, x, s))(jnp.arange(3.0)), [jnp.arange(3.0)[:, None, None] * x])


def test_symbols_of_export_are_refused():
    fd = define(lambda fd, x: x + 1, (1, FLOAT))
    symbol, = jax.export.symbolic_shape("n")
    with pytest.raises(NotImplementedError, match="input 0 has the size n, a symbol of jax.export; legal are sizes"):
        jax.export.export(jax.jit(lambda x: call(fd, x)[0]))(jax.ShapeDtypeStruct((symbol,), np.float32))


def test_a_number_that_decides_a_size_is_a_constant():
    fd = define(lambda fd, s: fd.ops.full([fd.ops.cast(s, DataType.Int)], 1.5, FLOAT), (None, DataType.Double))
    assert jax.jit(lambda: call(fd, 3.0)[0])().tolist() == [1.5] * 3
    for given in (jax.jit(lambda s: call(fd, s)), lambda s: call(fd, s)):
        with pytest.raises(tokamak.BindError, match="the size of axis 0 of output 0 depends on an array"):
            given(jnp.float32(3))


def test_seeds_change_without_a_new_trace():
    fd = define(lambda fd, x, seed: fd.ops.uniform(0.0, 1.0, [fd.ops.size(x, 0)], rng_seed=seed, rng_offset=0),
                (1, FLOAT), (None, DataType.Int))
    drawn = jax.jit(lambda seed: call(fd, np.zeros(1000, "f"), seed)[0])
    first, second, again = (drawn(seed) for seed in (1, 2, 1))
    assert (first == again).all() and not (first == second).all() and 0.4 < first.mean() < 0.6


def test_views_and_repeated_outputs_have_memory_of_their_own():
    fd = viewing()
    x = jnp.asarray(values(3, 4))
    wanted = [x + 1, x + 1, x, jnp.broadcast_to(x, (3, 3, 4)), x.T]
    close(call(fd, x), wanted)
    got = jax.jit(lambda x: call(fd, x))(x)
    close(got, wanted)
    assert len({each.unsafe_buffer_pointer() for each in (x, *got)}) == 6


def test_updates_are_results_and_the_array_stays():
    fd = updating()
    x, y = jnp.asarray(values(4, 8)), jnp.asarray(values(4, 8, seed=1))
    before = np.array(x)
    for function in (lambda x, y: call(fd, x, y), jax.jit(lambda x, y: call(fd, x, y))):
        close(function(x, y), [x * 2, x + y])
        close(function(x, x), [x * 2, x + x])
        np.testing.assert_array_equal(x, before)
    lent = jnp.array(x)
    close(jax.jit(lambda x, y: call(fd, x, y), donate_argnums=0)(lent, y), [x * 2, x + y])
    assert lent.is_deleted()
    with FusionDefinition() as only:
        a = only.define_tensor([-1], contiguity=True)
        only.add_output(a + 1, alias_input=a)
    close(jax.jit(lambda x: call(only, x))(np.zeros(3, "f")), [jnp.ones(3)])


def test_functions_of_fuse():
    @fuse
    def normalised(x, weight=None, eps=1e-5, power=1):
        y = x * tnp.rsqrt(tnp.mean(x * x, axis=-1, keepdims=True) + eps)
        for _ in range(power):
            y = y * 2
        return {"y": y if weight is None else y * weight, "sum": y.sum(axis=0), "rows": x.shape[0]}

    x, w = jnp.asarray(values(4, 8)), jnp.asarray(values(8, seed=1))
    plain = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    for transform in (lambda function: function, jax.jit):
        got = transform(lambda x, w: call(normalised, x, weight=w, power=2))(x, w)
        close([got["y"], got["sum"]], [plain * 4 * w, (plain * 4).sum(0)])
        assert got["rows"] == 4
        close([transform(lambda x: call(normalised, x, eps=1.0)["y"])(x)],
              [2 * x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1)])
    assert transform(lambda x: call(fuse(lambda x: x.shape), x))(x) == (4, 8)
    known = jnp.full(8, 3.0)
    close([jax.jit(lambda x: call(fuse(lambda x: x + known), x))(x)], [x + 3])


def test_inside_control_flow_and_other_transformations():
    x = jnp.asarray(values(3, 4))
    close([jax.lax.scan(lambda c, _: (call(SCALED, c, 1.5)[0], None), x, length=3)[0]], [x * 1.5**3])
    close([jax.lax.cond(x[0, 0] > 9, lambda x: call(SCALED, x, 2)[0], lambda x: x, x)], [x])
    both = jnp.stack([x, x * 2, -x])
    close(jax.vmap(lambda x: call(SCALED, x, 3))(both), [both * 3])
    close(jax.jit(jax.vmap(lambda x, y: call(SUMS, x, y), in_axes=(0, None)))(both, x), jax.vmap(
        lambda x, y: sums(x, y), in_axes=(0, None))(both, x))
    updated = jax.vmap(lambda x, y: call(updating(), x, y))(both, both)
    close(updated, [both * 2, both * 2])
    shape = jax.eval_shape(lambda x: call(SCALED, x, 3), jax.ShapeDtypeStruct((2, 5), "float32"))
    assert shape == [jax.ShapeDtypeStruct((2, 5), "float32")]


def test_a_shape_is_compiled_when_jax_traces():
    fd = define(lambda fd, x: fd.ops.exp(x) * 1.25, (1, FLOAT))
    compiled = jax.jit(lambda x: call(fd, x)).lower(np.zeros(77, "f")).compile()
    program = fd._compiled_row_major((1, 0), [])
    before = program.layouts_for([("f32", [77])], [])
    close(compiled(np.zeros(77, "f")), [jnp.full(77, 1.25)])
    assert before[0][5] == [77]


@pytest.mark.parametrize("seed", range(40))
def test_random_definitions(seed):
    made = RandomDefinition(seed)
    for _ in range(3):
        inputs = made.arrays(made.sizes())
        outputs, updated = made.expected(inputs)
        wanted = outputs if updated is None else [*outputs, updated]
        count = len(made.types)
        compiled = jax.jit(lambda *arrays, numbers=inputs[count:]: call(made.definition, *arrays, *numbers))
        for got in (call(made.definition, *inputs), compiled(*inputs[:count]),
                    jax.jit(lambda *inputs: call(made.definition, *inputs))(*inputs)):
            assert len(got) == len(wanted)
            for one, other in zip(got, wanted):
                assert one.dtype == other.dtype and one.shape == other.shape
                np.testing.assert_allclose(np.asarray(one, "d"), np.asarray(other, "d"), rtol=2e-3, atol=2e-3)


# --- gradients ---


def test_gradients_need_a_backward():
    x = jnp.asarray(values(3, 4))
    for refused in (lambda: jax.grad(lambda x: call(SCALED, x, 2)[0].sum())(x),
                    lambda: jax.jvp(lambda x: call(SCALED, x, 2)[0], (x,), (x,)),
                    lambda: jax.jit(jax.grad(lambda x: call(SCALED, x, 2)[0].sum()))(x)):
        with pytest.raises(TypeError, match="no gradient flows through a program; backward=program"):
            refused()
    def second(x):
        return call(SCALED, x, 3.0, backward=lambda x, s, g: g * s)[0].sum()

    for refused in (lambda: jax.hessian(second)(x), lambda: jax.grad(lambda x: jax.grad(second)(x).sum())(x)):
        with pytest.raises(TypeError, match="has first derivatives alone, by reverse mode"):
            refused()
    stopped = jax.grad(lambda x: (x * call(SCALED, jax.lax.stop_gradient(x), 2)[0]).sum())(x)
    close([stopped], [x * 2])
    counted = define(lambda fd, n: n + 1, (1, DataType.Int32))  # nothing flows through integers
    for transform in (lambda function: function, jax.jit):
        gradient = transform(jax.grad(lambda x: x.sum() * call(counted, jnp.argmax(x, 1))[0].sum()))(x)
        close([gradient], [jnp.full((3, 4), float((jnp.argmax(x, 1) + 1).sum()))])


def test_gradients_by_a_program_and_by_a_function():
    squares = define(lambda fd, x, n, s: (x * x * s, fd.ops.cast(x, DataType.Int32)), (2, FLOAT), (1, DataType.Int32),
                     (None, DataType.Double))
    by_program = define(lambda fd, x, n, s, g: x * g * s * 2.0, (2, FLOAT), (1, DataType.Int32),
                        (None, DataType.Double), (2, FLOAT))
    x, n = jnp.asarray(values(3, 4)), jnp.arange(3)
    for backward in (by_program, lambda x, n, s, g: 2 * x * g * s, lambda x, n, s, g: [2 * x * g * s]):
        def loss(x, n, backward=backward):
            return (call(squares, x * 3, n, 0.5, backward=backward)[0] * x).sum()

        for transform in (lambda function: function, jax.jit, lambda function: jax.checkpoint(function)):
            close([transform(jax.grad(loss))(x, n)], [jax.grad(lambda x: ((x * 3) ** 2 * 0.5 * x).sum())(x)])

    @fuse
    def scaled(x, w):
        return {"first": x * w, "second": tnp.exp(x)}

    @fuse
    def scaled_backward(x, w, first, second):
        return first * w + second * tnp.exp(x), (first * x).sum(axis=0)

    w = jnp.asarray(values(4, seed=1))

    def total(result):
        return (result["first"] * jnp.cos(w)).sum() + result["second"].sum()

    got = jax.jit(jax.grad(lambda x, w: total(call(scaled, x, w, backward=scaled_backward)), argnums=(0, 1)))(x, w)
    wanted = jax.grad(lambda x, w: total({"first": x * w, "second": jnp.exp(x)}), argnums=(0, 1))(x, w)
    close(got, [wanted[0] + 0, wanted[1] + got[1] - got[1]])
    with pytest.raises(TypeError, match="backward gives 2 gradients; legal is one for each of the 1 arrays"):
        jax.grad(lambda x: call(SCALED, x, 2, backward=lambda x, s, g: (g, g))[0].sum())(x)


# --- what is refused ---


def test_what_does_not_fit_is_refused_when_jax_traces():
    x = values(3, 4)
    sized = define(lambda fd, x, n: fd.ops.iota(n, None, None, DataType.Int32), (1, FLOAT), (None, DataType.Int))
    wide = define(lambda fd, x: fd.ops.cast(x, DataType.Int), (2, FLOAT))
    narrow = define(lambda fd, x: fd.ops.cast(x, FLOAT), (2, DataType.Double))
    with FusionDefinition() as unseeded:
        shape = unseeded.define_tensor([-1], contiguity=True)
        unseeded.add_output(unseeded.ops.uniform(0.0, 1.0, [unseeded.ops.size(shape, 0)]))
    for words, refused in {
        "1 inputs for a definition that has 2": lambda x: call(SCALED, x),
        "3 inputs for a definition that has 2": lambda x: call(SCALED, x, 1, 2),
        "input 0 has elements of type float16, and the definition's are float32":
            lambda x: call(SCALED, x.astype("float16"), 1),
        "has 2 axes, but a tensor of rank 1": lambda x: call(SCALED, x[0], 1),
        "axis 0 has size 2, but i0 is 3 elsewhere": lambda x: call(SUMS, x, x[:2]),
        "input 1 is a scalar of type DataType.Double, and float32\\[3, 4\\] was given": lambda x: call(SCALED, x, x),
        "input 1 is a scalar of type DataType.Int, and float32\\[\\] was given": lambda x: call(sized, x[0], x[0, 0]),
        "2.5 was given; an i64 is a whole number": lambda x: call(sized, x[0], 2.5),
        "does not fit 64 bits": lambda x: call(sized, x[0], 2**63),
        "the size of axis 0 of output 0 depends on an array": lambda x: call(sized, x[0], x[0, 0].astype(int)),
        "output 0 has elements of type int64, which JAX has with jax_enable_x64 alone": lambda x: call(wide, x),
        "the definition's are float64, which JAX has with jax_enable_x64 alone": lambda x: call(narrow, x),
        "have no seed": lambda x: call(unseeded, x[0]),
    }.items():
        for function in (refused, jax.jit(refused)):
            with pytest.raises(BindError, match=words):
                function(jnp.asarray(x))
    for words, refused in {
        "takes a FusionDefinition or a function of tokamak.fuse, not 3": lambda x: call(3, x),
        "a definition has no argument y": lambda x: call(SCALED, x, y=1),
        "knows an array by itself that JAX is tracing": jax.jit(lambda x: call(fuse(lambda y: x + y), x)),
        "not a valid JAX array type": lambda x: call(SCALED, "x", 1),
    }.items():
        with pytest.raises(TypeError, match=words):
            refused(jnp.asarray(x))
    unfinished = FusionDefinition()
    unfinished.define_tensor([-1])
    with pytest.raises(tokamak.DefinitionError, match="not finished"):
        call(unfinished, x[0])


def test_a_function_that_knew_a_tracer_forgets_it():
    held = {}
    adding = fuse(lambda x: x + held["y"])

    def outer(x):
        held["y"] = x
        return call(adding, x)

    with pytest.raises(TypeError, match="knows an array by itself"):
        jax.jit(outer)(values(3))
    held["y"] = jnp.ones(3)
    close([jax.jit(lambda x: call(adding, x))(np.zeros(3, "f"))], [jnp.ones(3)])


def test_an_executable_of_nobodys_program_tells_so():
    def unknown(x):
        return jax.ffi.ffi_call("tokamak_call", [jax.ShapeDtypeStruct((3,), "float32")])(x, program="nobody's")

    call(SCALED, values(2, 2), 1)
    with pytest.raises(Exception, match="which this process does not have"):
        jax.jit(unknown)(values(3))
    with pytest.raises(ValueError, match="custom calls? (without|whose targets have no) compatibility|no "
                                         "compatibility"):
        jax.export.export(jax.jit(lambda x: call(SCALED, x, 2)))(values(3, 4))


def test_a_jax_that_is_too_old_is_refused(monkeypatch):
    monkeypatch.setattr(_call, "_is_registered", False)
    monkeypatch.delattr(jax.ffi, "register_ffi_type")
    with pytest.raises(NotImplementedError, match="needs jax.ffi.register_ffi_type, which jax .* does not have"):
        call(SCALED, values(2, 2), 1)


# --- lifetimes, threads, caches ---


def test_executables_outlive_definitions():
    def made():
        fd = define(lambda fd, x: x * 5 + 1, (1, FLOAT))
        return jax.jit(lambda x: call(fd, x)).lower(np.zeros(3, "f")).compile(), weakref.ref(fd)

    compiled, definition = made()
    jax.clear_caches()
    gc.collect()
    _programs.forget_programs()
    assert definition() is None
    close(compiled(np.ones(3, "f")), [jnp.full(3, 6.0)])


def test_two_definitions_that_say_the_same_share_a_program():
    first, second = (define(lambda fd, x: x * 7, (1, FLOAT)) for _ in range(2))
    close(call(first, np.ones(3, "f")), [jnp.full(3, 7.0)])
    key = _call._keys_of[first]
    close(call(second, np.ones(3, "f")), [jnp.full(3, 7.0)])
    assert _call._keys_of[second] is key
    other = define(lambda fd, x: x * 8, (1, FLOAT))
    close(call(other, np.ones(3, "f")), [jnp.full(3, 8.0)])
    assert _call._keys_of[other] != key


def test_definitions_that_go_leave_nothing():
    def one(number):
        fd = define(lambda fd, x: x * float(number) + 1, (1, FLOAT))
        close(jax.jit(lambda x: call(fd, x))(np.ones(3, "f")), [jnp.full(3, number + 1.0)])

    def settled():
        jax.clear_caches()
        gc.collect()
        _programs.forget_programs()
        gc.collect()
        return len(_call._keys), _programs.program_count()

    settled()
    one(0)
    before = settled()
    for number in range(1, 30):
        one(number)
    after = settled()
    assert after[0] <= before[0] and after[1] <= before[1]


def test_a_subclass_defines_and_schedules_itself():
    class Scaled(FusionDefinition):
        def definition(self):
            self.x = self.define_tensor([-1, -1], contiguity=True)
            self.y = self.x * 3.0
            self.add_output(self.y)

        def schedule(self):
            self.sched.merge(self.y, 0)

    x = values(4, 8)
    close(jax.jit(lambda x: call(Scaled(), x))(x), [jnp.asarray(x) * 3])
    scheduled = Scaled()
    close(call(scheduled, x), [jnp.asarray(x) * 3])
    assert scheduled._native.is_scheduled


def test_threads_trace_and_run():
    fds = [define(lambda fd, x, n=n: fd.ops.sum(x * float(n), 1), (2, FLOAT)) for n in range(3)]
    shared = jax.jit(lambda x: call(fds[1], x)[0])
    wrong = []

    def work(number):
        own = jax.jit(lambda x: call(fds[number % 3], x)[0] + number)
        for i in range(20):
            x = np.full((2 + i % 4, 8), number, "f")
            if not (own(x) == 8 * number * (number % 3) + number).all() or not (shared(x) == 8 * number).all():
                wrong.append(number)

    run_in_threads(work, range(6))
    assert not wrong


def test_python_runs_while_a_call_does():
    fd = define(lambda fd, x: fd.ops.sum(fd.ops.exp(fd.ops.sin(fd.ops.exp(x))), 0), (2, FLOAT))
    compiled = jax.jit(lambda x: call(fd, x)[0])
    x = jnp.ones((3000, 3000))
    compiled(x).block_until_ready()
    ticks, is_over = [], threading.Event()

    def tick():
        while not is_over.wait(0.001):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.perf_counter()
    for _ in range(5):
        compiled(x).block_until_ready()
    taken = time.perf_counter() - started
    is_over.set()
    thread.join()
    assert len(ticks) >= taken / 0.1  # one for each tenth of a second at least


def run_alone(program, **environment):
    done = subprocess.run([sys.executable, "-B", "-c", BEGINNING + program], capture_output=True, text=True,
                          timeout=300, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


BEGINNING = """
import sys
import jax, numpy as np, tokamak.jax
from tokamak import FusionDefinition

def scaled(number):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(x * number)
    return fd
"""


def test_an_executable_in_jaxs_cache_on_disk_runs_its_own_program(tmp_path):
    program = """
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
for number in (%s):
    fd = scaled(number)
    print(jax.jit(lambda x: tokamak.jax.call(fd, x)[0] + 1)(np.ones((2, 3), "f"))[0, 0])
"""
    for numbers, wanted in (("2.0, 3.0", ["3.0", "4.0"]), ("3.0, 2.0, 4.0", ["4.0", "3.0", "5.0"])):
        assert run_alone(program % numbers, JAX_COMPILATION_CACHE_DIR=str(tmp_path)) == wanted


def test_several_devices_of_the_host():
    told = run_alone("""
fd = scaled(3.0)
mesh = jax.make_mesh((2,), ("i",))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
x = jax.device_put(np.arange(8, dtype="f").reshape(4, 2), sharding)
print(float(jax.jit(lambda x: tokamak.jax.call(fd, x)[0])(x).sum()))
mapped = jax.shard_map(lambda x: tokamak.jax.call(fd, x)[0], mesh=mesh, in_specs=sharding.spec, out_specs=sharding.spec)
print(float(jax.jit(mapped)(x).sum()))
second = jax.device_put(np.ones((2, 2), "f"), jax.devices()[1])
print(tokamak.jax.call(fd, second)[0].sum(), len(jax.devices()))
print(jax.pmap(lambda x: tokamak.jax.call(fd, x)[0])(np.ones((2, 2, 2), "f")).sum())
""", XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert told == ["84.0", "84.0", "12.0", "2", "24.0"]


def test_a_process_ends_with_calls_under_way():
    run_alone("""
fd = scaled(3.0)
f = jax.jit(lambda x: tokamak.jax.call(fd, x)[0])
kept = [f(np.ones((2000, 2000), "f")) for _ in range(8)]
""")


def test_memory_does_not_grow_with_programs():
    told = run_alone("""
import gc, resource
from tokamak.jax import _call

def memory():
    jax.clear_caches()
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20

def several(first, count):
    for i in range(first, first + count):
        fd = scaled(float(i % 40))
        tokamak.jax.call(fd, np.ones((2, 3), "f"))
        if i % 50 == 49:
            jax.clear_caches()

several(0, 200)
before = memory()
several(200, 1000)
print(memory() - before, len(_call._keys), len(_call._keys_of))
""")
    grown, keys, definitions = map(float, told)
    assert grown < 60 and keys <= 40 and definitions <= 1
