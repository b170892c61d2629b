"""Schedules by hand: what fd.sched says is what runs, and what cannot be is refused."""
import numpy as np
import pytest

import tokamak
from tokamak import (CacheOp, DataType, FusionDefinition, LoadStoreOpType, MemoryType, ParallelType, ScheduleError,
                     SchedulerType)


class Scheduled(FusionDefinition):
    """`define(fd)` gives the tensors that `plan(fd.sched, *tensors)` is given."""

    def __init__(self, define, plan):
        super().__init__()
        self.define, self.plan, self.runs = define, plan, 0

    def definition(self):
        self.tensors = self.define(self)

    def schedule(self):
        self.runs += 1
        self.plan(self.sched, *self.tensors)


def pointwise(fd):
    x, y = fd.define_tensor([-1, -1], contiguity=True), fd.define_tensor([-1, -1], contiguity=True)
    total = fd.ops.add(x, y)
    result = fd.ops.relu(total)
    fd.add_output(result)
    return x, total, result


def row_sums(fd):
    x = fd.define_tensor([-1, -1], contiguity=True)
    result = fd.ops.sum(x, 1)
    fd.add_output(result)
    return x, result


def blocks_and_threads(sched, x, total, result):
    sched.merge(result, 0)
    sched.split(result, 0, 128)
    sched.parallelize(result, 0, ParallelType.grid_x)
    sched.parallelize(result, -1, ParallelType.block_x)
    sched.transform_like(result)
    sched.parallelize_like(result)
    sched.inline_most()


def test_a_pointwise_kernel():
    fd = Scheduled(pointwise, blocks_and_threads)
    for shape in ((7, 300), (1, 1), (0, 5), (128, 128), (33, 127)):
        x, y = np.random.default_rng(1).standard_normal((2, *shape)).astype(np.float32)
        expected = np.maximum(x + y, 0)
        np.testing.assert_array_equal(fd.execute([x, y])[0], expected)
        np.testing.assert_array_equal(fd.execute([x, y], override_user_schedule=True)[0], expected)
    assert fd.runs == 1
    text = fd.sched.user_schedule_ir()
    assert "split(T3, axis=0, factor=128)" in text and "parallelize(T2, axis=1, type=TIDx)" in text
    assert "schedule" not in fd.fusion_ir()


PLANS = {
    "outer split": lambda s, x, total, result: s.split(result, 1, 3, inner_split=False),
    "reordered": lambda s, x, total, result: (s.reorder(result, {0: 1}), s.transform_like(result), s.inline_most()),
    "reordered back": lambda s, x, total, result: (s.reorder(result, {-1: 0}), s.parallelize(result, 0, ParallelType.grid_x)),
    "nothing inlined": lambda s, x, total, result: s.parallelize(result, 0, ParallelType.grid_x),
    "cached": lambda s, x, total, result: (s.cache_after(x, cache_op=CacheOp.streaming), s.cache_before(result),
                                           s.inline_most()),
    "shared memory": lambda s, x, total, result: (s.set_memory_type(total, MemoryType.shared),
                                                  s.parallelize(result, 0, ParallelType.grid_x),
                                                  s.transform_like(result), s.parallelize_like(result),
                                                  s.inline_at(total, 1, selected_tensors=[total])),
    "vectors": lambda s, x, total, result: (s.merge(result, 0), s.split(result, 0, 4), s.transform_like(result),
                                            s.inline_most()),
    "unrolled": lambda s, x, total, result: (s.split(result, 1, 2), s.transform_like(result),
                                             s.parallelize(result, 2, ParallelType.unroll), s.inline_most([total])),
    "one tensor": lambda s, x, total, result: s.split(total, 0, 5),
}


@pytest.mark.parametrize("plan", PLANS)
def test_any_loops_give_the_same(plan):
    fd = Scheduled(pointwise, PLANS[plan])
    for shape in ((6, 8), (5, 13)):
        x, y = np.random.default_rng(2).standard_normal((2, *shape)).astype(np.float32)
        np.testing.assert_array_equal(fd.execute([x, y])[0], np.maximum(x + y, 0))


