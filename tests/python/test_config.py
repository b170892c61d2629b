"""tokamak.config: who wins, what is refused, and programs that are made with options."""
import contextvars
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import tokamak
from tokamak import FusionDefinition, _progress, config, fuse


def doubled():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.abs(fd.define_tensor([-1])) * 2)
    return fd


X = np.arange(6, dtype=np.float32)


@pytest.fixture(autouse=True)
def _as_before():
    yield
    config.set(num_threads=None, streams=None, kernels=None, repro=None)


def test_the_innermost_wins(monkeypatch):
    assert (config.get("num_threads"), config.show()["num_threads"].source) == (0, "default")
    monkeypatch.setenv("TOKAMAK_NUM_THREADS", "3")
    assert (config.get("num_threads"), config.show()["num_threads"].source) == (3, "environment")
    config.set(num_threads=2)
    assert (config.get("num_threads"), config.show()["num_threads"].source) == (2, "process")
    with config(num_threads=1):
        assert (config.get("num_threads"), config.show()["num_threads"].source) == (1, "context")
        with config(num_threads=4, streams=2):
            assert config.get("num_threads") == 4 and config.get("streams") == 2
        assert config.get("num_threads") == 1 and config.get("streams") == 4
    config.set(num_threads=None)
    assert config.get("num_threads") == 3


def test_a_context_is_of_its_thread():
    seen = []
    with config(num_threads=1):
        thread = threading.Thread(target=lambda: seen.append(config.get("num_threads")))
        thread.start()
        thread.join()
    assert seen == [0]


@pytest.mark.parametrize("options, error, words", [
    ({"threads": 1}, TypeError, "config has no option 'threads'; legal are num_threads, kernels"),
    ({"num_threads": -1}, ValueError, "config: num_threads is -1; legal are 0 and more"),
    ({"num_threads": "many"}, ValueError, "config: num_threads: 'many' is no int"),
    ({"num_threads": 1.5}, TypeError, "config: num_threads: 1.5 is no integer"),
    ({"streams": 0}, ValueError, "config: streams is 0; legal are 1 and more"),
    ({"kernels": "fast"}, ValueError, "'fast' is not legal; legal are compiled, compiled-only, op-by-op, interpreted"),
    ({"progress": "maybe"}, ValueError, "'maybe' is neither on nor off; legal are 1, true, on"),
    ({"progress": 2}, TypeError, "config: progress: True and False are legal"),
    ({"repro_folder": 3}, TypeError, "config: repro_folder: a text is legal, not 3"),
    ({"compiler": "clang"}, ValueError, "compiler counts for the whole process; legal are config.set"),
])
def test_what_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        config(**options)
    if "compiler" not in options:
        with pytest.raises(error, match=words):
            config.set(**options)


def test_options_of_a_call_are_checked():
    with pytest.raises(TypeError, match="options: a dictionary of options of tokamak.config is legal, not 7"):
        doubled().execute([X], options=7)
    with pytest.raises(TypeError, match="config has no option 'threads'"):
        doubled().execute([X], options={"threads": 1})


def test_what_the_environment_says_is_checked(monkeypatch):
    monkeypatch.setenv("TOKAMAK_STREAMS", "none")
    with pytest.raises(ValueError, match="TOKAMAK_STREAMS: 'none' is no int"):
        config.get("streams")


def test_options_of_the_process_come_first():
    doubled().execute([X])
    with pytest.raises(ValueError, match="compiler is read once, when a device is opened, which has happened"):
        config.set(compiler="clang")


def test_the_table_says_all():
    text = repr(config.show())
    assert text == str(config.show())
    for name in ("num_threads", "TOKAMAK_CC", "default", "meaning"):
        assert name in text
    assert {each.name for each in config.show()} >= {"kernels", "cache_folder"}
    assert config.show()[0].name == "num_threads"


def test_options_make_programs_of_their_own():
    fd = doubled()
    fd.execute([X])
    usual = fd._program
    with config(kernels="interpreted"):
        np.testing.assert_array_equal(fd.execute([X])[0], 2 * X)
        assert fd._program is not usual
        assert [kernel.origin for each in fd.explain().segments for kernel in each.kernels] == ["interpreted"]
    np.testing.assert_array_equal(fd.execute([X])[0], 2 * X)
    assert fd._program is usual
    np.testing.assert_array_equal(fd.execute([X], options={"kernels": "op-by-op"})[0], 2 * X)
    assert fd._program is not usual
    fd.execute([X])
    assert fd._program is usual and fd._fast is not None


def test_a_limit_of_memory_is_kept():
    @fuse
    def two_sums(x):
        return x.sum(0).sum(0) * 2

    x = np.ones((64, 64), np.float32)
    two_sums(x)
    limit = config(most_intermediate_bytes=1)
    with limit, pytest.raises(tokamak.OutOfMemoryError, match="the limit that was set is 1"):
        two_sums(x)
    assert two_sums(x) == 2 * 64 * 64


def test_other_threads_go_on_while_a_context_is_open():
    fd, stop, results = doubled(), threading.Event(), []
    fd.execute([X])

    def work():
        while not stop.is_set():
            results.append(fd.execute([X])[0])

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(20):
        with config(kernels="op-by-op"):
            np.testing.assert_array_equal(fd.execute([X])[0], 2 * X)
    stop.set()
    thread.join()
    assert results and all(np.array_equal(each, 2 * X) for each in results)


