"""What a definition tells of its kernels."""
import numpy as np
import pytest

import tokamak
from tokamak import DataType, FusionDefinition, ParallelType

X = np.ones((4, 64), np.float32)


def softmax(dtype=DataType.Float):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], dtype=dtype)
        fd.add_output(fd.ops.softmax(x, 1))
    return fd


def test_sources_are_there_before_and_after_a_call():
    fd = softmax()
    cuda = fd.cuda_code_for([X])
    assert "__global__" in cuda and "blockIdx.x" in cuda and "exp" in cuda
    c = fd.source_for([X])
    assert "__global__" not in c and "first_block" in c and "exp" in c
    scheduled = fd.scheduled_fusion_ir_for([X])
    assert "schedule {" in scheduled and "inline_at" in scheduled
    with pytest.raises(tokamak.Error, match="never been executed"):
        fd.last_cuda_code()
    fd.execute([X])
    assert fd.last_cuda_code() == cuda and fd.last_scheduled_fusion_ir() == scheduled
    np.testing.assert_allclose(fd.execute([X])[0], X / 64, rtol=1e-6)


def test_the_last_call_counts_whatever_its_arrays_were():
    fd = softmax()
    wide, lists = np.ones((4, 4096), np.float32), memoryview(X)
    fd.execute([X])
    narrow = fd.last_cuda_code()
    fd.execute([wide])
    assert fd.last_cuda_code() == fd.cuda_code_for([wide])
    fd.execute([lists])  # another way in
    assert fd.last_cuda_code() == narrow
    with pytest.raises(tokamak.Error):
        fd.execute([X, X])
    assert fd.last_cuda_code() == narrow
    fd.execute([wide])
    assert fd.last_cuda_code() == fd.cuda_code_for([wide])


def test_a_schedule_by_hand_is_in_the_texts():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        y = x * 2.0
        fd.add_output(y)
    fd.sched.split(y, 1, 32)
    fd.sched.parallelize(y, 0, ParallelType.grid_x)
    fd.sched.parallelize(y, 2, ParallelType.block_x)
    fd.execute([X])
    assert "threadIdx.x" in fd.last_cuda_code() and "factor=32" in fd.scheduled_fusion_ir_for([X])
    assert "factor=32" not in fd.scheduled_fusion_ir_for([X], override_user_schedule=True)
    with pytest.raises(tokamak.Error, match="never been executed"):
        FusionDefinition.last_cuda_code(softmax(), override_user_schedule=True)
    fd.execute([X], override_user_schedule=True)
    assert "factor=32" not in fd.last_scheduled_fusion_ir(override_user_schedule=True)
    assert "factor=32" in fd.last_scheduled_fusion_ir()


def test_numbers_seeds_and_wrong_inputs():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        n = fd.define_scalar(DataType.Int)
        fd.add_output(fd.ops.rand_like(x) + fd.ops.full([4, 64], n, DataType.Int))
    assert "__global__" in fd.cuda_code_for([X, 3])
    fd.execute([X, 3])
    assert "__global__" in fd.last_cuda_code()
    for wrong in ([X], [X, X], ["a", 3], [X.astype(np.float64), 3], []):
        with pytest.raises(tokamak.Error):
            fd.cuda_code_for(wrong)


@pytest.mark.parametrize("define", [lambda fd, x: fd.ops.exp(x), lambda fd, x: fd.ops.matmul(x, x)])
def test_texts_say_that_there_is_no_kernel(define):
    with FusionDefinition(id="one") as fd:
        fd.add_output(define(fd, fd.define_tensor([-1, -1], contiguity=True)))
    x = np.ones((4, 4), np.float32)
    fd.execute([x])
    said = "// fusion_one: no kernel is made; its ops are calls of the library"
    assert [fd.source_for([x]), fd.scheduled_fusion_ir_for([x]), fd.last_scheduled_fusion_ir()] == [said] * 3
    tokamak.compile(f"{said}\n{fd.fusion_ir()}")  # which is a comment


def test_a_product_has_no_cuda_source():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.matmul(x, x))
    assert fd.cuda_code_for([np.ones((4, 4), np.float32)]).startswith("// fusion: no kernel is made")