@pytest.mark.parametrize("inner", [1, 4, 32])
def test_a_reduction_in_two_steps(inner):
    def plan(sched, x, result):
        assert not sched.is_reduction(x) and sched.is_reduction(result)
        sched.cache_after(x)
        total = sched.cache_before(result)
        sched.split(total, 1, inner)
        partial = sched.rfactor(total, [1])
        assert sched.is_reduction(partial)
        sched.parallelize(partial, 0, ParallelType.grid_x)
        sched.parallelize(partial, -1, ParallelType.block_x)
        sched.transform_like(partial)
        sched.parallelize_like(partial)
        sched.inline_most()
        assert len(sched.tensors()) == 5

    fd = Scheduled(row_sums, plan)
    x = np.random.default_rng(3).standard_normal((9, 100)).astype(np.float32)
    np.testing.assert_allclose(fd.execute([x])[0], x.astype(np.float64).sum(1), rtol=1e-5, atol=1e-5)


def test_a_definition_in_a_with_is_scheduled_behind_it():
    with FusionDefinition() as fd:
        x, total, result = pointwise(fd)
        with pytest.raises(ScheduleError, match="Attempting to use a SchedOperators Op prior to definition!"):
            fd.sched.merge(result, 0)
    blocks_and_threads(fd.sched, x, total, result)
    assert "BIDx" in fd.sched.to_string(result) and "BIDx" in fd.sched.to_string(total)
    x = np.ones((3, 50), np.float32)
    np.testing.assert_array_equal(fd.execute([x, -x])[0], np.zeros((3, 50)))
    with pytest.raises(ScheduleError, match="Fusion Schedule is already found!"):
        fd.sched.merge(result, 0)


def test_a_schedule_that_failed_begins_anew():
    def plan(sched, x, total, result):
        sched.merge(result, 0)
        if fd.runs == 1:
            raise KeyError("half-way")
        blocks_and_threads(sched, x, total, fd.sched.tensors()[-1]) if fd.runs == 2 else sched.split(result, 0, 7)

    fd = Scheduled(pointwise, plan)
    x = np.ones((3, 50), np.float32)
    with pytest.raises(KeyError):
        fd.execute([x, x])
    with pytest.raises(ScheduleError):  # merges twice what has one loop by then
        fd.execute([x, x])
    np.testing.assert_array_equal(fd.execute([x, x])[0], x + x)


def test_tensors_of_a_schedule_that_is_gone_are_refused():
    kept = []

    def plan(sched, x, total, result):
        if fd.runs == 1:
            kept.append(sched.cache_after(x))
            raise KeyError("half-way")
        with pytest.raises(tokamak.DefinitionError, match="given up"):
            sched.split(kept[0], 0, 2)

    fd = Scheduled(pointwise, plan)
    x = np.ones((2, 2), np.float32)
    with pytest.raises(KeyError):
        fd.execute([x, x])
    np.testing.assert_array_equal(fd.execute([x, x])[0], x + x)


