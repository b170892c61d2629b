"""Schedules by heuristics: kinds of kernels with reasons, the library's schedules, parameters to edit."""
import numpy as np
import pytest

import tokamak
from tokamak import DataType, FusionDefinition, ParallelType, SchedulerHyperParameters, SchedulerType

Kind = SchedulerType


def defined(define, *shapes, dtype=DataType.Float):
    """A definition of dense inputs of these shapes, and the tensors that define(fd, *inputs) gives as outputs."""
    with FusionDefinition() as fd:
        results = define(fd, *[fd.define_tensor(list(shape), contiguity=True, dtype=dtype) for shape in shapes])
        for each in results if isinstance(results, tuple) else (results,):
            fd.add_output(each)
    return fd


def softmax(axis):
    def define(fd, x):
        shifted = fd.ops.exp(x - fd.ops.max(x, [axis], keepdim=True))
        return shifted / fd.ops.sum(shifted, [axis], keepdim=True)

    return define


def softmax_of(x, axis):
    shifted = np.exp(x - x.max(axis, keepdims=True))
    return shifted / shifted.sum(axis, keepdims=True)


def rows_and_partial_sums(fd, x):
    scaled = x * fd.ops.sum(x, [1], keepdim=True)
    return scaled, fd.ops.sum(fd.ops.reshape(fd.ops.pad(scaled, [0, 0, 0, 1]), [4, 4, 64]), [0])


def partial_sums_of(x):
    scaled = x * x.sum(1, keepdims=True)
    return scaled, np.concatenate([scaled, np.zeros((1, 64))]).reshape(4, 4, 64).sum(0)


# What is defined, of which sizes, what NumPy makes of it, and the kinds that it is.
KINDS = {
    "nothing": (lambda fd, x: fd.ops.relu(x), (0, 5), [0, -1], lambda x: x, [Kind.no_op, Kind.pointwise]),
    "elements": (lambda fd, x: fd.ops.relu(x), (5, 70), [-1, -1], lambda x: np.maximum(x, 0), [Kind.pointwise]),
    "a transpose": (lambda fd, x: fd.ops.relu(fd.ops.permute(x, [1, 0])), (33, 70), [-1, -1],
                    lambda x: np.maximum(x.T, 0), [Kind.transpose, Kind.pointwise]),
    "sums of rows": (lambda fd, x: fd.ops.sum(x, 1), (33, 130), [-1, -1], lambda x: x.sum(1), [Kind.reduction]),
    "outer sums": (lambda fd, x: fd.ops.sum(x, 0), (33, 130), [-1, -1], lambda x: x.sum(0), [Kind.reduction]),
    "sums of everything": (lambda fd, x: fd.ops.sum(x, [0, 1]), (33, 130), [-1, -1], lambda x: x.sum(),
                           [Kind.reduction]),
    "softmax of rows": (softmax(1), (33, 130), [-1, -1], lambda x: softmax_of(x, 1), [Kind.inner_persistent]),
    "softmax of columns": (softmax(1), (6, 5, 70), [-1, -1, -1], lambda x: softmax_of(x, 1), [Kind.outer_persistent]),
    "rows and sums across": (rows_and_partial_sums, (15, 64), [15, 64], partial_sums_of,
                             [Kind.inner_outer_persistent]),
}
DEVICES = ["cpu", "cuda"]


def made(what):
    define, sizes, declared, reference, kinds = KINDS[what]
    x = np.random.default_rng(4).standard_normal(sizes).astype(np.float32)
    expected = reference(x.astype(np.float64))
    return defined(define, declared), x, expected if isinstance(expected, tuple) else (expected,), kinds


