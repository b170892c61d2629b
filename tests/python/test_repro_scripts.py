"""Scripts that repeat a call: they run as they stand, and are written when the library fails."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tokamak
import tokamak.numpy as tnp
from tokamak import (
    DataType, FusionDefinition, MemoryType, ParallelType, SchedulerType, _repro, config, definition, fuse)

A = np.random.default_rng(0).random((6, 8), np.float32)


@pytest.fixture(autouse=True)
def _no_scripts_yet(monkeypatch):
    monkeypatch.setattr(_repro, "_written", set())
    monkeypatch.setattr(_repro, "_is_limit_told", False)


def run(text, tmp_path, **environment):
    """What the script prints, in a process of its own."""
    path = tmp_path / "script.py"
    path.write_text(text)
    done = subprocess.run([sys.executable, "-B", str(path)], env={**os.environ, **environment}, capture_output=True,
                          text=True)
    assert done.returncode == 0, f"{done.stderr}\n{text}"
    return done.stdout


def doubled():
    with FusionDefinition(id="twice") as fd:
        fd.add_output(fd.ops.abs(fd.define_tensor([-1, -1])) * 2)
    return fd


def broken(code):
    """What stands for a compilation that fails with an error of this kind."""
    def program_for(*_):
        error = tokamak.Error("it broke")
        error.code = code
        raise error

    return program_for


def test_a_script_runs_as_it_stands(tmp_path):
    text = doubled().repro_script_for([A])
    assert "FusionDefinition(id='twice')" in text
    printed = run(text, tmp_path)
    assert printed.count("[") == 7
    assert run(text, tmp_path) == printed  # the values are those of a seed


def test_saved_inputs_give_the_same_results(tmp_path):
    given = np.asfortranarray(A)
    with config(repro_folder=str(tmp_path)):
        text = doubled().repro_script_for([given], save_inputs=True)
    assert len(list(tmp_path.glob("*.npz"))) == 1
    printed = run(text + "\nassert inputs[0].strides == (4, 24)\nnp.save('result.npy', outputs[0])\n", tmp_path)
    assert printed
    np.testing.assert_array_equal(np.load("result.npy"), 2 * A)
    os.remove("result.npy")


def test_only_what_has_elements_is_saved(tmp_path):
    class Nothing:
        shape, dtype = (4, 8), "float32"

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **named):
            raise BufferError("gone")

    with config(repro_folder=str(tmp_path)), pytest.raises(
            TypeError, match="input 0, a Nothing, has no elements that can be saved"):
        doubled().repro_script_for([Nothing()], save_inputs=True)


def test_the_last_call_and_all_kinds_of_inputs(tmp_path):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], dtype=DataType.Double)
        index = fd.define_tensor([-1], dtype=DataType.Int)
        mask = fd.define_tensor([-1], dtype=DataType.Bool)
        n = fd.define_scalar(DataType.Double)
        fd.add_output(fd.ops.where(mask, fd.ops.sum(fd.ops.index_select(x, index, 0), 1) * n, 0.0))
        fd.add_output(fd.ops.uniform(0.0, 1.0, [fd.define_scalar(4)], dtype=DataType.Float))
    fd.execute([A.astype(np.float64)[:, ::2], np.array([5, 3]), np.array([True, False]), float("inf")])
    last, asked = fd.last_repro_script(), fd.repro_script_for(
        [A.astype(np.float64)[:, ::2], np.array([5, 3]), np.array([True, False]), 2.5])
    assert "array([6, 4], [8, 2], 'float64', 0, 1, 0)" in last and "float('inf')" in last
    assert "array([2], [1], 'int64', 3, 5, 1)" in asked and "\n    2.5,\n" in asked
    run(last, tmp_path)
    run(asked, tmp_path)


def test_schedules_by_hand_are_in_it(tmp_path):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.exp(x)
        z = fd.ops.sum(y, 1)
        fd.add_output(z)
    copy = fd.sched.cache_after(x)
    fd.sched.split(z, 1, 4)
    partial = fd.sched.rfactor(z, iter([1]))
    fd.sched.set_memory_type(partial, MemoryType.local)
    fd.sched.reorder(partial, {0: 1, 1: 0})
    fd.sched.reorder(partial, {0: 1, 1: 0})
    fd.sched.parallelize(z, 0, ParallelType.grid_x)
    with pytest.raises(tokamak.ScheduleError):
        fd.sched.split(z, 9, 2)
    fd.sched.transform_like(partial, selected_tensors=[y])
    wanted = fd.sched.user_schedule_ir()
    text = fd.repro_script_for([A])
    for words in ("= fd.sched.cache_after(T0)", "= fd.sched.rfactor(T2, [1])", "MemoryType.local", "{0: 1, 1: 0}",
                  "ParallelType.grid_x"):
        assert words in text, text
    assert "split(T2, 9" not in text and copy is not None
    before = text.replace("outputs = fd.execute(inputs)", "print(fd.sched.user_schedule_ir())\nraise SystemExit")
    assert run(before, tmp_path).rstrip() == wanted.rstrip()
    np.testing.assert_allclose(fd.execute([A])[0], np.exp(A).sum(1), rtol=1e-5)


def test_schedules_of_a_class_and_by_heuristics(tmp_path):
    class Sums(FusionDefinition):
        def definition(self):
            x = self.define_tensor([-1, -1], contiguity=True)
            self.add_output(self.ops.sum(self.ops.exp(x), 1))

        def schedule(self):
            parameters = self.sched.compute_reduction_heuristics()
            parameters.accumulators = 8
            self.sched.schedule()

    fd = Sums()
    fd.execute([A])
    text = fd.last_repro_script()
    assert "parameters = fd.sched.compute_reduction_heuristics(device='cpu')" in text
    assert "parameters.accumulators = 8" in text
    wanted = fd._native.scheduled_text()
    printed = run(text + "print(fd._native.scheduled_text())\n", tmp_path)
    assert printed.rstrip().endswith(wanted.rstrip())


def test_a_kind_of_kernel_is_in_it(tmp_path):
    fd = doubled()
    fd.sched.schedule(SchedulerType.pointwise)
    fd.execute([A])
    text = fd.last_repro_script()
    assert "compute_pointwise_heuristics" in text
    run(text, tmp_path)


@pytest.mark.parametrize("code, is_noted", [("internal", True), ("compile", True), ("race", True), ("device", True),
                                            ("bind", False), ("definition", False), ("unsupported", False),
                                            ("host program", False),
                                            ("out of memory", False), ("cancelled", False)])
def test_failures_of_the_library_write_one(tmp_path, monkeypatch, code, is_noted):
    monkeypatch.setattr(definition, "program_for", broken(code))
    with config(repro_folder=str(tmp_path)), pytest.raises(tokamak.Error) as caught:
        doubled().execute([A])
    notes = getattr(caught.value, "__notes__", [])
    assert bool(notes) == is_noted == bool(list(tmp_path.iterdir()))
    if is_noted:
        path = re.search(r"tokamak: (\S+) repeats the call", notes[0])[1]
        assert pathlib.Path(path).parent == tmp_path
        run(pathlib.Path(path).read_text(), tmp_path)
        before = set(tmp_path.iterdir())
        with config(repro_folder=str(tmp_path)), pytest.raises(tokamak.Error):
            doubled().execute([A])
        assert set(tmp_path.iterdir()) == before  # equal scripts are one file


def test_failures_may_keep_inputs_or_write_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(definition, "program_for", broken("internal"))
    with config(repro="off", repro_folder=str(tmp_path)), pytest.raises(tokamak.Error) as caught:
        doubled().execute([A])
    assert not hasattr(caught.value, "__notes__") and not list(tmp_path.iterdir())
    with config(repro_inputs=True, repro_folder=str(tmp_path)), pytest.raises(tokamak.Error):
        doubled().execute([A])
    assert sorted(each.suffix for each in tmp_path.iterdir()) == [".npz", ".py"]


def test_a_script_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(definition, "program_for", broken("internal"))
    (tmp_path / "file").write_text("")
    folder = str(tmp_path / "file" / "below")
    with config(repro_folder=folder), pytest.raises(tokamak.Error, match="it broke") as caught:
        doubled().execute([A])
    assert "no script could be written" in caught.value.__notes__[0]


def test_a_process_writes_few_and_says_so_once(tmp_path, monkeypatch):
    monkeypatch.setattr(definition, "program_for", broken("internal"))
    notes = []
    with config(repro_folder=str(tmp_path), repro_inputs=True):
        for rows in range(1, _repro.MOST_SCRIPTS + 4):
            with pytest.raises(tokamak.Error) as caught:
                doubled().execute([np.ones((rows, 3), np.float32)])
            notes.append(getattr(caught.value, "__notes__", []))
    assert len(list(tmp_path.glob("*.py"))) == len(list(tmp_path.glob("*.npz"))) == _repro.MOST_SCRIPTS == 16
    assert all("repeats the call" in each for each, in notes[:16])
    assert "no script repeats this call: 16 were written by this process" in notes[16][0]
    assert notes[17:] == [[], []]


def test_a_stream_mark_that_is_none_writes_none(tmp_path):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.sum(x, 1))
    fd.sched.parallelize(x, 1, ParallelType.stream)
    with config(repro_folder=str(tmp_path)), pytest.raises(tokamak.Error, match="no stream loop runs") as caught:
        fd.execute([A])
    assert not hasattr(caught.value, "__notes__") and not list(tmp_path.iterdir())


def test_fused_functions_fail_with_one(tmp_path, monkeypatch):
    @fuse
    def scaled(x, n):
        return tnp.exp(x) * n + x.shape[0] // (n + 1)

    monkeypatch.setattr(definition, "program_for", broken("internal"))
    with config(repro_folder=str(tmp_path)), pytest.raises(tokamak.Error) as caught:
        scaled(A, 3)
    assert "tokamak_repro_scaled_" in caught.value.__notes__[0]
    run(next(tmp_path.glob("*.py")).read_text(), tmp_path)


def test_printed_on_demand(capsys, tmp_path):
    fd = doubled()
    fd.execute([A], print_repro=True)
    printed = capsys.readouterr().out
    assert "T1 = fd.ops.abs(arg=T0)" in printed
    run(printed, tmp_path)
    with config(repro_folder=str(tmp_path / "kept")):
        fd.execute([A], print_repro=True, save_repro_inputs=True)
        assert "np.load(" in capsys.readouterr().out
        fd.execute([A], save_repro_inputs=True)
    path = re.search(r"tokamak: (\S+) repeats the call", capsys.readouterr().out)[1]
    run(pathlib.Path(path).read_text(), tmp_path)


COMPILER = """\
#!/bin/sh
# A compiler that does what files beside it say when it is given a kernel.
if [ -e "$0.slow" ]; then sleep 20; fi
if [ -e "$0.broken" ]; then echo "no more memory" >&2; exit 1; fi
exec cc "$@"
"""


@pytest.fixture
def compiler(tmp_path):
    path = tmp_path / "compiler"
    path.write_text(COMPILER)
    path.chmod(0o755)
    return path


def in_a_process(code, compiler, tmp_path):
    head = ("import numpy as np, pathlib, tokamak\n"
            "from tokamak import FusionDefinition\n"
            f"compiler = pathlib.Path({str(compiler)!r})\n"
            "tokamak.config.set(compiler=str(compiler), cache_folder=str(compiler.parent / 'cache'))\n"
            "x = np.ones((4, 8), np.float32)\n"
            "def made(n):\n"
            "    with FusionDefinition() as fd:\n"
            "        fd.add_output(fd.ops.exp(fd.define_tensor([-1, -1], contiguity=True)) + n)\n"
            "    return fd\n"
            "made(1.0).execute([x])\n")
    return run(head + textwrap.dedent(code), tmp_path, TMPDIR=str(tmp_path))


def test_a_compiler_that_breaks(compiler, tmp_path):
    printed = in_a_process("""
        pathlib.Path(f"{compiler}.broken").touch()
        try:
            made(2.0).execute([x])
        except tokamak.Error as error:
            print(error.code, error.__notes__[0])
        pathlib.Path(f"{compiler}.broken").unlink()
        exec(next(compiler.parent.glob("tokamak_repro_*.py")).read_text())
        """, compiler, tmp_path)
    assert printed.startswith("compile tokamak: ") and printed.count("[") == 5


def test_a_signal_ends_a_compilation(compiler, tmp_path):
    printed = in_a_process(f"""
        import os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job may ignore
        pathlib.Path(f"{{compiler}}.slow").touch()
        fd = made(3.0)
        started = time.monotonic()
        threading.Timer(0.5, os.kill, (os.getpid(), {int(signal.SIGINT)})).start()
        try:
            fd.execute([x])
        except KeyboardInterrupt:
            print(time.monotonic() - started)
        pathlib.Path(f"{{compiler}}.slow").unlink()
        print(fd.execute([x])[0][0, 0])
        """, compiler, tmp_path)
    seconds, value = map(float, printed.split())
    assert 0.5 <= seconds < 3 and value == pytest.approx(np.e + 3)


def test_long_compilations_are_told_in_the_log(compiler, tmp_path):
    printed = in_a_process("""
        import io, logging, os, threading, time
        log = io.StringIO()
        logging.basicConfig(level=logging.INFO, stream=log)
        compiler.write_text(compiler.read_text().replace("sleep 20", "sleep 2.6"))
        pathlib.Path(f"{compiler}.slow").touch()
        made(4.0).execute([x])
        with tokamak.config(progress=False):
            made(5.0).execute([x])
        print(log.getvalue())
        """, compiler, tmp_path)
    assert printed.strip() == "INFO:tokamak:compiling kernels: 0 of 1 are there after 2 s"