REFUSED = {
    "an axis that is not there": (ScheduleError, "axis", lambda s, x, t, r: s.split(r, 5, 2)),
    "a factor of zero": (ScheduleError, "factor", lambda s, x, t, r: s.split(r, 0, 0)),
    "merging the last axis": (ScheduleError, "merge", lambda s, x, t, r: s.merge(r, 1)),
    "an axis twice": (ScheduleError, "twice", lambda s, x, t, r: s.reorder(r, {0: 1, 1: 1})),
    "an axis beyond": (ScheduleError, "2 loops", lambda s, x, t, r: s.reorder(r, {0: 2})),
    "rfactor without a reduction": (ScheduleError, "rfactor", lambda s, x, t, r: s.rfactor(r, [0])),
    "no tensor": (TypeError, "Tensor", lambda s, x, t, r: s.split(3, 0, 2)),
    "a factor that is a tensor": (TypeError, "int", lambda s, x, t, r: s.split(r, 0, x)),
    "a type by its name": (TypeError, "ParallelType", lambda s, x, t, r: s.parallelize(r, 0, "BIDx")),
    "a flag for an axis": (TypeError, "int", lambda s, x, t, r: s.merge(r, True)),
    "copies by other means": (NotImplementedError, "cp_async",
                              lambda s, x, t, r: s.cache_after(x, LoadStoreOpType.cp_async)),
    "an axis beyond, of a mesh": (ScheduleError, "axis",
                                  lambda s, x, t, r: s.parallelize(r, 2, ParallelType.mesh_y)),
    "no mesh": (TypeError, "DeviceMesh", lambda s, x, t, r: s._set_device_mesh(r, None)),
    "memory of several devices": (NotImplementedError, "MemoryType.symmetric",
                                  lambda s, x, t, r: s.set_memory_type(t, MemoryType.symmetric)),
    "a position beyond": (ScheduleError, "legal are -3 to 2", lambda s, x, t, r: s.inline_at(r, 3)),
    "a position beyond the loops that count": (ScheduleError, "position 3 of .* legal are -3 to 2",
                                               lambda s, x, t, r: s.parallelize_like(r, 3)),
    "an unknown name": (AttributeError, "tile", lambda s, x, t, r: s.tile(r)),
    "a position that is too deep": (ScheduleError, "position",
                                    lambda s, x, t, r: s.inline_at(t, 3, selected_tensors=[t])),
}


@pytest.mark.parametrize("what", REFUSED)
def test_is_refused(what):
    kind, words, call = REFUSED[what]
    with FusionDefinition() as fd:
        tensors = pointwise(fd)
    with pytest.raises(kind, match=words):
        call(fd.sched, *tensors)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(fd.execute([x, x])[0], x + x)


def test_a_selection_alone_changes():
    with FusionDefinition() as fd:
        x, y = fd.define_tensor([-1, 64]), fd.define_tensor([-1, 64])
        total = x + y
        power = fd.ops.exp(total)
        result = power * y
        fd.add_output(result)
    sched = fd.sched
    sched.split(result, 1, 16)
    sched.parallelize(result, 0, ParallelType.grid_x)
    sched.parallelize(result, 1, ParallelType.grid_y)
    sched.transform_like(result, [power])
    assert "16" in sched.to_string(power) and "16" not in sched.to_string(total)
    sched.transform_like(result)
    sched.parallelize_like(result, 1, [power])
    assert "BIDx" in sched.to_string(power) and "BIDy" not in sched.to_string(power)
    assert "BID" not in sched.to_string(total)
    sched.parallelize_like(result)
    sched.inline_at(result, 2, selected_tensors=[power])
    assert "inside 2" in sched.to_string(power) and "inside" not in sched.to_string(total)
    sched.inline_at(result, best_effort=True)
    assert "inside 3" in sched.to_string(power) and "inside 3" in sched.to_string(total)
    given = np.random.default_rng(1).random((2, 3, 64), np.float32)
    np.testing.assert_allclose(fd.execute(list(given))[0], np.exp(given[0] + given[1]) * given[1], rtol=1e-5)


def test_tensors_of_other_definitions_are_refused():
    with FusionDefinition() as fd:
        pointwise(fd)
    with FusionDefinition() as other:
        x, _, _ = pointwise(other)
    with pytest.raises(tokamak.DefinitionError, match="another definition"):
        fd.sched.cache_after(x)


def test_the_module_checks_by_itself():
    with FusionDefinition() as fd:
        number = fd.define_scalar(2, DataType.Int)
        x, _, _ = pointwise(fd)
        unused = fd.ops.neg(x)
    fd.sched.split(unused, 0, 2)
    made = fd.sched.cache_after(x)
    with pytest.raises(tokamak.DefinitionError, match="a tensor of a schedule is no operand of its definition"):
        fd._native.call("neg", [made._value], {})
    with pytest.raises(tokamak.DefinitionError, match="this is a scalar"):
        fd._native.command("merge", {"tensor": number._value, "axis": 0})
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(fd.execute([x, x])[0], x + x)


