"""Programs compiled ahead of their calls: host programs, plans, bound calls, the interpreter, exported files."""
import importlib.util
import multiprocessing
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import tokamak
import tokamak.numpy
import tokamak.testing
from shared import run_in_threads
from tokamak import DataType, FusionDefinition, ParallelType

ROOT = pathlib.Path(__file__).resolve().parents[2]


def softmax():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.softmax(fd.define_tensor([-1, -1], contiguity=True), 1))
    return fd


def softmax_of(x):
    e = np.exp(np.float64(x) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def numbers(*sizes):
    return np.random.default_rng(0).standard_normal(sizes).astype(np.float32)


# --- compile ---


def test_a_program_is_called_with_arrays_by_position_and_by_name():
    with FusionDefinition() as fd:
        x, y, factor = fd.define_tensor([-1]), fd.define_tensor([-1]), fd.define_scalar(DataType.Double)
        fd.add_output(x * factor - y)
    program = tokamak.compile(fd)
    x, y = numbers(5), numbers(5)
    assert [each.name for each in program.inputs] == ["T0", "T1", program.inputs[2].name]
    assert [each.ndim for each in program.inputs] == [1, 1, None]
    for given in (program(x, y, 2.0), program(x, T1=y, **{program.inputs[2].name: 2.0}), program.run([x, y, 2.0]),
                  program.run({"T1": y, "T0": x, program.inputs[2].name: 2})):
        np.testing.assert_allclose(given[0], 2 * x - y, rtol=1e-6)


@pytest.mark.parametrize("call, sentence", [
    (lambda p, x: p(x), "1 inputs for a definition that has 2"),
    (lambda p, x: p(x, T0=x), "the input 'T0' is given twice"),
    (lambda p, x: p(x, T5=x), "there is no input 'T5'; its inputs are T0, T1"),
    (lambda p, x: p(T1=x), "the input 'T0' is missing"),
    (lambda p, x: p(x, np.ones(7, np.float32)), "7"),
    (lambda p, x: p(x, x, out=[]), "out: 0 arrays for 1 outputs"),
    (lambda p, x: p(x.astype(np.float64), x), "f64"),
])
def test_what_does_not_fit_a_program_is_refused(call, sentence):
    with FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]) + fd.define_tensor([-1]))
    with pytest.raises(tokamak.BindError, match=sentence):
        call(tokamak.compile(fd), numbers(5))


def test_a_program_writes_into_given_arrays():
    x, y = numbers(4, 6), np.empty((4, 6), np.float32)
    assert tokamak.compile(softmax())(x, out=[y])[0] is y
    np.testing.assert_allclose(y, softmax_of(x), rtol=1e-5)


def test_a_program_updates_its_inputs():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        fd.add_output(x + 1.0, x)
        fd.add_output(x * 2.0)
    program = tokamak.compile(fd)
    x = np.ones(3, np.float32)
    assert [each.tolist() for each in program(x)] == [[2, 2, 2]]
    assert x.tolist() == [2, 2, 2]


@pytest.mark.parametrize("name, value", [
    ("streams", 0), ("streams", "4"), ("calls_in_flight", 0), ("most_plans", -1), ("most_intermediate_bytes", -5),
    ("makes_kernels", "yes"), ("proves_plans", 2), ("streams", 1025), ("calls_in_flight", 10**9)])
def test_options_that_cannot_be_are_refused(name, value):
    with pytest.raises((TypeError, ValueError), match=f"compile: {name}"):
        tokamak.compile(softmax(), **{name: value})


@pytest.mark.parametrize("source, kind, sentence", [
    (5, TypeError, "compile takes a FusionDefinition, a text or a path, not 5"),
    ("no_such_file.fusion", FileNotFoundError, "no_such_file"),
    ("fusion f(x: f32[n]) -> y { y = foo(x) }", tokamak.Error, "foo"),
    ("% nonsense\n", tokamak.Error, "program:1:"),
])
def test_sources_that_are_none_are_refused(source, kind, sentence):
    with pytest.raises(kind, match=sentence):
        tokamak.compile(source)


