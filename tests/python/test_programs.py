"""Definitions that say the same share a program."""
import gc

import numpy as np
import pytest

from shared import run_in_threads
import tokamak
from tokamak import DataType, FusionDefinition, ParallelType, _programs


@pytest.fixture(autouse=True)
def programs():
    """How many there are above those of other tests' definitions."""
    _programs.forget_programs()
    gc.collect()
    others = _programs.program_count()

    def count():
        gc.collect()
        return _programs.program_count() - others

    return count


def scaled(factor, dtype=DataType.Float, name=None):
    with FusionDefinition(name) as fd:
        fd.add_output(fd.ops.relu(fd.define_tensor([-1, -1], dtype=dtype) * factor))
    return fd


def test_equal_definitions_share_a_program():
    x = np.ones((2, 3), np.float32)
    first, second, other = scaled(2.0), scaled(2.0), scaled(3.0)
    for each in (first, second, other):
        each.execute([x])
    assert first._program is second._program
    assert first._program is not other._program
    np.testing.assert_array_equal(second.execute([x])[0], 2 * x)
    np.testing.assert_array_equal(other.execute([x])[0], 3 * x)


@pytest.mark.parametrize("other", [lambda: scaled(2.0, DataType.Double), lambda: scaled(2.0, name=7)])
def test_what_is_in_the_text_is_not_shared(other):
    first, second = scaled(2.0), other()
    first.execute([np.ones((2, 3), np.float32)])
    second.execute([np.ones((2, 3), np.float64 if "f64" in str(second) else np.float32)])
    assert first._program is not second._program


def test_a_schedule_by_hand_is_part_of_what_is_shared():
    def scheduled(factor):
        with FusionDefinition() as fd:
            fd.result = fd.define_tensor([-1], contiguity=True) + 1.0
            fd.add_output(fd.result)
        if factor:
            fd.sched.split(fd.result, 0, factor)
            fd.sched.parallelize(fd.result, 0, ParallelType.grid_x)
        return fd

    x = np.arange(100, dtype=np.float32)
    definitions = [scheduled(each) for each in (0, 16, 16, 32)]
    for each in definitions:
        np.testing.assert_array_equal(each.execute([x])[0], x + 1)
    by_itself, first, second, other = (each._program for each in definitions)
    assert first is second and len({id(each) for each in (by_itself, first, other)}) == 3
    definitions[1].execute([x], override_user_schedule=True)
    assert by_itself in [program for program, _ in definitions[1]._programs.values()]


def test_programs_go_with_their_definitions_and_the_last_ones_stay(programs):
    x = np.ones((2, 3), np.float32)
    for i in range(_programs.KEPT + 8):
        scaled(float(i)).execute([x])
    assert programs() == _programs.KEPT
    kept = scaled(float(_programs.KEPT + 7))
    kept.execute([x])
    assert programs() == _programs.KEPT
    _programs.forget_programs()
    assert programs() == 1
    np.testing.assert_array_equal(kept.execute([x])[0], float(_programs.KEPT + 7) * x)  # and runs


def test_the_last_call_is_that_of_the_definition():
    first, second = scaled(2.0), scaled(2.0)
    first.execute([np.ones((1, 8), np.float32)])
    before = first.last_scheduled_fusion_ir()
    second.execute([np.ones((64, 512), np.float32).T])
    assert first.last_scheduled_fusion_ir() == before
    assert second.last_scheduled_fusion_ir() != before
    third = scaled(2.0)
    with pytest.raises(tokamak.Error, match="has never been executed"):
        third.last_cuda_code()


def test_threads_with_equal_definitions_of_their_own(programs):
    def call(i):
        x = np.full((3, 5), i, np.float32)
        for _ in range(20):
            np.testing.assert_array_equal(scaled(2.0).execute([x])[0], 2 * x)

    run_in_threads(call, range(6))
    assert programs() == 1


def test_random_numbers_of_equal_definitions_differ():
    def drawn():
        with FusionDefinition() as fd:
            fd.add_output(fd.ops.uniform(0.0, 1.0, [64]))
        return fd

    first, second = drawn(), drawn()
    a, b = first.execute([])[0], second.execute([])[0]
    assert first._program is second._program and not np.array_equal(a, b)