def random_plan(random, sched, tensors):
    """Commands at random on the tensors, some of which are refused."""
    done = 0
    for _ in range(int(random.integers(1, 8))):
        tensor = tensors[int(random.integers(1, len(tensors)))]
        axis = int(random.integers(-3, 3))
        commands = [
            lambda: sched.split(tensor, axis, int(random.integers(1, 9)), bool(random.integers(2))),
            lambda: sched.merge(tensor, axis),
            lambda: sched.reorder(tensor, {axis: int(random.integers(-2, 2))}),
            lambda: sched.parallelize(tensor, axis, random.choice(list(ParallelType)[1:4] + [
                ParallelType.block_x, ParallelType.block_y, ParallelType.unroll, ParallelType.serial])),
            lambda: sched.transform_like(tensor),
            lambda: sched.transform_like(tensor, [each for each in tensors if random.integers(2)]),
            lambda: sched.parallelize_like(tensor),
            lambda: sched.parallelize_like(tensor, int(random.integers(-3, 4))),
            lambda: sched.inline_at(tensor, int(random.integers(-3, 4)), bool(random.integers(2)),
                                    [each for each in tensors[1:] if random.integers(2)]),
            lambda: sched.inline_most(),
            lambda: tensors.append(sched.cache_before(tensor)),
            lambda: tensors.append(sched.cache_after(tensor)),
        ]
        try:
            commands[int(random.integers(len(commands)))]()
            done += 1
        except tokamak.Error:
            pass
    return done


def test_random_commands_give_right_numbers_or_are_refused():
    done, ran = 0, 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        with FusionDefinition() as fd:
            tensors = list(pointwise(fd) if seed % 2 else row_sums(fd))
        done += random_plan(random, fd.sched, tensors)
        x, y = random.standard_normal((2, 6, 10)).astype(np.float32)
        try:
            result, = fd.execute([x, y] if seed % 2 else [x])
        except tokamak.Error:
            continue
        ran += 1
        expected = np.maximum(x + y, 0) if seed % 2 else x.astype(np.float64).sum(1)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    assert done > 100 and ran > 30


def test_streams_are_refused_where_they_are_marked():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.sum(x, 1)
        fd.add_output(y)
    fd.sched.parallelize(y, 0, ParallelType.stream)
    for axis in (1, 1):
        with pytest.raises(ScheduleError, match="can be streamed along one axis only"):
            fd.sched.parallelize(y, axis, ParallelType.stream)
    with FusionDefinition() as other:
        x = other.define_tensor([-1, -1], contiguity=True)
        other.add_output(other.ops.sum(x, 1))
    other.sched.parallelize(other.outputs()[0], 1, ParallelType.stream)  # which is reduced: iterations add up
    a = np.ones((2, 3), np.float32)
    assert fd.execute([a])[0].tolist() == other.execute([a])[0].tolist() == [3, 3]


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_random_schedules_with_streams_are_right_or_refused(first):
    ran = 0
    for seed in range(first, first + 40):
        random = np.random.default_rng(seed)
        rank = int(random.integers(2, 4))
        reduced = sorted(random.choice(rank, int(random.integers(1, rank)), replace=False).tolist())
        with FusionDefinition() as fd:
            x = fd.define_tensor([-1] * rank, contiguity=True)
            y = fd.ops.sum(x, reduced)
            z = fd.ops.neg(y)
            beside = fd.ops.relu(x)  # streams of what does not read the sum, in a program with it
            both = fd.ops.sub(beside, fd.ops.broadcast(y, [axis in reduced for axis in range(rank)]))
            outputs = {"y": y, "z": z, "both": both}
            name = random.choice(list(outputs))
            fd.add_output(outputs[name])
        tensors = [y, z] if name != "both" else [y, beside, both]
        commands = [lambda t, axis: fd.sched.split(t, axis, int(random.integers(1, 4))),
                    lambda t, axis: tensors.append(fd.sched.rfactor(t, [axis])),
                    lambda t, axis: fd.sched.parallelize(t, axis, ParallelType.stream),
                    lambda t, axis: fd.sched.merge(t, axis)]
        if name == "both" and random.integers(2):  # rare otherwise
            fd.sched.split(y, reduced[-1], int(random.integers(1, 4)))
            tensors.append(fd.sched.rfactor(y, [reduced[-1] + 1]))
        for _ in range(int(random.integers(2, 8))):
            try:
                commands[random.choice(4, p=[0.3, 0.3, 0.3, 0.1])](tensors[random.integers(len(tensors))],
                                                                  int(random.integers(0, 5)))
            except (IndexError, tokamak.Error):
                continue
        for sizes in (random.integers(1, 7, rank), random.integers(0, 9, rank)):
            a = random.standard_normal(sizes, np.float32)
            try:
                result, = fd.execute([a], device="interpreter")
            except tokamak.Error as error:
                assert error.code in ("schedule", "host program", "unsupported"), (seed, str(error))
                continue
            total = a.astype(np.float64).sum(tuple(reduced), keepdims=name == "both")
            wanted = np.maximum(a, 0) - total if name == "both" else -total if name == "z" else total
            np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5, err_msg=f"seed {seed}")
            ran += 1
    assert ran > 20