def test_messages_name_the_file_of_a_text(tmp_path):
    file = tmp_path / f"{'long' * 40}.fusion"
    file.write_text("fusion f(x: f32[n]) -> y { y = foo(x) }")
    with pytest.raises(tokamak.Error, match=f"{file}:1:"):
        tokamak.compile(file)


def test_a_device_that_is_none_is_refused():
    with pytest.raises(ValueError, match="device 'tpu' is none; legal are 'cpu', 'cuda', 'cuda:0' and 'interpreter'"):
        tokamak.compile(softmax(), "tpu")


def test_memory_that_is_too_little_is_an_error():
    source = "fusion f(x: f32[n, m]) -> y { t = sum(x, axes=[0]) s = segment_set(t) y = sum(s, axes=[0]) }"
    x = numbers(4, 5000)
    np.testing.assert_allclose(tokamak.compile(source)(x)[0], x.sum(), rtol=1e-3)
    with pytest.raises(tokamak.OutOfMemoryError):
        tokamak.compile(source, most_intermediate_bytes=1)(x)


def test_random_numbers_need_a_seed():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.uniform(0.0, 1.0, [4]))
    with pytest.raises(tokamak.UnsupportedError, match="compile: the definition draws random numbers"):
        tokamak.compile(fd)


# --- host programs ---

STREAMS = """
fusion rows(x: f32[n, m], w: f32[m, k]) -> y {
  y = matmul(x, w)
}
schedule {
  parallelize(y, axis=0, type=Stream)
}
"""


def test_the_text_of_a_fusion_runs_on_streams():
    program = tokamak.compile(STREAMS, streams=3)
    x, w = numbers(7, 5), numbers(5, 4)
    np.testing.assert_allclose(program(x=x, w=w)[0], x @ w, rtol=1e-4, atol=1e-5)
    plan = program.plan_for([x, w])
    assert plan.streams == 4  # the call's own, and three workers
    assert 0 < plan.waits_kept <= plan.waits_written
    assert "stream 3: " in str(plan) and "stream 4" not in str(plan)
    assert plan.output_bytes == 7 * 4 * 4


def test_a_definition_runs_on_streams():
    with FusionDefinition() as fd:
        x, w = fd.define_tensor([-1, -1], contiguity=True), fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.matmul(x, w)
        fd.add_output(y)
    fd.sched.parallelize(y, 0, ParallelType.stream)
    program = tokamak.compile(fd, streams=2)
    x, w = numbers(7, 5), numbers(5, 4)
    np.testing.assert_allclose(program(x, w)[0], x @ w, rtol=1e-4, atol=1e-5)
    assert "FOR" in program.host_text()
    assert program.plan_for([x, w]).streams == 3


def test_the_text_of_a_host_program_runs():
    program = tokamak.compile(STREAMS)
    again = tokamak.compile(program.host_text())
    x, w = numbers(6, 5), numbers(5, 3)
    np.testing.assert_array_equal(again(x, w)[0], program(x, w)[0])
    with pytest.raises(tokamak.UnsupportedError, match="the source of"):
        again._native.call([x, w], None).kernel_texts(False)


def test_a_host_program_with_a_race_is_refused():
    program = tokamak.compile(ROOT / "examples/lessons/race.host_ir")
    x = numbers(1024)
    with pytest.raises(tokamak.Error, match="race") as raised:
        program(x)
    assert raised.value.code == "race"


def test_statistics_count_calls_and_plans():
    program = tokamak.compile(softmax(), most_plans=2)
    for rows in (2, 3, 2, 4, 5):
        program(numbers(rows, 8))
    now = program.statistics()
    assert (now.new_calls, now.known_calls) == (4, 1)
    assert now.forgotten >= 2
    assert now.plans <= 2


