"""tokamak.profile(): counts, times and traces of calls, whoever makes them."""
import json
import os
import signal
import threading
import time

import numpy as np
import pytest

import tokamak
import tokamak.numpy as tnp
from shared import run_in_threads
from tokamak import FusionDefinition, config, fuse

A = np.random.default_rng(0).random((64, 256), np.float32)


def softmax(name="profiled"):
    with FusionDefinition(id=name) as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.softmax(x, 1))
    fd.execute([A])
    return fd


def test_counts_bytes_and_times():
    fd = softmax()
    with tokamak.profile() as p:
        for _ in range(7):
            fd.execute([A])
    kernel, = p.kernels
    assert kernel.calls == 7 and kernel.bytes == 2 * A.nbytes and kernel.name.startswith("fusion_profiled: ")
    assert 0 < kernel.least_seconds <= kernel.mean_seconds <= kernel.most_seconds <= kernel.total_seconds
    assert kernel.bytes_per_second == pytest.approx(kernel.bytes * 7 / kernel.total_seconds)
    calls, = p.calls
    assert (calls.name, calls.calls) == ("fusion_profiled", 7)
    assert kernel.total_seconds <= calls.total_seconds and calls.work_seconds == pytest.approx(kernel.total_seconds)
    assert p.host_seconds == pytest.approx(calls.total_seconds - kernel.total_seconds)
    assert p.total_seconds == calls.total_seconds and p.kernel_seconds == kernel.total_seconds


def test_sizes_are_rows_of_their_own():
    fd = softmax()
    with tokamak.profile() as p:
        fd.execute([A])
        fd.execute([A[:8].copy()])
    assert sorted(each.bytes for each in p.kernels) == [2 * A.nbytes // 8, 2 * A.nbytes]
    assert [each.calls for each in p.calls] == [2]


def test_nothing_is_seen_outside():
    fd = softmax()
    p = tokamak.profile()
    fd.execute([A])
    with p:
        pass
    fd.execute([A])
    assert p.kernels == [] and p.calls == [] and p.table() == "no calls"
    with pytest.raises(RuntimeError, match="a profile is on once"), p:
        pass


def test_profiles_nest():
    fd = softmax()
    with tokamak.profile() as outer:
        fd.execute([A])
        with tokamak.profile() as inner:
            fd.execute([A])
            fd.execute([A])
        fd.execute([A])
    assert outer.kernels[0].calls == 4 and inner.kernels[0].calls == 2


def test_a_profile_ends_with_an_error():
    fd = softmax()
    with pytest.raises(tokamak.BindError), tokamak.profile() as p:
        fd.execute([A[0]])
    fd.execute([A])
    assert p.kernels == []


def test_programs_of_one_name_are_told_apart():
    first, second = softmax("same"), softmax("same")
    with FusionDefinition(id="same") as third:
        third.add_output(third.ops.exp(third.define_tensor([-1, -1], contiguity=True)) + 1)
    with tokamak.profile() as p:
        for fd in (first, second, third):
            fd.execute([A])
    assert sorted((each.name, each.calls) for each in p.calls) == [("fusion_same", 1), ("fusion_same", 2)]
    assert "fusion_same #0" in p.table() and "fusion_same #1" in p.table()


def test_fused_functions_and_other_threads():
    @fuse
    def scaled(x, n):
        return tnp.exp(x) * n

    scaled(A, 1)
    with tokamak.profile() as p:
        run_in_threads(lambda n: [scaled(A, n) for _ in range(5)], range(1, 5))
    assert sum(each.calls for each in p.kernels) == 20
    assert [(each.name, each.calls) for each in p.calls] == [("scaled", 20)]


def test_calls_of_any_kind_are_seen():
    with FusionDefinition(id="view") as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.broadcast(x, [True, False, False]))
        fd.add_output(fd.ops.exp(x) + 1)
    with tokamak.profile() as p:
        fd.execute([A])  # which compiles, too
        fd.execute([A], out=fd.execute([A]))
    assert [each.calls for each in p.calls] == [3]
    assert sum(each.calls for each in p.kernels) >= 3


def test_devices_that_are_opened_meanwhile():
    fd = softmax()
    with tokamak.profile() as p, config(num_threads=2, streams=3):
        fd.execute([A])
    assert p.kernels[0].calls == 1


