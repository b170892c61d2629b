"""Definitions with meshes, as ranks of a job run them: threads of this process, processes of mpirun, and GPUs of a fake
driver."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import tokamak
from shared import run_in_threads
from test_gpu_arrays import run as run_on_fake_gpu
from tokamak import Communicator, DataType, DeviceMesh, FusionDefinition, MultiDeviceExecutor, ParallelType, Sharding

RANDOM = np.random.default_rng(1)


def random(*sizes):
    return RANDOM.integers(-4, 5, sizes).astype(np.float32)


def divide(fd, tensor, axis, mesh, kind=ParallelType.mesh_x):
    """An axis in as many chunks as the mesh has devices."""
    fd.sched._set_device_mesh(tensor, mesh)
    fd.sched.split(tensor, axis, mesh.size, inner_split=False)
    fd.sched.parallelize(tensor, axis, kind)


def mlp(devices, function="relu"):
    """The hidden features of an MLP over devices: rows of the first weight, columns of the second."""
    mesh = DeviceMesh(devices)
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, 8], contiguity=True)
        w1, b1 = fd.define_tensor([16, 8], contiguity=True), fd.define_tensor([16], contiguity=True)
        w2 = fd.define_tensor([8, 16], contiguity=True)
        hidden = getattr(fd.ops, function)(fd.ops.linear(x, w1, b1))
        fd.add_output(fd.ops.linear(hidden, w2))
    fd.sched._set_device_mesh(x, mesh)
    divide(fd, w1, 0, mesh)
    divide(fd, w2, 1, mesh)
    return fd


def mlp_inputs():
    return [random(5, 8), random(16, 8), random(16), random(8, 16)]


def mlp_of(x, w1, b1, w2):
    return np.maximum(x @ w1.T + b1, 0) @ w2.T


def rows(devices):
    """Twice x, whose rows are spread over devices."""
    mesh = DeviceMesh(devices)
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(x * 2)
    divide(fd, x, 0, mesh)
    return fd


def sums(factor):
    """Those of the columns of factor x, whose rows two ranks have."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, 2], contiguity=True)
        fd.add_output(fd.ops.sum(x * factor, [0]))
    divide(fd, x, 0, DeviceMesh(2))
    return fd


def on_ranks(communicators, work):
    """work(communicator) of all ranks, in a thread each; what one raises is raised."""
    given, errors = {}, {}

    def run(communicator):
        try:
            given[communicator.rank] = work(communicator)
        except BaseException as error:  # of an assertion, too
            errors[communicator.rank] = error
            communicator.close()

    run_in_threads(run, communicators)
    if errors:
        first = errors[min(errors)]
        for rank in sorted(errors):
            first.add_note(f"rank {rank}: {errors[rank]!r}")
        raise first
    return [given[rank] for rank in sorted(given)]