def test_threads_look_at_plans_that_others_push_out():
    program = tokamak.compile(softmax(), most_plans=1)
    run_in_threads(lambda first: [program.plan_for([numbers(first + i % 20, 8)]).text for i in range(60)], (1, 8))


def test_prepared_sizes_compile_nothing_later():
    program = tokamak.compile("fusion f(x: f32[n, m]) -> y { y = softmax(x, axis=1) }")
    program.prepare(n=16, m=32)
    before = program.statistics().new_calls
    program(numbers(16, 32), out=[np.empty((16, 32), np.float32)])
    assert program.statistics().new_calls == before
    with pytest.raises(tokamak.BindError, match="no extent or scalar 'rows'"):
        program.prepare(rows=4)


def test_a_host_program_updates_what_its_text_says():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True)
        fd.add_output(x + 1.0, alias_input=x)
        fd.add_output(x * 2.0)
    first = tokamak.compile(fd)
    for program in (first, tokamak.compile(first.host_text())):
        x = np.arange(3, dtype=np.float32)
        assert program.output_names == ["T2"]
        assert program(x, out=[np.empty(3, np.float32)])[0].tolist() == [0, 2, 4] and x.tolist() == [1, 2, 3]


@pytest.mark.parametrize("call, kind, sentence", [
    (lambda p: p.prepare(n="6"), TypeError, "prepare: n='6' is no size; an integer is legal"),
    (lambda p: p.prepare(n=True), TypeError, "prepare: n=True is no size"),
    (lambda p: p.prepare(n=2**70), ValueError, f"prepare: n: {2**70} does not fit 64 bits"),
    (lambda p: p.prepare([6]), TypeError, "prepare: sizes: a mapping of names to sizes is legal, not .6."),
    (lambda p: p.prepare({0: 6}), TypeError, "prepare: sizes: 0 is no name of an extent"),
])
def test_sizes_that_are_none_are_not_prepared(call, kind, sentence):
    program = tokamak.compile("fusion f(x: f32[n]) -> y { y = exp(x) }")
    program.prepare(n=np.int64(6))
    with pytest.raises(kind, match=sentence):
        call(program)


@pytest.mark.skipif(importlib.util.find_spec("ml_dtypes") is not None, reason="NumPy has a bfloat16")
def test_numpy_alone_has_no_bfloat16():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.cast(fd.define_tensor([-1], contiguity=True), DataType.BFloat16))
    program, x = tokamak.compile(fd), numbers(3)
    for call in (lambda: fd.execute([x]), lambda: program(x), lambda: program.bind([x]),
                 lambda: tokamak.testing.check(fd, [x]), lambda: tokamak.compile(fd, "interpreter")(x),
                 lambda: tokamak.fuse(lambda x: tokamak.numpy.astype(x, DataType.BFloat16))(x),
                 lambda: fd.execute([x])):
        with pytest.raises(tokamak.UnsupportedError, match="NumPy has no bfloat16 of its own: install ml_dtypes"):
            call()

# --- bound calls ---


def test_a_bound_call_reads_and_writes_its_arrays_anew():
    x, y = numbers(4, 6), np.empty((4, 6), np.float32)
    call = tokamak.compile(softmax()).bind([x], out=[y])
    for _ in range(3):
        x[:] = numbers(4, 6) + np.random.rand()
        assert call()[0] is y
        np.testing.assert_allclose(y, softmax_of(x), rtol=1e-5)


def test_a_bound_call_holds_on_to_its_program_and_arrays():
    call = tokamak.compile(softmax()).bind([numbers(4, 6)])
    np.testing.assert_allclose(call()[0], softmax_of(numbers(4, 6)), rtol=1e-5)
    assert call.outputs[0] is call()[0]


def test_a_bound_call_keeps_its_outputs_whatever_becomes_of_the_list():
    x = numbers(2000, 2000)
    call = tokamak.compile(softmax()).bind([x])
    call().clear()
    outputs = call()
    outputs[0] = None
    np.testing.assert_allclose(call()[0][:3], softmax_of(x)[:3], rtol=1e-5)
    assert len(call.outputs) == 1