def test_a_call_of_any_kind_is_one_call():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(x, alias_input=x)
        fd.add_output(fd.ops.permute(x, [1, 0]) + 1, stride_order=[0, 1])
        fd.add_output(x)
    with tokamak.profile() as p:
        for _ in range(3):
            fd.execute([A.copy()])
    calls, = p.calls
    assert calls.calls == 3


def test_traces(tmp_path):
    fd = softmax()
    with tokamak.profile() as p:
        for _ in range(3):
            fd.execute([A])
    with pytest.raises(TypeError):
        p.chrome_trace(1)  # which would be standard output
    p.chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [each for each in events if each["ph"] == "X"]
    assert sorted(each["name"].split(":")[0] for each in spans) == ["fusion_profiled"] * 6
    tracks = {each["args"]["name"] for each in events if each["ph"] == "M"}
    assert any(each.startswith("stream ") for each in tracks) and any("calls of thread" in each for each in tracks)
    with pytest.raises(OSError):
        p.chrome_trace(tmp_path / "none" / "trace.json")


def test_a_trace_has_an_end():
    fd = softmax()
    with tokamak.profile(most_events=3) as p:
        for _ in range(4):
            fd.execute([A])
    assert p.kernels[0].calls == 4 and "5 events are not in the trace" in p.table()
    for number in (-1, 2**63):
        with pytest.raises(ValueError):
            tokamak.profile(most_events=number)


def test_tables_and_html():
    fd = softmax()
    with tokamak.profile() as p:
        fd.execute([A])
        assert repr(p).startswith("<profile, on>")
    lines = p.table().splitlines()
    assert lines[0].split() == ["program", "calls", "total", "mean", "kernels", "host", "host", "/", "call"]
    assert "GB/s" in lines[-1] and "128 KiB" in lines[-1] and repr(p) == p.table()
    page = p._repr_html_()
    assert "<svg" in page and "fusion_profiled" in page and "<style" not in page


def test_profiles_as_older_scripts_ask_for_them():
    fd = softmax()
    np.testing.assert_allclose(fd.execute([A], profile=True)[0].sum(1), 1, rtol=1e-5)
    p = fd.profile()
    assert len(p.kernel_profiles) == 1 and p.kernel_time_ms > 0 and p.host_time_ms > 0
    assert p.effective_bandwidth_gbs == pytest.approx(p.kernel_profiles[0].effective_bandwidth_gbs)
    assert p.kernel_profiles[0].time_ms == pytest.approx(p.kernel_time_ms)
    fd.execute([A])
    assert fd.profile() is p


def test_profiles_come_and_go_while_others_work():
    fd, stop = softmax(), threading.Event()

    def work():
        while not stop.is_set():
            fd.execute([A])

    threads = [threading.Thread(target=work) for _ in range(2)]
    for each in threads:
        each.start()
    try:
        for _ in range(50):
            with tokamak.profile() as p:
                fd.execute([A])
            assert p.kernels[0].calls >= 1
    finally:
        stop.set()
        for each in threads:
            each.join()


def test_bound_calls_are_seen():
    call = tokamak.compile(softmax()).bind([np.ones((4, 8), np.float32)])
    with tokamak.profile() as p:
        for _ in range(10):
            call()
    assert [each.calls for each in p.calls] == [10]


def test_a_process_that_is_forked_while_others_are_measured_measures_anew():
    fd, x, is_over = softmax(), np.ones((4, 8), np.float32), threading.Event()
    fd.execute([x])

    def call(_):
        while not is_over.is_set():
            fd.execute([x])

    threads = [threading.Thread(target=call, args=[each]) for each in range(3)]
    with tokamak.profile():
        for each in threads:
            each.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                with tokamak.profile():
                    pass
                os._exit(0)
            deadline = time.monotonic() + 20
            while os.waitpid(child, os.WNOHANG) == (0, 0):
                if time.monotonic() > deadline:
                    os.kill(child, signal.SIGKILL)
                    is_over.set()
                    raise AssertionError("the child does not end")
                time.sleep(0.001)
        is_over.set()
    for each in threads:
        each.join()