def test_the_environment_steers_a_process():
    code = ("import numpy as np, tokamak\n"
            "tokamak.config.set(compiler='no-such-compiler')\n"
            "with tokamak.FusionDefinition() as fd:\n"
            "    fd.add_output(fd.ops.sum(fd.define_tensor([-1]) * 2, 0))\n"
            "try:\n"
            "    fd.execute([np.ones(4, np.float32)])\n"
            "except tokamak.Error as error:\n"
            "    print(tokamak.config.get('kernels'), error)\n")
    environment = {**os.environ, "TOKAMAK_KERNELS": "compiled-only"}
    run = subprocess.run([sys.executable, "-B", "-c", code], env=environment, capture_output=True, text=True)
    assert run.stdout.startswith("compiled-only "), run.stderr
    assert "no-such-compiler" in run.stdout


def test_a_bar_is_shown_after_a_while_and_closed(monkeypatch):
    class Bar:
        made = []

        def __init__(self, total, **_):
            self.total, self.n, self.is_closed = total, 0, False
            self.made.append(self)

        def update(self, count):
            self.n += count

        def close(self):
            self.is_closed = True

    monkeypatch.setattr(_progress, "_tqdm", lambda: Bar)
    _progress._told(0, 3, 1.0)
    _progress._told(0, 3, -1.0)
    assert Bar.made == []
    for done in (1, 1, 2):
        _progress._told(done, 3, 2.5)
    bar, = Bar.made
    assert (bar.total, bar.n, bar.is_closed) == (3, 2, False)
    _progress._told(3, 3, -1.0)
    assert (bar.n, bar.is_closed) == (3, True)
    with config(progress=False):
        _progress._told(1, 3, 2.5)
    _progress._told(1, 3, -1.0)
    assert Bar.made == [bar]


def test_a_task_that_outlives_its_block_has_the_outer_options():
    with config(kernels="interpreted"):
        left = contextvars.copy_context()
        assert contextvars.copy_context().run(config.get, "kernels") == "interpreted"
    assert left.run(config.get, "kernels") == "compiled"
    fd = doubled()
    left.run(fd.execute, [np.ones(4, np.float32)])
    assert left.run(config.part, "device") == config.part("device") == ()


def test_changes_of_the_process_reach_open_contexts():
    with config(progress=False):
        assert config.part("device") == ()
        config.set(num_threads=1)
        assert config.part("device") == (("threads", 1),)
        config.set(num_threads=None)
        assert config.part("device") == ()


def test_contexts_come_and_go_while_definitions_are_made():
    raised = []

    def enter(_):
        try:
            for _ in range(300):
                with config(progress=False):
                    pass
        except RuntimeError as error:
            raised.append(error)

    maker = threading.Thread(target=lambda: [FusionDefinition() for _ in range(3000)])
    maker.start()
    enter(None)
    maker.join()
    assert raised == [] and not config.is_in_contexts


def test_options_are_attributes():
    config.num_threads = 1
    assert (config.num_threads, config.show()["num_threads"].source) == (1, "process")
    assert config.part("device") == (("threads", 1),)
    with config(num_threads=2):
        assert config.num_threads == 2
    config.num_threads = None
    assert config.num_threads == 0 and "num_threads" in dir(config)
    with pytest.raises(AttributeError, match="config has no option 'threads'; legal are num_threads, kernels"):
        config.threads = 1
    with pytest.raises(AttributeError, match="config has no option 'threads'; legal are num_threads, kernels"):
        config.threads
    with pytest.raises(ValueError, match="config: num_threads is -1"):
        config.num_threads = -1
    with pytest.raises(AttributeError, match="config has no option 'set'"):
        config.set = 1
    with pytest.raises(KeyError, match="config has no option 'threads'; legal are num_threads, kernels"):
        config.show()["threads"]


def test_an_empty_variable_is_none(monkeypatch):
    for each in config.show():
        monkeypatch.setenv(each.variable, "")
    assert {each.source for each in config.show()} == {"default"}


def test_a_context_may_be_entered_again():
    one = config(num_threads=1)
    for _ in range(2):
        with one:
            assert config.num_threads == 1
            with config(num_threads=2):
                with one, one:
                    assert config.num_threads == 1
                assert config.num_threads == 2
            assert config.num_threads == 1
        assert config.num_threads == 0
    with pytest.raises(RuntimeError, match="a context is left that is not entered"):
        one.__exit__(None, None, None)
    assert one(config.get)("num_threads") == 1 and not config.is_in_contexts


def test_one_context_on_several_threads():
    one, left, seen = config(num_threads=1), threading.Event(), []

    def work():
        with one:
            left.wait(10)
            seen.append(config.num_threads)
        seen.append(config.num_threads)

    thread = threading.Thread(target=work)
    with one:
        thread.start()
    assert config.num_threads == 0
    left.set()
    thread.join()
    assert seen == [1, 0] and not config.is_in_contexts


def test_contexts_are_left_in_any_order():
    outer, inner = config(num_threads=1, streams=2), config(num_threads=2)
    outer.__enter__()
    inner.__enter__()
    assert config.part("compile") == (("streams", 2),) and config.part("device") == (("threads", 2),)
    outer.__exit__(None, None, None)
    assert config.part("compile") == () and config.part("device") == (("threads", 2),)
    assert config.num_threads == 2 and config.streams == 4
    inner.__exit__(None, None, None)
    assert config.num_threads == 0 and not config.is_in_contexts


def test_generators_that_end_in_turn_keep_no_contexts():
    def block(threads):
        with config(num_threads=threads):
            yield config.num_threads

    last = block(1)
    next(last)
    for threads in range(2, 2000):
        following = block(threads)
        assert next(following) == threads
        last.close()
        last = following
    assert config.num_threads == 1999
    ended = contextvars.copy_context()
    ended.run(last.close)  # in another context than the one that has entered it
    assert config.num_threads == 0 and not config.is_in_contexts