A = np.random.default_rng(7).random((6, 8), np.float32)
LOOKS = {"cuda_code_for": [[A]], "source_for": [[A]], "scheduled_fusion_ir_for": [[A]], "explain": [[A]],
         "repro_script_for": [[A]], "_repr_html_": []}


@pytest.mark.parametrize("name", LOOKS)
def test_looking_leaves_a_schedule_open(name):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.exp(x) + 1
        fd.add_output(y)
    for _ in range(2):
        getattr(fd, name)(*LOOKS[name])
    fd.sched.split(y, 1, 4)
    getattr(fd, name)(*LOOKS[name])
    fd.sched.split(y, 1, 2)
    assert "split(T2, axis=1, factor=2)" in fd.scheduled_fusion_ir_for([A])
    np.testing.assert_allclose(fd.execute([A])[0], np.exp(A) + 1, rtol=1e-6)
    with pytest.raises(ScheduleError, match="Fusion Schedule is already found!"):
        fd.sched.split(y, 1, 4)
    getattr(fd, name)(*LOOKS[name])


def test_commands_that_read_are_legal_after_a_run_and_change_nothing():
    def read(fd, x, y):
        assert len(fd.sched.tensors()) == 3 and "exp" not in fd.sched.to_string(y)
        assert not fd.sched.is_reduction(y) and "exp" in fd.sched.user_schedule_ir()
        assert fd.sched.find_compatible_schedulers() == [SchedulerType.pointwise]
        assert fd.sched.can_schedule(SchedulerType.reduction)[0] is False
        assert fd.sched.compute_pointwise_heuristics().block_elements > 0

    texts = []
    for reads_first in (False, True):
        with FusionDefinition() as fd:
            x = fd.define_tensor([-1, -1], contiguity=True)
            y = fd.ops.exp(x) + 1
            fd.add_output(y)
        if reads_first:
            read(fd, x, y)
        fd.execute([A])
        read(fd, x, y)
        with tokamak.config(streams=3):
            fd.execute([A])
            texts.append(fd.last_scheduled_fusion_ir())
    assert texts[0] == texts[1] and "schedule {" in texts[0]