def require_close(outputs, expected):
    assert len(outputs) == len(expected)
    for each, wanted in zip(outputs, expected):
        np.testing.assert_allclose(each, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("what", KINDS)
def test_a_definition_is_of_its_kinds_and_no_other(what, device):
    fd, _, _, kinds = made(what)
    assert fd.sched.find_compatible_schedulers(device=device) == kinds
    for kind in SchedulerType:
        can, reason = fd.sched.can_schedule(kind, device=device)
        assert can == (kind in kinds)
        assert reason == "" if can else reason.startswith(f"{kind.value}: ") and len(reason) > len(kind.value) + 10


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("what", KINDS)
def test_each_schedule_of_its_kinds_gives_the_same(what, device):
    for kind in KINDS[what][4]:
        fd, x, expected, _ = made(what)
        fd.sched.schedule(kind, device=device)
        require_close(fd.execute([x]), expected)
        if x.size > 0:
            assert ("threadIdx" in fd.cuda_code_for([x])) == (device == "cuda")


REASONS = {
    "pointwise: T1 is a reduction": (lambda fd, x: fd.ops.sum(x, 1), Kind.pointwise),
    "transpose: no input that T1 reads": (lambda fd, x: fd.ops.relu(x), Kind.transpose),
    "reduction: nothing is reduced": (lambda fd, x: fd.ops.relu(x), Kind.reduction),
    "inner_persistent: nothing reads a reduction and its input again": (lambda fd, x: fd.ops.sum(x, 1),
                                                                        Kind.inner_persistent),
    "inner_persistent: T1 is no inner reduction": (lambda fd, x: fd.ops.sum(x, 0), Kind.inner_persistent),
    "outer_persistent: T1 is no outer reduction": (softmax(1), Kind.outer_persistent),
    "inner_outer_persistent: there are no partial outer sums": (softmax(1), Kind.inner_outer_persistent),
    "no_op: T1 has elements": (lambda fd, x: fd.ops.relu(x), Kind.no_op),
    "none: it stands for no schedule": (lambda fd, x: fd.ops.relu(x), Kind.none),
    "matmul: a matrix product is a call of a library": (lambda fd, x: fd.ops.matmul(x, x), Kind.matmul),
    "expr_eval: what is no kernel": (lambda fd, x: fd.ops.matmul(x, x), Kind.expr_eval),
    "resize: slices, pads and concatenations": (lambda fd, x: fd.ops.pad(x, [1, 1]), Kind.resize),
    "pointwise: no single kernel: matmul is a library call": (lambda fd, x: fd.ops.matmul(x, x), Kind.pointwise),
    "reduction: no single kernel: T3 reads T1, which is complete only after all blocks": (
        lambda fd, x: x / fd.ops.sum(x, [0, 1], keepdim=True), Kind.reduction),
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_is_against_a_kind_is_said_and_raised(reason):
    define, kind = REASONS[reason]
    fd = defined(define, [-1, -1])
    can, said = fd.sched.can_schedule(kind)
    assert not can and said.startswith(reason)
    with pytest.raises(tokamak.ScheduleError) as raised:
        fd.sched.schedule(kind)
    assert f"Could not schedule fusion with the SchedulerType: {said}" in str(raised.value)
    x = np.ones((4, 4), np.float32)
    fd.execute([x])  # as if nothing had been asked


def test_more_than_one_kernel_has_no_kind():
    fd = defined(lambda fd, x: fd.ops.matmul(x, x), [-1, -1])
    assert fd.sched.find_compatible_schedulers() == []


@pytest.mark.parametrize("sizes", [(3, 2048), (3, 2049), (33, 130), (1, 1), (0, 7), (7, 0), (2, 100_000), (4097, 3)])
def test_one_schedule_is_right_for_all_sizes(sizes):
    for device in DEVICES:
        fd = defined(lambda fd, x: (fd.ops.sum(x, 1), fd.ops.max(x, 1) if sizes[1] else fd.ops.sum(x * x, 1)),
                     [-1, -1])
        fd.sched.schedule(Kind.reduction, device=device)
        x = np.random.default_rng(5).standard_normal(sizes).astype(np.float32)
        exact = x.astype(np.float64)
        np.testing.assert_allclose(fd.execute([x])[0], exact.sum(1), rtol=1e-4, atol=1e-3)
        if sizes[1]:
            np.testing.assert_array_equal(fd.execute([x])[1], x.max(1))


def test_unused_values_do_not_matter():
    def define(fd, x):
        centered = x - fd.ops.sum(x, [1], keepdim=True)
        fd.ops.relu(centered)
        return fd.ops.permute(centered, [1, 0])

    fd = defined(define, [-1, -1])
    fd.sched.schedule(Kind.inner_persistent)
    x = np.random.default_rng(6).standard_normal((5, 70)).astype(np.float32)
    require_close(fd.execute([x]), [(x - x.astype(np.float64).sum(1, keepdims=True)).T])


def test_few_terms_are_recomputed_by_readers():
    def define(fd, x):
        total = fd.ops.sum(x, [0], keepdim=True)
        return total / fd.ops.max(total, [1], keepdim=True)

    fd = defined(define, [3, 17, 64])
    fd.sched.schedule(fd.sched.find_compatible_schedulers()[0])
    x = np.random.default_rng(7).random((3, 17, 64), np.float32)
    total = x.astype(np.float64).sum(0, keepdims=True)
    require_close(fd.execute([x]), [total / total.max(1, keepdims=True)])


def test_inputs_that_are_updated():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(softmax(1)(fd, x), alias_input=x)
    fd.sched.schedule(Kind.inner_persistent)
    array = np.random.default_rng(8).standard_normal((5, 70)).astype(np.float32)
    expected = softmax_of(array.astype(np.float64), 1)
    assert fd.execute([array]) == []
    np.testing.assert_allclose(array, expected, rtol=1e-5)


# --- parameters ---

def test_parameters_are_those_that_the_kernel_depends_on():
    of_elements = made("elements")[0].sched.compute_pointwise_heuristics()
    assert repr(of_elements) == "CpuScheduleParameters(block_elements=8192, tiles_transposes=True, tile_bytes=256)"
    assert dir(of_elements) == ["block_elements", "tile_bytes", "tiles_transposes"]
    on_a_gpu = made("elements")[0].sched.compute_pointwise_heuristics(device="cuda")
    assert repr(on_a_gpu) == "CudaScheduleParameters(vector=16, threads=128, rows=1, tiles_transposes=True)"
    of_rows = made("softmax of rows")[0].sched.compute_reduction_heuristics()
    assert of_rows.accumulators == 64 and "block_columns" not in dir(of_rows)
    of_columns = made("outer sums")[0].sched.compute_reduction_heuristics(device="cuda")
    assert "block_x" in dir(of_columns) and "threads" not in dir(of_columns)
    for kind in (tokamak.CpuScheduleParameters, tokamak.CudaScheduleParameters):
        fields = [each for each in vars(kind).values() if isinstance(each, property)]
        assert len(fields) > 9 and all(each.__doc__[0].isupper() and each.__doc__[-1] == "." for each in fields)


WRONG = {
    "an unknown name": (AttributeError, "warps is no parameter", "warps", 3),
    "a name of other kernels": (AttributeError, "block_x is no parameter of this kernel; these are vector, threads",
                                "block_x", 8),
    "a fraction": (TypeError, "threads is an int, not 1.5", "threads", 1.5),
    "a flag for a number": (TypeError, "threads is an int, not True", "threads", True),
    "a number for a flag": (TypeError, "persistent_outer is True or False, not 1", "persistent_outer", 1),
    "too large a number": (ValueError, "does not fit 64 bits", "threads", 2**63),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_assignment_raises_at_once(what):
    error, words, name, value = WRONG[what]
    parameters = made("sums of rows")[0].sched.compute_reduction_heuristics(device="cuda")
    before = repr(parameters)
    with pytest.raises(error, match=words):
        setattr(parameters, name, value)
    assert repr(parameters) == before


@pytest.mark.parametrize("name, value, words", [
    ("threads", 48, "threads is 48; legal are 1 to 1024, powers of two up to 32 and multiples of 32"),
    ("vector", 3, "vector is 3; legal are 1 to 16, powers of two"),
    ("unroll", 0, "unroll is 0; legal are 1 to 16"),
    ("cluster", -1, "cluster is -1; legal are 1 to 8"),
])
def test_a_number_that_no_kernel_has_is_refused_when_it_is_applied(name, value, words):
    fd, x, expected, _ = made("sums of rows")
    parameters = fd.sched.compute_reduction_heuristics(device="cuda")
    usual = getattr(parameters, name)
    setattr(parameters, name, value)
    with pytest.raises(tokamak.ScheduleError, match=words):
        fd.sched.schedule()
    setattr(parameters, name, usual)
    fd.sched.schedule()
    require_close(fd.execute([x]), expected)


def test_edited_parameters_change_the_schedule_and_no_result():
    for device, name, value, step in (("cpu", "block_elements", 96, "factor=96"),
                                      ("cuda", "threads", 64, "factor=64")):
        fd, x, expected, _ = made("elements")
        parameters = fd.sched.compute_pointwise_heuristics(device=device)
        setattr(parameters, name, value)
        fd.sched.schedule()
        assert getattr(parameters, name) == value and step in fd.sched.user_schedule_ir()
        require_close(fd.execute([x]), expected)
    for device, name, value, step in (("cpu", "accumulators", 24, "factor=24"), ("cuda", "unroll", 3, "factor=3")):
        fd, x, expected, _ = made("sums of rows")
        setattr(fd.sched.compute_reduction_heuristics(device=device), name, value)
        fd.sched.schedule()
        assert step in fd.sched.user_schedule_ir()
        require_close(fd.execute([x]), expected)
    fd, x, expected, _ = made("elements")
    fd.sched.compute_pointwise_heuristics().block_elements = 96
    fd.sched.schedule()
    assert "96" in fd.source_for([x]) and "96" not in fd.source_for([x], override_user_schedule=True)


def test_what_is_not_legal_for_the_kernel_is_lowered():
    fd, x, expected, _ = made("sums of rows")
    parameters = fd.sched.compute_reduction_heuristics(device="cuda")
    parameters.vector, parameters.persistent_batches, parameters.rows = 16, 8, 1024
    fd.sched.schedule()
    text = fd.sched.user_schedule_ir()
    assert "Vectorize" not in text and "factor=1024" not in text  # of rows with any number of elements
    require_close(fd.execute([x]), expected)


def test_a_transpose_may_do_without_tiles():
    with_tiles, x, expected, _ = made("a transpose")
    with_tiles.sched.compute_pointwise_heuristics()
    with_tiles.sched.schedule()
    without, _, _, _ = made("a transpose")
    without.sched.compute_pointwise_heuristics().tiles_transposes = False
    without.sched.schedule()
    as_pointwise, _, _, _ = made("a transpose")
    as_pointwise.sched.schedule(Kind.pointwise)
    for fd in (without, as_pointwise):
        assert len(with_tiles.sched.tensors()) == len(fd.sched.tensors()) + 1
    for fd in (with_tiles, without, as_pointwise):
        require_close(fd.execute([x]), expected)


def test_parameters_are_refused_where_the_kernel_is_another():
    fd = made("sums of rows")[0]
    with pytest.raises(tokamak.ScheduleError, match="Heuristic Scheduler is not defined for this UserSchedule"):
        fd.sched.schedule()
    with pytest.raises(tokamak.ScheduleError, match="SchedulerType: pointwise: T1 is a reduction"):
        fd.sched.compute_pointwise_heuristics()
    with pytest.raises(tokamak.ScheduleError, match="SchedulerType: reduction: nothing is reduced"):
        made("elements")[0].sched.compute_reduction_heuristics()
    with pytest.raises(NotImplementedError, match="compute_matmul_heuristics: a matrix product is a call"):
        fd.sched.compute_matmul_heuristics()
    with pytest.raises(TypeError, match="a scheduler type is a SchedulerType, not 'pointwise'"):
        fd.sched.can_schedule("pointwise")
    with pytest.raises(ValueError, match="device is 'cpu' or 'cuda', not 'tpu'"):
        fd.sched.can_schedule(Kind.pointwise, device="tpu")
    with pytest.raises(TypeError, match="for the device that they were made for"):
        fd.sched.schedule(device="cpu")


def test_heuristics_begin_without_a_schedule():
    fd, x, expected, _ = made("elements")
    result = fd.outputs()[0]
    fd.sched.split(result, 0, 3)
    before = fd.sched.user_schedule_ir()
    for ask in (lambda: fd.sched.schedule(Kind.pointwise), fd.sched.compute_pointwise_heuristics):
        with pytest.raises(tokamak.ScheduleError, match="has a schedule already; heuristics begin with none"):
            ask()
    assert fd.sched.user_schedule_ir() == before
    require_close(fd.execute([x]), expected)
    with FusionDefinition() as unfinished:
        with pytest.raises(tokamak.ScheduleError, match="prior to definition"):
            unfinished.sched.find_compatible_schedulers()
        unfinished.add_output(unfinished.ops.relu(unfinished.define_tensor([4])))


def test_the_module_knows_its_parameters():
    chosen = made("elements")[0].sched
    chosen.compute_pointwise_heuristics()
    with pytest.raises(tokamak.ScheduleError, match="'warps' is no parameter of a schedule"):
        chosen._chosen.value("warps")
    fd = defined(lambda fd, x: fd.ops.matmul(x, x), [-1, -1])
    with pytest.raises(tokamak.ScheduleError, match="no single kernel: matmul is a library call"):
        fd.sched._choose(None)


class Planned(FusionDefinition):
    def __init__(self, what, plan):
        super().__init__()
        self.what, self.plan, self.runs = what, plan, 0

    def definition(self):
        define, _, declared, _, _ = KINDS[self.what]
        self.add_output(define(self, self.define_tensor(declared, contiguity=True)))

    def schedule(self):
        self.runs += 1
        self.plan(self)


def test_a_schedule_of_a_subclass_knows_the_sizes_of_the_call():
    columns = []

    def plan(fd):
        columns.append(fd.sched.compute_reduction_heuristics().block_columns)
        fd.sched.schedule()

    for width in (64, 4000):
        fd = Planned("outer sums", plan)
        for sizes in ((3, width), (3, 5000), (1, 1)):
            x = np.random.default_rng(9).standard_normal(sizes).astype(np.float32)
            require_close(fd.execute([x]), [x.astype(np.float64).sum(0)])
        assert fd.runs == 1
    assert columns[0] == 64 and columns[1] == 2000


def test_a_schedule_that_failed_forgets_its_parameters():
    def plan(fd):
        if fd.runs == 1:
            fd.sched.compute_reduction_heuristics()
            raise KeyError("half-way")
        fd.sched.schedule()

    fd = Planned("sums of rows", plan)
    x = np.ones((2, 3), np.float32)
    with pytest.raises(KeyError):
        fd.execute([x])
    with pytest.raises(tokamak.ScheduleError, match="not defined for this UserSchedule"):
        fd.execute([x])


def test_hyperparameters_are_one_object_to_edit():
    def plan(fd):
        numbers = fd.sched.schedule_hyperparameters()
        result = fd.outputs()[0]
        fd.sched.split(result, 1, numbers.unroll_factor)
        fd.sched.parallelize(result, 0, ParallelType.grid_x)

    fd = Planned("elements", plan)
    numbers = fd.sched.schedule_hyperparameters()
    assert repr(numbers) == ("SchedulerHyperParameters(vectorize_factor=1, unroll_factor=1, threads_per_block_min=1, "
                             "threads_per_block_max=1)")
    assert numbers is fd.sched.schedule_hyperparameters()
    numbers.unroll_factor = 6
    x = np.ones((5, 70), np.float32)
    np.testing.assert_array_equal(fd.execute([x])[0], x)
    assert "factor=6" in fd.sched.user_schedule_ir()
    for name, value, error in (("unroll_factor", 1.0, TypeError), ("unroll_factor", 0, ValueError),
                               ("unrolls", 2, AttributeError)):
        with pytest.raises(error, match=name):
            setattr(numbers, name, value)
    assert SchedulerHyperParameters(2, 3, 4, 5).threads_per_block_max == 5


# --- random fusions ---

EDITS = {
    "vector": [1, 2, 8, 16], "threads": [1, 2, 32, 96, 1024], "persistent_batches": [0, 1, 3], "rows": [1, 3, 128],
    "unroll": [1, 2, 3], "outer_grid_split": [1, 5], "block_x": [1, 8, 128], "block_y": [1, 2, 512],
    "chunk": [0, 1, 4], "stages": [0, 2], "persistent_outer": [False, True], "persistent_grid": [0, 1, 5],
    "together": [1, 2], "tiles_transposes": [True, False], "block_elements": [1, 7, 100], "tile_bytes": [8, 100, 256],
    "block_columns": [1, 33, 2048], "accumulators": [1, 3, 64], "last_accumulators": [1, 5, 16],
    "block_terms": [1, 4, 32], "split_elements": [1, 10, 65536], "max_grid_split": [1, 3, 64],
    "persistent_bytes": [0, 100, 524288],
}


def random_fusion(random):
    """The definition, its arrays and its expected outputs."""
    rank = int(random.integers(1, 4))
    sizes = [int(random.choice([1, 2, 3, 5, 17, 33, 64, 130])) for _ in range(rank)]
    declared = [size if size == 1 or random.integers(2) else -1 for size in sizes]
    array = random.standard_normal(sizes).astype(np.float32)
    with FusionDefinition() as fd:
        values = [(fd.define_tensor(declared, contiguity=True), array.astype(np.float64))]
        for _ in range(int(random.integers(1, 5))):
            tensor, exact = values[int(random.integers(len(values)))]
            axis = int(random.integers(rank))
            order = [int(each) for each in random.permutation(rank)]
            values.append([
                lambda: (fd.ops.tanh(tensor), np.tanh(exact)),
                lambda: (fd.ops.sum(tensor, [axis], keepdim=True), exact.sum(axis, keepdims=True)),
                lambda: (fd.ops.max(tensor, [axis], keepdim=True), exact.max(axis, keepdims=True)),
                lambda: (softmax(axis)(fd, tensor), softmax_of(exact, axis)),
                lambda: (fd.ops.permute(tensor, order), exact.transpose(order)),
                lambda: (tensor + tensor, exact + exact),
            ][int(random.integers(6))]())
        for tensor, _ in values[-1:]:
            fd.add_output(tensor)
    return fd, array, values[-1][1]


def edit(random, sched, kind, device):
    is_of_elements = kind in (Kind.no_op, Kind.transpose, Kind.pointwise)
    compute = sched.compute_pointwise_heuristics if is_of_elements else sched.compute_reduction_heuristics
    parameters = compute(device=device)
    for name in dir(parameters):
        if name in EDITS and random.integers(3) == 0:
            setattr(parameters, name, EDITS[name][int(random.integers(len(EDITS[name])))])
    sched.schedule()


@pytest.mark.parametrize("device", DEVICES)
def test_random_fusions_give_right_numbers(device):
    seen = set()
    for seed in range(70):
        random = np.random.default_rng(seed)
        fd, array, expected = random_fusion(random)
        kinds = fd.sched.find_compatible_schedulers(device=device)
        if not kinds:
            continue
        seen.add(kinds[0])
        if seed % 2:
            edit(random, fd.sched, kinds[0], device)
        else:
            fd.sched.schedule(kinds[0], device=device)
        np.testing.assert_allclose(fd.execute([array])[0], expected, rtol=1e-4, atol=1e-4, err_msg=f"seed {seed}")
    assert len(seen) >= 4


# --- what definitions tell ---

def test_a_definition_tells_its_inputs_outputs_and_extents():
    with FusionDefinition(id=7) as fd:
        x = fd.define_tensor([-1, 3, -1])
        factor = fd.define_scalar(DataType.Double)
        y = fd.define_tensor([-1])
        result = x * factor
        fd.add_output(result)
        fd.add_output(fd.ops.neg(y), alias_input=y)
        noise = fd.ops.uniform(0.0, 1.0, [4])
        fd.add_output(noise)
    assert fd.id() == 7 and FusionDefinition().id() is None
    assert [each is wanted for each, wanted in zip(fd.inputs(), (x, factor, y))] == [True] * 3
    assert len(fd.inputs()) == 3  # without those that calls fill
    assert [each is wanted for each, wanted in zip(fd.outputs(), (result, noise))] == [True] * 2
    outputs = fd.execute([np.ones((2, 3, 4), np.float32), 2.0, np.ones(5, np.float32)])
    assert len(fd.outputs()) == len(outputs) == 2
    extents = fd.extents()
    assert [type(each) for each in extents] == [tokamak.Scalar] * 3
    assert [str(each) for each in extents] == ["Scalar(i0)", "Scalar(i1)", "Scalar(i3)"]


@pytest.mark.parametrize("sizes, strides, contiguity, order", [
    ([2, 3, 4], [12, 4, 1], [True, True, True], [2, 1, 0]),
    ([2, 3, 4], [1, 2, 6], [True, True, True], [0, 1, 2]),
    ([2, 3, 4], [24, 8, 2], [True, True, False], [2, 1, 0]),
    ([2, 1, 4], [4, 4, 1], [True, None, True], [2, 1, 0]),
    ([], [], [], []),
])
def test_arrays_are_described_by_their_strides(sizes, strides, contiguity, order):
    assert tokamak.compute_contiguity(sizes, strides) == contiguity
    assert tokamak.compute_tensor_descriptor(sizes, strides) == (contiguity, order)


def test_a_description_needs_a_stride_for_each_size():
    with pytest.raises(ValueError, match="The number of sizes does not match the number of strides"):
        tokamak.compute_contiguity([2, 3], [1])
    with pytest.raises(TypeError, match="is no integer"):
        tokamak.compute_tensor_descriptor([2, 3], [1, 1.5])


def test_scripts_find_the_names_where_they_expect_them():
    from tokamak import nvfuser

    for name in ("SchedulerType", "SchedulerHyperParameters", "compute_contiguity", "compute_tensor_descriptor"):
        assert getattr(nvfuser, name) is getattr(tokamak, name)