# --- ranks that are threads ---


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_definition_with_meshes_is_computed_by_ranks_together(ranks):
    inputs = mlp_inputs()

    def work(communicator):
        executor = MultiDeviceExecutor(mlp(ranks), communicator)
        parts = executor.shard(inputs)
        assert [each.shape for each in parts] == [(5, 8), (16 // ranks, 8), (16,), (8, 16 // ranks)]
        assert all(each.flags.c_contiguous for each in parts)
        for _ in range(3):
            outputs = executor.run(parts)
        assert executor.statistics().new_calls == 1
        return outputs[0], executor.gather(outputs)[0]

    for own, whole in on_ranks(Communicator.local(ranks), work):
        np.testing.assert_array_equal(own, mlp_of(*inputs))
        np.testing.assert_array_equal(whole, own)


def test_the_last_part_may_be_short():
    x = random(7, 3)

    def work(communicator):
        executor = MultiDeviceExecutor(rows(3), communicator)
        assert executor.output_shardings == [Sharding(DeviceMesh(3), {0: 0})]
        return executor.shard([x])[0]

    parts = on_ranks(Communicator.local(3), work)
    assert [part.shape for part in parts] == [(3, 3), (3, 3), (1, 3)]
    np.testing.assert_array_equal(np.concatenate(parts), x)


def test_later_calls_with_parts_of_several_sizes_are_refused_where_the_extent_counts():
    """Each rank would divide by another number of rows, and what they send does not tell."""
    def with_rows(compute):
        with FusionDefinition() as fd:
            x = fd.define_tensor([-1, 2], contiguity=True)
            fd.add_output(compute(fd, x))
        divide(fd, x, 0, DeviceMesh(2))
        return fd

    def mean(fd, x):
        return fd.ops.mean(x, [0])

    def times_rows(fd, x):
        return x * fd.ops.cast(fd.ops.size(x, 0), DataType.Float)

    calls = [random(count, 2) for count in (6, 7, 8, 7, 6)]

    def work(communicator):
        for compute, expected in ((mean, lambda x: x.mean(0)), (times_rows, lambda x: x * len(x))):
            executor = MultiDeviceExecutor(with_rows(compute), communicator)
            for x in calls:
                parts = executor.shard([x])
                if len(x) == 7:
                    said = "i0 is 8 on rank 0 and 6 on rank 1; parts of several sizes do not tell the whole extent"
                    with pytest.raises(tokamak.CommunicationError, match=said) as caught:
                        executor.run(parts)
                    assert caught.value.fault == "mismatch"
                else:
                    np.testing.assert_allclose(executor.gather(executor.run(parts))[0], expected(x), rtol=1e-6)

    on_ranks(Communicator.local(2, timeout=30), work)


@pytest.mark.parametrize("count", [0, 1, 5, 6, 7])
def test_parts_of_several_sizes_are_legal_where_the_extent_does_not_count(count):
    x = random(count, 3)

    def work(communicator):
        executor = MultiDeviceExecutor(rows(3), communicator)
        return executor.gather(executor.run(executor.shard([x])))[0]

    for whole in on_ranks(Communicator.local(3, timeout=30), work):
        np.testing.assert_array_equal(whole, x * 2)


def test_parts_of_inputs_that_no_mark_reaches():
    """What is computed of them is replicated over the program's first mesh, without rank 1."""
    x, other = random(4, 3), random(5)

    def work(communicator):
        with FusionDefinition() as fd:
            marked, unmarked = fd.define_tensor([-1, 3], contiguity=True), fd.define_tensor([-1], contiguity=True)
            for output in (marked * 2, unmarked * 3):
                fd.add_output(output)
        divide(fd, marked, 0, DeviceMesh([0, 2]))
        executor = MultiDeviceExecutor(fd, communicator)
        parts = executor.shard([x, other])
        assert len(parts) == len(executor.inputs)
        assert executor.input_shardings[1] == executor.output_shardings[1] == Sharding(DeviceMesh([0, 2]), {})
        return executor.gather(executor.run(parts))

    for doubled, tripled in on_ranks(Communicator.local(3, timeout=30), work):
        np.testing.assert_array_equal(doubled, x * 2)
        np.testing.assert_array_equal(tripled, other * 3)


def test_parts_are_written_into_arrays_of_the_caller():
    x = random(6, 3)

    def work(communicator):
        executor = MultiDeviceExecutor(rows(3), communicator)
        (part,) = executor.shard([x])
        out = np.full_like(part, np.nan)
        (given,) = executor.run([part], out=[out])
        assert given is out
        np.testing.assert_array_equal(out, part * 2)
        return executor.gather([out])[0]

    for whole in on_ranks(Communicator.local(3), work):
        np.testing.assert_array_equal(whole, x * 2)


def test_ranks_without_a_part_have_no_inputs_and_outputs():
    x = random(2, 3)

    def work(communicator):
        executor = MultiDeviceExecutor(rows([2, 0]), communicator)
        given = executor.shard([x])
        assert len(given) == len(executor.inputs) == len(executor.output_names) == (communicator.rank != 1)
        return given, executor.gather(executor.run(given))[0]

    (first, _), (_, whole), (last, _) = on_ranks(Communicator.local(3), work)
    np.testing.assert_array_equal(first[0], x[1:])
    np.testing.assert_array_equal(last[0], x[:1])
    np.testing.assert_array_equal(whole, x * 2)


def test_meshes_of_two_dimensions():
    x = random(4, 6)
    mesh = DeviceMesh([[0, 1], [2, 3]])

    def work(communicator):
        with FusionDefinition() as fd:
            t = fd.define_tensor([4, 6], contiguity=True)
            fd.add_output(fd.ops.sum(t, 0))
        fd.sched._set_device_mesh(t, mesh)
        fd.sched.split(t, 0, 2, inner_split=False)
        fd.sched.parallelize(t, 0, ParallelType.mesh_y)
        fd.sched.split(t, 2, 2, inner_split=False)
        fd.sched.parallelize(t, 2, ParallelType.mesh_x)
        assert "mesh((0, 1), (2, 3))" in fd.sched.user_schedule_ir()
        executor = MultiDeviceExecutor(fd, communicator)
        (sharding,) = executor.input_shardings
        assert sharding.axis_sharded_on(ParallelType.mesh_x) == 1
        assert sharding.axis_sharded_on(ParallelType.mesh_y) == 0
        assert sharding.axis_sharded_on(ParallelType.mesh_z) == sharding.axis_sharded_on(ParallelType.grid_x) == -1
        return executor.gather(executor.run(executor.shard([x])))[0]

    for whole in on_ranks(Communicator.local(4), work):
        np.testing.assert_array_equal(whole, x.sum(0))


TEXT = """fusion f(x: f32[4, 2] mesh(0, 1)) -> y {
  y: f32[2] mesh(0, 1) = sum(x, axes=[0])
}
schedule {
  split(x, axis=0, factor=2, inner_split=false)
  parallelize(x, axis=0, type=DIDx)
}
"""


def test_texts_of_programs_over_devices(tmp_path):
    x = random(4, 2)
    path = tmp_path / "f.fusion"
    path.write_text(TEXT)

    def work(communicator):
        executor = MultiDeviceExecutor(TEXT if communicator.rank else path, communicator)
        assert "Communication" in executor.host_text()
        assert repr(executor) == f"<tokamak.MultiDeviceExecutor f on cpu, rank {communicator.rank} of 2>"
        with pytest.raises(tokamak.UnsupportedError, match="a FusionDefinition is legal here"):
            executor.shard([x])
        return executor([DeviceMesh(2).shard_tensor(x, 0, communicator.rank)])[0]

    for given in on_ranks(Communicator.local(2), work):
        np.testing.assert_array_equal(given, x.sum(0))


def test_texts_for_any_number_of_ranks():
    text = TEXT.replace("mesh(0, 1)", "mesh(ranks)").replace("factor=2", "factor=ranks").replace("[4, 2]", "[12, 2]")
    assert text != TEXT
    x = random(12, 2)

    def work(communicator):
        size = communicator.size
        return MultiDeviceExecutor(text, communicator)([DeviceMesh(size).shard_tensor(x, 0, communicator.rank)])[0]

    for ranks in (2, 3):
        for given in on_ranks(Communicator.local(ranks), work):
            np.testing.assert_allclose(given, x.sum(0), rtol=1e-6)


def test_a_method_for_meshes_and_a_schedule():
    class Doubled(FusionDefinition):
        def definition(self):
            self.x = self.define_tensor([4, 2], contiguity=True)
            self.y = self.x * 2
            self.add_output(self.y)

        def multidevice_schedule(self):
            divide(self, self.x, 0, DeviceMesh(2))

    x = random(4, 2)

    def work(communicator):
        executor = MultiDeviceExecutor(Doubled(), communicator)
        return executor.run(executor.shard([x]))[0]

    np.testing.assert_array_equal(np.concatenate(on_ranks(Communicator.local(2), work)), x * 2)


def test_without_a_communicator_it_is_for_one_device():
    x = random(3, 2)
    executor = MultiDeviceExecutor(rows(1))
    assert executor.communicator is None and executor.device == "cpu"
    np.testing.assert_array_equal(executor.gather(executor.run(executor.shard([x])))[0], x * 2)
    np.testing.assert_array_equal(rows(1).execute([x])[0], x * 2)
    with pytest.raises(tokamak.UnsupportedError, match="execute: the definition is spread over devices 0, 1, "):
        rows(2).execute([x])
    for make in (tokamak.compile, lambda fd: tokamak.export(fd, inputs=[x])):
        with pytest.raises(tokamak.UnsupportedError, match="the definition is spread over devices 0, 1"):
            make(rows(2))
    with pytest.raises(tokamak.UnsupportedError, match="for one device"):
        MultiDeviceExecutor(rows(2))


# --- order of calls ---


def test_calls_with_numbers_are_in_their_order():
    """Two threads per rank call in the wrong order."""
    communicators = Communicator.local(2)
    executors = {}

    def make(communicator):
        executors[communicator.rank] = MultiDeviceExecutor(mlp(2), communicator)

    run_in_threads(make, communicators)
    inputs = [mlp_inputs() for _ in range(4)]
    given = {}

    def call(at):
        rank, number = at
        parts = executors[rank].shard(inputs[number])
        given[rank, number] = executors[rank].run(parts, number=number)[0]

    run_in_threads(call, [(rank, number) for rank in range(2) for number in reversed(range(4))])
    for (_, number), output in given.items():
        np.testing.assert_array_equal(output, mlp_of(*inputs[number]))
    assert len(given) == 8
    with pytest.raises(tokamak.Error, match="run: number 3 was given before; the next one is 4"):
        executors[0].run(executors[0].shard(inputs[0]), number=3)


def test_a_call_that_fails_has_had_its_turn():
    executor = MultiDeviceExecutor(rows(1), Communicator.local(1)[0])
    with pytest.raises(tokamak.BindError):
        executor.run([], number=0)
    x = random(2, 2)
    np.testing.assert_array_equal(executor.run([x], number=1)[0], x * 2)


def test_a_call_is_refused_while_another_thread_issues_one():
    communicators = Communicator.local(2)
    executors = [None, None]
    inputs = mlp_inputs()

    def make(communicator):
        executors[communicator.rank] = MultiDeviceExecutor(mlp(2), communicator)

    run_in_threads(make, communicators)
    refused = threading.Event()
    said = []

    def call_of_rank_0(_):
        try:
            executors[0].run(executors[0].shard(inputs))
        except tokamak.Error as error:
            said.append(str(error))
            refused.set()

    def call(at):
        if at < 2:
            return call_of_rank_0(at)
        assert refused.wait(60)  # while the other thread waits for this rank
        executors[1].run(executors[1].shard(inputs))

    run_in_threads(call, range(3))
    assert len(said) == 1 and "two threads call it at the same time" in said[0]


# --- errors ---


def test_a_rank_that_leaves_is_named():
    communicators = Communicator.local(2, timeout=30)
    inputs = mlp_inputs()
    made = threading.Barrier(2)
    told = []

    def work(communicator):
        executor = MultiDeviceExecutor(mlp(2), communicator)
        parts = executor.shard(inputs)
        executor.run(parts)
        made.wait(60)
        if communicator.rank == 1:
            return communicator.close()
        with pytest.raises(tokamak.CommunicationError, match="rank 1") as caught:
            while True:
                executor.run(parts)
        told.append((caught.value.rank, caught.value.fault, caught.value.code))

    run_in_threads(work, communicators)
    assert told == [(1, "left", "device")]


def test_a_call_that_does_not_fit_releases_the_other_ranks():
    inputs = mlp_inputs()

    def work(communicator):
        executor = MultiDeviceExecutor(mlp(2), communicator)
        parts = executor.shard(inputs)
        executor.run(parts)
        for wrong in ([], parts[:3], [*parts[:3], parts[0]], [*parts[:3], "x"]):
            error = tokamak.CommunicationError if communicator.rank else (tokamak.BindError, TypeError)
            with pytest.raises(error):
                executor.run(parts if communicator.rank else wrong)
        np.testing.assert_array_equal(executor.run(parts)[0], mlp_of(*inputs))

    on_ranks(Communicator.local(2, timeout=60), work)


@pytest.mark.parametrize("waits_in", ["first call", "later call", "exchange", "gather"])
def test_a_signal_ends_the_wait_for_another_rank(waits_in):
    """Its handler raises, as that of Ctrl-C does; the rank that comes later is told where there is a team."""
    class Alarm(Exception):
        pass

    def ring(number, frame):
        raise Alarm

    communicators = Communicator.local(2, timeout=20)
    x = random(4, 2)
    executors = on_ranks(communicators, lambda each: MultiDeviceExecutor(sums(1), each))
    parts = [executor.shard([x]) for executor in executors]
    if waits_in == "later call":
        on_ranks(communicators, lambda each: executors[each.rank].run(parts[each.rank]))
    waits = {"exchange": lambda: communicators[0].exchange(b"1"), "gather": lambda: executors[0].gather([x[0]])}
    old = signal.signal(signal.SIGALRM, ring)
    began = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Alarm):
            waits.get(waits_in, lambda: executors[0].run(parts[0]))()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    # (A first call may still wait for the compiler.)
    said = "rank 0 waits no more" if waits_in in waits else "rank 0 left team .*(interrupted by a signal|Alarm)"
    with pytest.raises(tokamak.CommunicationError, match=said) as caught:
        if waits_in == "exchange":
            communicators[1].exchange(b"2")
        elif waits_in == "gather":
            executors[1].gather([x[0]])
        else:
            executors[1].run(parts[1])
    assert caught.value.rank == 0 and caught.value.fault == "failed"
    assert time.monotonic() - began < 10
    if waits_in == "later call":  # both were told: the team is formed anew
        for given in on_ranks(communicators, lambda each: executors[each.rank].run(parts[each.rank])[0]):
            np.testing.assert_array_equal(given, x.sum(0))


def test_executors_called_in_another_order_are_told():
    """Both send as much, so that their sums would be mixed up."""
    x = random(4, 2)

    def work(communicator):
        executors = [MultiDeviceExecutor(sums(factor), communicator) for factor in (1, 2)]
        parts = executors[0].shard([x])
        for factor, executor in enumerate(executors, 1):
            np.testing.assert_array_equal(executor.run(parts)[0], factor * x.sum(0))
        with pytest.raises(tokamak.CommunicationError, match="they are of two programs") as caught:
            for _ in range(2):
                executors[communicator.rank].run(parts)
        return caught.value.fault

    assert on_ranks(Communicator.local(2, timeout=60), work) == ["mismatch", "mismatch"]


def test_a_rank_that_does_not_come_is_named():
    communicators = Communicator.local(2, timeout=0.2)
    with pytest.raises(tokamak.CommunicationError, match="rank 1") as caught:
        communicators[0].barrier()
    assert caught.value.fault == "timed out" and caught.value.rank == 1


def test_ranks_with_other_programs_are_told():
    def work(communicator):
        executor = MultiDeviceExecutor(mlp(2, "relu" if communicator.rank == 0 else "tanh"), communicator)
        with pytest.raises(tokamak.CommunicationError, match="program") as caught:
            executor.run(executor.shard(mlp_inputs()))
        return caught.value.fault

    assert on_ranks(Communicator.local(2, timeout=60), work) == ["mismatch", "mismatch"]


def test_wrong_uses_are_refused():
    (communicator,) = Communicator.local(1)
    with pytest.raises(TypeError, match="a Communicator is legal, not 3"):
        MultiDeviceExecutor(rows(1), 3)
    with pytest.raises(TypeError, match="the device is the communicator's"):
        MultiDeviceExecutor(rows(1), communicator, device="cpu")
    with pytest.raises(tokamak.Error, match="0 ranks were asked for"):
        Communicator.local(0)
    with pytest.raises(tokamak.Error, match="a time-out of 0 s was asked for"):
        Communicator.local(1, timeout=0)
    with FusionDefinition() as drawing:
        drawing.add_output(drawing.ops.uniform(0.0, 1.0, [4]))
    with pytest.raises(tokamak.UnsupportedError, match="draws random numbers"):
        MultiDeviceExecutor(drawing, communicator)
    executor = MultiDeviceExecutor(rows(1), communicator)
    with pytest.raises(tokamak.BindError, match="shard: 0 inputs for a definition that has 1"):
        executor.shard([])
    with pytest.raises(tokamak.BindError, match="shard: input 0 is a tensor, and a number was given"):
        executor.shard([3])
    with pytest.raises(tokamak.BindError, match="gather: 2 outputs were given; this rank has 1"):
        executor.gather([1, 2])
    with pytest.raises(TypeError, match="gather: arrays of NumPy and torch are legal, not 1"):
        executor.gather([1])
    with pytest.raises(TypeError, match="exchange takes bytes, not 'a'"):
        communicator.exchange("a")
    assert communicator.exchange(b"a") == [b"a"] and communicator.alive() == [0]
    assert repr(communicator) == "<tokamak.Communicator: rank 0 of 1 on cpu>"
    with communicator:
        pass
    assert repr(communicator) == "<tokamak.Communicator, closed>"
    with pytest.raises(tokamak.Error, match="The communicator is closed"):
        MultiDeviceExecutor(rows(1), communicator)


def test_a_forked_process_makes_its_own():
    (communicator,) = Communicator.local(1)
    executor = MultiDeviceExecutor(rows(1), communicator)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for use in (lambda: communicator.rank, lambda: executor.run([random(2, 2)])):
                with pytest.raises(tokamak.Error, match="a process that was forked makes its own"):
                    use()
            x = random(2, 2)
            again = MultiDeviceExecutor(rows(1), Communicator.local(1)[0])
            np.testing.assert_array_equal(again.run([x])[0], x * 2)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    x = random(2, 2)
    np.testing.assert_array_equal(executor.run([x])[0], x * 2)


# --- meshes and parts ---


def test_meshes():
    assert (DeviceMesh(3).shape, DeviceMesh(3).devices, DeviceMesh(3).size) == ([3], [0, 1, 2], 3)
    mesh = DeviceMesh(np.arange(6).reshape(3, 2))
    assert (mesh.shape, mesh.devices, mesh.size) == ([3, 2], [0, 1, 2, 3, 4, 5], 6)
    assert repr(mesh) == "DeviceMesh([[0, 1], [2, 3], [4, 5]])" and eval(repr(mesh)) == mesh
    assert mesh != DeviceMesh(6) and hash(mesh) == hash(DeviceMesh([[0, 1], [2, 3], [4, 5]]))
    x = np.arange(10).reshape(2, 5)
    parts = [DeviceMesh([4, 2, 7]).shard_tensor(x, -1, device) for device in (4, 2, 7)]
    assert [each.shape for each in parts] == [(2, 2), (2, 2), (2, 1)]
    np.testing.assert_array_equal(np.concatenate(parts, 1), x)
    for error, words, devices in ((ValueError, "no devices", []), (ValueError, "legal are 1 to", 0),
                                  (ValueError, "device 1 is named twice", [1, 0, 1]),
                                  (ValueError, "device -1 is negative", [-1]),
                                  (ValueError, "rows of several lengths", [[0, 1], [2]]),
                                  (TypeError, "1.5 is no integer", [1.5]), (TypeError, "a list is legal", "ab"),
                                  (TypeError, "a row", [[0], 1])):
        with pytest.raises(error, match=words):
            DeviceMesh(devices)


def test_parts_of_tensors_of_a_definition():
    fd = rows([1, 3])
    (x,) = fd.inputs()
    array = random(5, 2)
    np.testing.assert_array_equal(tokamak.shard_tensor(array, x, 1), array[:3])
    np.testing.assert_array_equal(tokamak.shard_tensor(array, x, 3), array[3:])
    assert tokamak.shard_tensor(array, x, 0) is None
    assert tokamak.shard_tensor(array, fd.outputs()[0], 3) is array  # which has no mesh
    with pytest.raises(TypeError, match="a tensor of a definition is legal, not 3"):
        tokamak.shard_tensor(array, 3, 0)
    with pytest.raises(tokamak.BindError):
        tokamak.shard_tensor(random(5), x, 0)


def test_marks_that_are_not_legal_are_refused():
    with FusionDefinition() as fd:
        x = fd.define_tensor([4, 3], contiguity=True)
        fd.add_output(x * 2)
    fd.sched._set_device_mesh(x, DeviceMesh(2))
    with pytest.raises(tokamak.ScheduleError, match="4"):
        fd.sched.parallelize(x, 0, ParallelType.mesh_x)
    with pytest.raises(TypeError, match="a mesh is a DeviceMesh, not"):
        fd.sched._set_device_mesh(x, "mesh(0)")


# --- processes, and GPUs of a fake driver ---

OVER_MPI = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
import tokamak
from test_multi_device import mlp, mlp_inputs, mlp_of

communicator = tokamak.Communicator.mpi(timeout=60)
executor = tokamak.MultiDeviceExecutor(mlp(communicator.size), communicator)
inputs = mlp_inputs()
for _ in range(3):
    outputs = executor.run(executor.shard(inputs))
np.testing.assert_array_equal(executor.gather(outputs)[0], mlp_of(*inputs))
assert communicator.exchange(bytes([communicator.rank])) == [bytes([rank]) for rank in range(communicator.size)]
print(f"rank {{communicator.rank}} of {{communicator.size}}\\n", end="")
"""


def mpi_environment():
    """Skips where there is no mpirun, or no library for it beside the module's build."""
    library = next((each for folder in pathlib.Path(tokamak.__file__).resolve().parents
                    for each in (*folder.glob("libtokamak_mpi.so"), *folder.glob("bin/libtokamak_mpi.so"),
                                 *folder.glob("lib/libtokamak_mpi.so"))), None)
    built = [path for path in os.environ.get("PYTHONPATH", "").split(":") if path]
    for path in built:
        for name in ("libtokamak_mpi.so", "bin/libtokamak_mpi.so", "lib/libtokamak_mpi.so"):
            found = pathlib.Path(path).resolve().parent / name
            library = library or (found if found.exists() else None)
    if shutil.which("mpirun") is None or library is None and "TOKAMAK_MPI" not in os.environ:
        pytest.skip("needs mpirun, and libtokamak_mpi.so in the build")
    return {"TOKAMAK_MPI": str(library), **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.mark.parametrize("ranks", [2, 4])
def test_processes_of_mpirun(ranks):
    program = OVER_MPI.format(folder=str(pathlib.Path(__file__).parent))
    done = subprocess.run(["mpirun", "-n", str(ranks), "--oversubscribe", sys.executable, "-B", "-c", program],
                          env=mpi_environment(), capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of {ranks}" for rank in range(ranks)]


def test_a_missing_mpi_is_named():
    done = subprocess.run([sys.executable, "-B", "-c", "import tokamak; tokamak.Communicator.mpi()"], text=True,
                          env={**os.environ, "TOKAMAK_MPI": "/nowhere/mpi.so"}, capture_output=True, timeout=100)
    assert done.returncode == 1 and "UnsupportedError" in done.stderr and "/nowhere/mpi.so" in done.stderr


ON_FAKE_GPUS = """
import os, threading
from tokamak import Communicator, DeviceMesh, MultiDeviceExecutor, ParallelType

class Meeting:
    def __init__(self, ranks):
        self.barrier, self.given = threading.Barrier(ranks), [None] * ranks
    def of(self, rank):
        def exchange(own):
            self.given[rank] = own
            self.barrier.wait(30)
            parts = list(self.given)
            self.barrier.wait(30)
            return parts
        return exchange

def product(ranks):
    with FusionDefinition() as fd:
        x = fd.define_tensor([4, 4], contiguity=True)
        w = fd.define_tensor([4, 4], contiguity=True)
        y = fd.ops.matmul(fd.ops.matmul(x, w), w)
        fd.add_output(y)
    mesh = DeviceMesh(ranks)
    for each in (x, w, y):
        fd.sched._set_device_mesh(each, mesh)
    fd.sched.split(x, 0, ranks, False)
    fd.sched.parallelize(x, 0, ParallelType.mesh_x)
    return fd

x, w = np.arange(16, dtype=np.float32).reshape(4, 4), np.eye(4, dtype=np.float32) * 2
"""


@pytest.mark.parametrize("engine, backend", [("nccl", "NCCL"), ("peer", "CUDA")])
def test_gpus_meet_by_a_function(engine, backend):
    run_on_fake_gpu(ON_FAKE_GPUS + f"engine, backend = {engine!r}, {backend!r}\n" + """
ranks, meeting, gathered = 2, Meeting(2), [None, None]

def work(rank):
    communicator = getattr(Communicator, engine)(meeting.of(rank), rank=rank, size=ranks, device=f"cuda:{rank}",
                                                 timeout=30)
    assert (communicator.rank, communicator.size, communicator.device) == (rank, ranks, f"cuda:{rank}")
    assert communicator.backend == backend
    executor = MultiDeviceExecutor(product(ranks), communicator)
    assert f"backend={backend})" in executor.host_text()
    part = array_of(x[2 * rank:2 * rank + 2], rank)
    for _ in range(2):
        y, = executor.run([part, array_of(w, rank)])
    gathered[rank] = values_of(y)
    communicator.barrier()

threads = [threading.Thread(target=work, args=[rank]) for rank in range(ranks)]
for each in threads:
    each.start()
for each in threads:
    each.join(60)
for each in gathered:
    np.testing.assert_array_equal(each, x * 4)
""", settings="devices=2", TOKAMAK_NCCL=os.environ.get("TOKAMAK_FAKE_DRIVER", ""))


def test_what_a_bootstrap_does_wrong_comes_out():
    run_on_fake_gpu(ON_FAKE_GPUS + """
def raising(own):
    raise KeyError("no launcher")
refused(KeyError, "no launcher", lambda: Communicator.nccl(raising, rank=0, size=1))
for given in (b"a", [1], [b"a", b"b"]):
    refused(TypeError, "legal", lambda: Communicator.nccl(lambda own: given, rank=0, size=1))
refused(TypeError, "a function, or a store, comes with rank and size", lambda: Communicator.nccl(raising))
refused(TypeError, "a bootstrap is None, a process group", lambda: Communicator.nccl(3))
refused(TypeError, "rank and size are for a function", lambda: Communicator.nccl(rank=0, size=1))
refused(tokamak.Error, "rank 1 of a job of 1", lambda: Communicator.nccl(raising, rank=1, size=1))
for name in ("RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK"):
    os.environ.pop(name, None)
refused(tokamak.Error, "$RANK is not set", lambda: Communicator.nccl())
os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29400", LOCAL_RANK="1")
communicator = Communicator.nccl(timeout=30)
assert (communicator.rank, communicator.size, communicator.device) == (0, 1, "cuda:1")
communicator.barrier()
executor = MultiDeviceExecutor(product(1), communicator)
y, = executor.run([array_of(x, 1), array_of(w, 1)])
np.testing.assert_array_equal(values_of(y), x * 4)
refused(tokamak.BindError, "cuda:1", lambda: executor.run([array_of(x, 0), array_of(w, 0)]))
""", settings="devices=2", TOKAMAK_NCCL=os.environ.get("TOKAMAK_FAKE_DRIVER", ""))


def test_a_missing_nccl_is_named():
    run_on_fake_gpu(ON_FAKE_GPUS + """
refused(tokamak.UnsupportedError, "/nowhere/nccl.so", lambda: Communicator.nccl(lambda own: [own], rank=0, size=1))
""", TOKAMAK_NCCL="/nowhere/nccl.so")