def test_inlining_at_a_place_knows_caches_and_changes_all_or_nothing():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        total = fd.ops.sum(x, 1)
        spread = fd.ops.broadcast(total, [False, True])
        y = x / spread
        fd.add_output(y)
    plain = fd.sched.user_schedule_ir()
    with pytest.raises(ScheduleError, match="largest legal one is 1"):
        fd.sched.inline_at(y, 2)
    assert fd.sched.user_schedule_ir() == plain
    cache = fd.sched.cache_after(x)  # with two readers, of which one reads the other
    fd.sched.inline_at(y, 2, best_effort=True)
    inlined = fd.sched.user_schedule_ir()
    for tensor, position in ((cache, 1), (total, 1), (spread, 2)):
        assert f"computed inside {position} of" in fd.sched.to_string(tensor), inlined
    a = np.random.default_rng(3).random((5, 8), np.float32)
    np.testing.assert_allclose(fd.execute([a])[0], a / a.sum(1, keepdims=True), rtol=1e-6)


def test_a_schedule_that_cannot_run_can_be_mended():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        total, beside = fd.ops.sum(x, 1), fd.ops.exp(x)
        fd.add_output(beside - fd.ops.broadcast(total, [False, True]))
    fd.sched.split(total, 1, 4)
    fd.sched.rfactor(total, [2])
    fd.sched.parallelize(beside, 0, ParallelType.stream)
    a = np.ones((5, 8), np.float32)
    for wrong, error in (([a], ScheduleError), ([a[0]], tokamak.BindError)):
        with pytest.raises(error):
            fd.execute(wrong)
        with pytest.raises(tokamak.Error, match="never been executed"):
            fd.explain()
    fd.sched.parallelize(beside, 0, ParallelType.serial)
    np.testing.assert_allclose(fd.execute([a])[0], np.full((5, 8), np.e - 8), rtol=1e-6)
    with pytest.raises(tokamak.BindError):
        fd.execute([a[0]])
    with pytest.raises(ScheduleError, match="has run"):
        fd.sched.inline_most()


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("shape", ([-1, -1], [-1, 8], [5, -1]), ids=str)
def test_buffers_in_loops_have_the_sizes_of_the_call(shape, position):
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape, contiguity=True)
        y = fd.ops.exp(x) * 2.0
        fd.add_output(y)
    fd.sched.inline_at(y, position)
    for sizes in ((5, 8), (7, 9), (0, 3)) if shape == [-1, -1] else ((5, 8),):
        a = np.random.default_rng(1).random(sizes, np.float32)
        np.testing.assert_allclose(fd.execute([a])[0], 2 * np.exp(a), rtol=1e-6)


def test_tensors_are_named_once_and_meshes_are_repeated():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.exp(x))
    fd.sched._set_device_mesh(x, tokamak.DeviceMesh([0]))
    first = fd.sched.tensors()
    script = fd.repro_script_for([A])
    assert "fd.sched._set_device_mesh(T0, DeviceMesh([0]))" in script
    assert all(each is again for each, again in zip(first, fd.sched.tensors()))
    assert fd.repro_script_for([A]) == script
    exec(compile(script, "script", "exec"), {"print": lambda *_: None})


def test_what_is_no_tensor_is_told_by_what_it_is():
    with FusionDefinition() as fd:
        y = fd.ops.exp(fd.define_tensor([-1, -1], contiguity=True))
        fd.add_output(y)
    for call in (lambda: fd.sched.transform_like(None), lambda: fd.sched.split(None, 0, 2),
                 lambda: fd.sched.set_allocation_as_loop(None)):
        with pytest.raises(TypeError, match="sched: a tensor is a Tensor, not None"):
            call()


def test_a_schedule_does_not_execute_itself():
    class Nested(FusionDefinition):
        def definition(self):
            self.add_output(self.define_tensor([-1]) + 1.0)

        def schedule(self):
            if self.is_nested:
                self.execute([np.ones(3, np.float32)])

    fd = Nested()
    fd.is_nested = True
    with pytest.raises(ScheduleError, match=r"execute inside of schedule\(\): the schedule of this call is not made "
                                            "yet"):
        fd.execute([np.ones(3, np.float32)])
    fd.is_nested = False
    assert fd.execute([np.ones(3, np.float32)])[0].tolist() == [2, 2, 2]