def test_a_bound_call_updates_its_inputs():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        fd.add_output(x + 1.0, x)
        fd.add_output(x * 2.0)
    x = np.zeros(3, np.float32)
    call = tokamak.compile(fd).bind([x])
    for _ in range(5):
        call()
    assert x.tolist() == [5, 5, 5]


def test_outputs_that_repeat_elements_are_bound_in_full():
    with FusionDefinition() as fd:
        column = fd.ops.broadcast(fd.define_tensor([-1]), [False, True])
        fd.add_output(fd.ops.expand(column, [2, 3]) * 2.0)
    x, wanted = np.arange(2, dtype=np.float32), [[0, 0, 0], [2, 2, 2]]
    program, y = tokamak.compile(fd), np.empty((2, 3), np.float32)
    for out in (None, [y]):
        call = program.bind([x], out=out)
        assert call()[0].tolist() == wanted and call.outputs[0].flags.writeable
        assert program.run([x], out)[0].tolist() == wanted
        assert call.outputs[0].strides == (12, 4)
    assert y.tolist() == wanted


def test_a_call_without_arrays_is_bound():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.iota(3))
    call = tokamak.compile(fd).bind([])
    assert call()[0].tolist() == [0, 1, 2] and call()[0] is call.outputs[0]


def test_threads_run_one_bound_call():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        fd.add_output(x + 1.0, x)
        fd.add_output(x * 2.0)
    x = np.zeros(1000, np.float32)
    call = tokamak.compile(fd).bind([x])
    run_in_threads(lambda _: [call() for _ in range(200)], range(4))
    assert set(x.tolist()) == {800.0}


@pytest.mark.parametrize("inputs", [[], [[1.0, 2.0]], [np.ones((2, 2), np.float32)] * 2])
def test_what_cannot_be_bound_is_refused(inputs):
    with pytest.raises((tokamak.UnsupportedError, tokamak.BindError)):
        tokamak.compile(softmax()).bind(inputs)


def test_axes_in_texts_are_counted_from_0():
    with FusionDefinition() as fd:
        x, i = fd.define_tensor([-1, -1], contiguity=True), fd.define_tensor([-1, -1], dtype=DataType.Int)
        for each in (fd.ops.cat([x, x], 1), fd.ops.flip(x, 1), fd.ops.take_along_axis(x, i, 1),
                     fd.ops.permute(x, [1, 0])):
            fd.add_output(each)
    text = tokamak.compile(fd, makes_kernels=False).host_text()
    for old, new in ((", 1 )", ", -1 )"), ("axes = {1}", "axes = {-1}"), ("axis = 1 )", "axis = -1 )"),
                     ("order={1, 0}", "order={-1, 0}")):
        assert text.count(old) == 1, text
        with pytest.raises(tokamak.Error, match="has the axis -1 in (axis|axes|order); axes are counted from 0"):
            tokamak.compile(text.replace(old, new), makes_kernels=False)


# --- the interpreter ---


def test_the_interpreter_is_a_device():
    x = numbers(5, 37)
    program = tokamak.compile(softmax(), "interpreter")
    assert program.device == "interpreter"
    np.testing.assert_allclose(program(x)[0], softmax_of(x), rtol=1e-5)
    fd = softmax()
    np.testing.assert_allclose(fd.execute([x], device="interpreter")[0], softmax_of(x), rtol=1e-5)
    np.testing.assert_allclose(fd.execute([x])[0], softmax_of(x), rtol=1e-5)


def test_the_interpreter_knows_sizes_that_the_host_computes():
    with FusionDefinition() as fd:
        real, x = fd.define_scalar(dtype=DataType.Double), fd.define_tensor([-1], contiguity=True)
        width = fd.ops.cast(fd.ops.mul(real, 2.0), DataType.Int)
        fd.add_output(fd.ops.pad(x, [width, fd.ops.cast(fd.ops.floor(real), DataType.Int)]))
        fd.add_output(fd.ops.reshape(x, [4, fd.ops.div(x.size(0), 4)]))
    x = numbers(8)
    for device in ("cpu", "interpreter"):
        padded, shaped = fd.execute([2.6, x], device=device)
        np.testing.assert_array_equal(padded, np.pad(x, (5, 2)))
        np.testing.assert_array_equal(shaped, x.reshape(4, 2))


# --- exported programs ---


@pytest.fixture
def file(tmp_path):
    return tmp_path / "softmax.tk"


def test_an_exported_program_is_loaded_and_runs(file):
    fd = softmax()
    made = tokamak.export(fd, file, sizes={"i0": range(0, 1000), fd.extents()[1]: [8, 12]})
    assert file.read_bytes() == made
    assert made.targets[0].target == "native" and made.targets[0].kernels > 0
    for program in (tokamak.load(file), tokamak.load(str(file)), tokamak.load(bytes(made)), tokamak.load(made)):
        for rows, columns in ((1, 8), (999, 12), (0, 8)):
            x = numbers(rows, columns)
            np.testing.assert_array_equal(program(x)[0].shape, x.shape)
            if rows:
                np.testing.assert_allclose(program(x)[0], softmax_of(x), rtol=1e-5)
        with pytest.raises(tokamak.BindError, match="no kernel of"):
            program(numbers(3, 9))
        with pytest.raises(tokamak.BindError, match="no kernel of"):
            program(numbers(1000, 8))


def test_an_exported_program_may_compile_what_it_lacks(file):
    tokamak.export(softmax(), file, inputs=[numbers(3, 8)])
    program = tokamak.load(file, compiles=True)
    np.testing.assert_allclose(program(numbers(4, 9))[0], softmax_of(numbers(4, 9)), rtol=1e-5)


def test_an_exported_program_runs_without_a_compiler_in_another_process(file):
    tokamak.export(softmax(), file, inputs=[numbers(3, 8)])
    script = ("import numpy as np, sys, tokamak; "
              "y, = tokamak.load(sys.argv[1])(np.ones((3, 8), np.float32)); print(y.sum())")
    environment = {**os.environ, "TOKAMAK_CC": "/none", "PATH": "", "TOKAMAK_CACHE_DIR": "/none"}
    done = subprocess.run([sys.executable, "-c", script, file], env=environment, capture_output=True, text=True,
                          timeout=60)
    assert done.stdout.startswith("3."), done.stderr


def test_an_exported_program_runs_on_the_interpreter(file):
    tokamak.export(softmax(), file, inputs=[numbers(3, 8)])
    np.testing.assert_allclose(tokamak.load(file, "interpreter")(numbers(3, 8))[0], softmax_of(numbers(3, 8)),
                               rtol=1e-5)


def test_code_for_a_gpu_is_exported_without_one(file):
    made = tokamak.export(softmax(), file, inputs=[numbers(3, 8)], processors=["x86-64-v3"], gpus=["sm_90a"])
    assert [each.target for each in made.targets] == ["x86-64-v3", "sm_90a"]


@pytest.mark.parametrize("given, kind, sentence", [
    ({"sizes": {"i0": 3}}, tokamak.BindError, "i1"),
    ({"sizes": {"i0": 3, "i1": 4, "rows": 5}}, tokamak.BindError, "no extent 'rows'; it has i0, i1"),
    ({"sizes": {"i0": [], "i1": 4}}, ValueError, "the sizes of i0 are \\[\\]; legal are 1 and more"),
    ({"sizes": {"i0": -3, "i1": 4}}, ValueError, "the sizes of i0 are -3; legal are 1 and more where sizes are listed"),
    ({"sizes": {"i0": 0, "i1": 4}}, ValueError, "the sizes of i0 are 0; legal are 1 and more where sizes are listed"),
    ({"inputs": [numbers(0, 4)]}, ValueError, "i0 is 0 in these; legal are 1 and more .* ranges may begin at 0"),
    ({"inputs": [numbers(3, 4).astype(np.float64)]}, tokamak.BindError, "0 has elements of float64; legal is f32"),
    ({"inputs": [[3, 4]]}, tokamak.BindError, "input 0 is .*; an array of f32 is legal"),
    ({"sizes": [3, 4]}, TypeError, "sizes: a mapping of names to sizes is legal, not .3, 4."),
    ({"sizes": dict.fromkeys(softmax().extents(), 3)}, ValueError, "i0.* is of another definition"),
    ({"file": "a\0b", "inputs": [numbers(3, 4)]}, ValueError, "export: .* is no path"),
    ({"sizes": {"i0": range(4, 0), "i1": 4}}, ValueError, "is no range of sizes"),
    ({"sizes": {"i0": range(0, 9, 2), "i1": 4}}, ValueError, "is no range of sizes"),
    ({"sizes": {"i0": range(1, 2**66), "i1": 4}}, ValueError, "does not fit 64 bits"),
    ({"sizes": {"i0": 1.5, "i1": 4}}, TypeError, "1.5 is no integer"),
    ({"sizes": {0: 1}}, TypeError, "0 is no name of an extent"),
    ({"inputs": []}, tokamak.BindError, "0 inputs for a definition that has 1"),
    ({"inputs": [numbers(3)]}, tokamak.Error, "1"),
    ({"inputs": [numbers(3, 4)], "processors": ["no-such-thing"]}, tokamak.Error, "no-such-thing"),
    ({"inputs": [numbers(3, 4)], "gpus": ["sm_1"]}, tokamak.Error, "sm_1"),
])
def test_exports_that_cannot_be_are_refused(given, kind, sentence):
    with pytest.raises(kind, match=sentence):
        tokamak.export(softmax(), **given)


def test_a_path_may_give_bytes(file):
    class Path:
        def __fspath__(self):
            return os.fsencode(file)

    tokamak.export(softmax(), Path(), inputs=[numbers(3, 8)])
    assert file.exists()
    np.testing.assert_allclose(tokamak.load(Path())(numbers(3, 8))[0], softmax_of(numbers(3, 8)), rtol=1e-5)


def test_an_export_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(OSError):
        tokamak.export(softmax(), tmp_path / "none" / "x.tk", inputs=[numbers(3, 8)])
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        tokamak.export(softmax(), tmp_path / "folder", inputs=[numbers(3, 8)])
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:100], lambda data: b"x" + data[1:],
                                    lambda data: data[:-200] + b"y" * 200])
def test_damaged_files_are_refused(file, damage):
    made = damage(bytes(tokamak.export(softmax(), inputs=[numbers(3, 8)])))
    with pytest.raises(tokamak.Error):
        tokamak.load(made)
    file.write_bytes(made)
    with pytest.raises(tokamak.Error):
        tokamak.load(file)


def test_files_of_others_are_refused(file):
    tokamak.export(softmax(), file, inputs=[numbers(3, 8)])
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o666)
    with pytest.raises(tokamak.Error, match="others may write to it"):
        tokamak.load(file)
    tokamak.load(file, trusts_any_owner=True)
    with pytest.raises(TypeError, match="load takes a path or bytes, not 5"):
        tokamak.load(5)
    with pytest.raises(ValueError, match="is no path in UTF-8"):
        tokamak.load("\udcff.tk")
    for name in ("streams", "calls_in_flight"):
        with pytest.raises(ValueError, match=f"load: {name}=0 is too small; legal are 1 to 1024"):
            tokamak.load(file, trusts_any_owner=True, **{name: 0})
        with pytest.raises(ValueError, match=f"load: {name}=1025 is too large; legal are 1 to 1024"):
            tokamak.load(file, trusts_any_owner=True, **{name: 1025})
    with pytest.raises(ValueError, match="load: .* is no path: a path has no null character"):
        tokamak.load("a\0b")


# --- threads, and the end ---


def test_threads_compile_and_call_side_by_side():
    program = tokamak.compile(softmax())
    wrong = []

    def work(seed):
        for columns in (3, 17, 64):
            x = np.random.default_rng(seed).standard_normal((5, columns)).astype(np.float32)
            if not np.allclose(program(x)[0], softmax_of(x), rtol=1e-5):
                wrong.append(seed)

    run_in_threads(work, range(8))
    assert not wrong


def test_a_program_goes_while_another_thread_calls_it():
    program = tokamak.compile(softmax())
    call = program.bind([numbers(40, 60)])
    done = []
    thread = threading.Thread(target=lambda call: done.extend(call() for _ in range(200)), args=[call])
    thread.start()
    del program, call
    thread.join()
    assert len(done) == 200


# --- processes that are forked ---


def in_a_child(work):
    """What a forked process says with the text that work() gives."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


def programs_of_all_kinds(file):
    fd = softmax()
    made = tokamak.export(fd, file, inputs=[numbers(3, 8)])
    text = "fusion f(x: f32[n, m]) -> y { y = softmax(x, axis=1) }"
    programs = [tokamak.compile(fd), tokamak.compile(text), tokamak.compile(fd, "interpreter"), tokamak.load(made),
                tokamak.load(file), tokamak.compile(tokamak.compile(text).host_text())]
    file.unlink()
    return programs


def test_a_forked_process_makes_programs_again(file):
    x = numbers(3, 8)
    programs = programs_of_all_kinds(file)
    wanted = [program(x)[0] for program in programs]

    def work():
        again = [[program(x)[0] for program in programs] for _ in range(2)]
        return " ".join(str(np.array_equal(a, b)) for each in again for a, b in zip(each, wanted))

    assert in_a_child(work) == " ".join(["True"] * 12)
    assert in_a_child(lambda: in_a_child(work)) == " ".join(["True"] * 12)
    for program, each in zip(programs, wanted):
        np.testing.assert_array_equal(program(x)[0], each)


def test_threads_of_a_forked_process_make_a_program_once():
    program, x = tokamak.compile(softmax()), numbers(3, 8)
    wanted = program(x)[0]

    def work():
        right = []
        run_in_threads(lambda _: right.append((id(program._native), np.array_equal(program(x)[0], wanted))), range(8))
        return f"{len(right)} {len(set(right))} {all(is_right for _, is_right in right)}"

    assert in_a_child(work) == "8 1 True"


def test_a_forked_process_looks_at_programs_first():
    program = tokamak.compile(softmax())
    program(numbers(3, 8))
    assert in_a_child(lambda: str(program.statistics().new_calls)) == "0"
    assert "never been called" in in_a_child(program.explain)
    assert in_a_child(lambda: repr(program)) == repr(program)


def test_a_forked_process_binds_again():
    program, x = tokamak.compile(softmax()), numbers(3, 8)
    call = program.bind([x])
    call()
    assert in_a_child(call) == ("Error: A bound call has threads and memory of the process that made it; bind it again "
                                "in this process, which was forked")
    assert in_a_child(lambda: str(np.array_equal(program.bind([x])()[0], call.outputs[0]))) == "True"
    np.testing.assert_allclose(call()[0], softmax_of(x), rtol=1e-5)


def sum_of_a_call(rows):
    return float(OF_A_POOL[0](numbers(rows, 8))[0].sum())


OF_A_POOL = []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Python's, for threads of the parent
def test_a_pool_of_forked_processes_calls_a_program():
    OF_A_POOL[:] = [tokamak.compile(softmax())]
    OF_A_POOL[0](numbers(3, 8))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        np.testing.assert_allclose(pool.map_async(sum_of_a_call, [1, 2, 3, 4]).get(60), [1, 2, 3, 4], rtol=1e-5)
