"""Every name that scripts for nvFuser use is there, and works or raises by its name; and what the new ones do."""
import inspect
import math
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import tokamak
from tokamak import nvfuser as module
from tokamak.nvfuser import (
    DataType, DeviceMesh, FusionCache, FusionDefinition, FusionExecutorCache, KernelExecutor, LRUCache, LruFusionCache,
    MultiDeviceExecutor, MultiDeviceExecutorParams, ParallelType, SchedulerType)

from nvfuser_names import REFUSED, WORKS
from shared import run_in_threads

X = np.arange(24, dtype=np.float32).reshape(4, 6) / 8 - 1


def defined(scale=2.0):
    with FusionDefinition() as fd:
        x = fd.from_array(X)
        fd.add_output(fd.ops.relu(x) * scale)
    return fd


def objects():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        y = fd.define_tensor([-1, -1, -1, -1])
        fd.add_output(x * 2.0)
        fd.add_output(y * 2.0)
    return {"module": module, "fd": fd, "ops": fd.ops, "sched": fd.sched, "tensor": x, "axis": x.axis(0),
            "vector": module.Vector([1, 2]), "x": x, "y": y}


@pytest.mark.parametrize("place", WORKS)
def test_names_are_there(place):
    found = eval(place, objects())  # of the table
    for name in WORKS[place].split():
        assert hasattr(found, name), f"{place}.{name}"


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_there_raises_by_its_name(name):
    with pytest.raises(NotImplementedError, match=re.escape(name)) as raised:
        eval(REFUSED[name], objects())  # of the table
    assert len(str(raised.value)) > len(name) + 20, "a sentence says what to do instead"


def test_all_of_the_module_is_exported():
    for name in module.__all__:
        assert getattr(module, name) is not None
    named = {name for place in WORKS if place == "module" for name in WORKS[place].split()}
    assert named <= set(module.__all__)


def test_what_users_call_is_typed_and_told():
    for owner in (getattr(module, name) for name in module.__all__):
        is_ours = inspect.isclass(owner) and owner.__module__.startswith("tokamak.nvfuser")
        if not is_ours or owner.__doc__.startswith("Not there"):
            continue
        for name, call in vars(owner).items():
            call = call.__func__ if isinstance(call, staticmethod) else call
            if name.startswith("_") or not inspect.isfunction(call):
                continue
            assert inspect.getdoc(call), f"{owner.__name__}.{name}"
            signature = inspect.signature(call)
            told = [signature.return_annotation, *(each.annotation for each in signature.parameters.values())]
            assert told.count(inspect.Parameter.empty) <= 1, f"{owner.__name__}.{name}"  # of self


# --- tensors ---

def test_tensors_have_the_schedule_commands():
    with FusionDefinition() as fd:
        x = fd.from_array(X)
        total = fd.ops.sum(x, [1])
        y = fd.ops.sub(x, fd.ops.broadcast(total, [False, True]))
        fd.add_output(y)
        assert y.split(1, 3) is y  # ends the definition
        with pytest.raises(tokamak.DefinitionError, match="completed definition"):
            fd.ops.relu(y)
        module.schedule.transform_like(y)
        partial = total.rfactor([1])
        y.axis(0).parallelize(ParallelType.grid_x)
        module.schedule.parallelize_like(y)
        module.schedule.inline_most([total, partial])
    assert [repr(each) for each in y.get_logical_domain()] == ["iBIDx{i0}", "iSerial{i1}"]
    assert str(y.domain()) == f"[{', '.join(map(repr, y.get_loop_domain()))}]" and "BIDx" in str(y.domain())
    assert y.axis(-1).extent() == 3 and y.axis(0).extent() == "i0" and not y.axis(0).is_reduction()
    assert total.get_loop_domain()[-1].is_reduction() and partial.has_root() and not y.has_root()
    assert isinstance(partial, module.TensorView) and y.get_root_domain() == []
    np.testing.assert_allclose(fd.manual_execute([X])[0], X - X.sum(1, keepdims=True), rtol=1e-6)
    fd.manual_validate([X], [X - X.sum(1, keepdims=True)])


def test_commands_that_tensors_refuse():
    fd = defined()
    y = fd.outputs()[0]
    with pytest.raises(IndexError, match="axis: 2 of a tensor with 2 loops"):
        y.axis(2)
    with pytest.raises(tokamak.ScheduleError, match="an axis of get_loop_domain"):
        y.get_logical_domain()[0].parallelize(ParallelType.serial)
    with pytest.raises(TypeError, match="fd.sched.inline_most"):
        module.schedule.inline_most([])
    with pytest.raises(TypeError, match="schedule.transform_like: a tensor"):
        module.schedule.transform_like(3)
    with pytest.raises(tokamak.DefinitionError, match="'tree' is no domain"):
        fd._native.axes(y._value, "tree")
    with pytest.raises(tokamak.DefinitionError, match="loop domain: a scalar has none"):
        fd._native.axes(fd.extents()[0]._value, "loop")


def test_more_commands_of_tensors():
    with FusionDefinition() as fd:
        x = fd.from_array(X)
        y = fd.ops.exp(x)
        fd.add_output(y)
    copy, before = x.cache_after(), y.cache_before()
    y.merge(0, 1).outer_split(0, 2).inner_split(1, 4).reorder([1, 0, 2])
    assert [each.extent() for each in y.domain()][2] == 4
    copy.set_memory_type(module.MemoryType.shared)
    before.set_allocation_domain(before.get_loop_domain())
    y.set_device_mesh(DeviceMesh(1))
    np.testing.assert_allclose(fd.manual_execute([X])[0], np.exp(X), rtol=1e-6)


def test_schedules_by_heuristics_of_a_fusion():
    fd = defined()
    assert module.schedule.can_schedule(fd.fusion, SchedulerType.pointwise) == (True, "")
    assert module.schedule.find_compatible_schedulers(fd.fusion)[0] is SchedulerType.pointwise
    parameters = module.schedule.compute_heuristics(fd.fusion, SchedulerType.pointwise)
    module.schedule.schedule(fd.fusion, SchedulerType.pointwise, parameters)
    np.testing.assert_array_equal(fd.execute([X])[0], np.maximum(X, 0) * 2)
    with pytest.raises(tokamak.ScheduleError, match="SchedulerType: reduction"):
        module.schedule.compute_heuristics(defined(), SchedulerType.reduction)
    with pytest.raises(TypeError, match="schedule.can_schedule: a FusionDefinition"):
        module.schedule.can_schedule(3, SchedulerType.pointwise)


# --- what a definition is made of ---

def test_fusions_are_equal_that_say_the_same():
    fd = defined()
    with FusionDefinition(id=3) as same:
        same.add_output(same.ops.relu(same.from_array(X)) * 2.0)
    assert same.fusion == fd.fusion and hash(same.fusion) == hash(fd.fusion) and defined(3.0).fusion != fd.fusion
    assert fd.fusion.inputs() == fd.inputs() and len(fd.fusion.vals()) == 3
    assert module.clone(fd).fusion == fd.fusion
    with FusionDefinition() as open_one:
        module.clone(fd, open_one)
        open_one.add_output(open_one.inputs()[0])
    assert len(open_one.execute([X])) == 2
    assert module.translate_fusion(fd.fusion) == repr(fd)


def test_what_is_printed(capsys):
    fd = defined()
    fd.fusion.print_math()
    assert "relu" in capsys.readouterr().out
    with pytest.raises(tokamak.Error, match="never been executed"):
        fd.fusion.print_kernel()
    fd.execute([X])
    fd.fusion.print_kernel()
    assert "__global__" in capsys.readouterr().out


def test_executors_of_a_definition():
    fd = defined()
    executor = FusionExecutorCache(fd.fusion)
    assert not executor.is_compiled([X]) and not fd.ke.is_compiled()
    np.testing.assert_array_equal(executor.execute([X])[0], np.maximum(X, 0) * 2)
    assert executor.is_compiled([X]) and fd.ke.is_compiled() and executor.fusion() == fd.fusion
    assert "__global__" in executor.get_cuda_kernel([X]) and executor.get_output_shardings() == []
    assert executor.get_scheduled_ir([X]) == executor.get_most_recent_scheduled_ir()
    kernel = KernelExecutor()
    with pytest.raises(tokamak.Error, match="compile.. comes first"):
        kernel.run([X])
    kernel.compile(fd.fusion, [X])
    np.testing.assert_array_equal(kernel.run([X])[0], np.maximum(X, 0) * 2)
    assert kernel.is_compiled() and not kernel.is_programmatic_dependent_launch_enabled()


def test_debug_output_is_that_of_the_last_call():
    fd = defined()
    assert fd.debug_output() is None
    fd.execute([X], capture_debug_output=True)
    assert "fusion" in fd.debug_output() and fd.debug_output() == fd.last_scheduled_fusion_ir()
    fd.execute([X])
    assert fd.debug_output() is None


def test_segments():
    with FusionDefinition() as fd:
        x = fd.from_array(X)
        y = fd.ops.segment_set(fd.ops.sinh(x))
        fd.add_output(fd.ops.softmax(fd.ops.cosh(y), 1))
    segments = fd.segment([X])
    assert len(segments) == 2 and fd.segments == segments and fd._setup_segmentation([X]) == 2
    assert "sinh" in segments[0].fusion_ir() and "void" in segments[0].source()
    fd._finalize_segmentation()
    assert fd.segments == []
    wanted = np.exp(np.cosh(np.sinh(X)))
    np.testing.assert_allclose(fd.execute([X])[0], wanted / wanted.sum(1, keepdims=True), rtol=1e-5)


def test_steps_of_other_frontends():
    fd = FusionDefinition()
    fd._setup_definition()
    y = fd.ops.relu(fd.from_array(X))
    fd.add_output(y)
    fd._finalize_definition()
    fd._setup_multidevice_schedule()
    fd._finalize_multidevice_schedule()
    fd._setup_schedule([X])
    fd.sched.split(y, 1, 2)
    fd._setup_schedule([X], overwrite_existing_schedule=True)
    assert not fd._exist_schedule([X])
    fd.sched.split(y, 1, 3)
    fd._finalize_schedule([X])
    assert fd._exist_schedule([X]) and "3" in fd._user_schedule_ir() and fd._fusion_ir() == fd.fusion_ir()
    np.testing.assert_array_equal(fd.execute([X])[0], np.maximum(X, 0))
    assert fd._debug_output() is None


def test_an_empty_definition_is_not_valid():
    with pytest.raises(NotImplementedError, match="Fusion is empty!"):
        FusionDefinition().validate_definition()
    defined().validate_definition()


# --- references ---

def test_tolerances():
    with FusionDefinition() as fd:
        x = fd.from_array(X)
        fd.add_output(x * 2.0)
        fd.add_output(fd.ops.cast(x, DataType.Half))
        fd.add_output(x > 0.0)
    tolerances = fd.getValTolerances([X])
    assert tolerances == module.get_val_tolerances(fd.fusion) and tolerances[2] == (0.0, 0.0)
    assert tolerances[0] == (math.sqrt(2.0**-23),) * 2 and tolerances[1] == (math.sqrt(2.0**-10),) * 2


def test_outputs_are_compared_with_the_reference():
    fd = FusionDefinition()
    with fd:
        x = fd.from_array(X)
        weight = fd.define_scalar(DataType.Double)
        fd.add_output(fd.ops.softmax(x, 1))
        fd.add_output(x + 1.0, x)
        fd.add_output(x * weight)
    inputs = [X.copy(), 3.0]
    outputs = fd.execute([X.copy(), 3.0])
    module.validate_with_auto_inferred_outputs(fd, outputs, inputs)
    with pytest.raises(tokamak.Error, match="output 2: 1 of 24 elements differ"):
        wrong = outputs[1].copy()
        wrong[1, 2] += 1e-3
        module.validate_with_auto_inferred_outputs(fd.fusion, [outputs[0], wrong], inputs)
    with pytest.raises(tokamak.BindError, match="1 outputs for a definition that has 2"):
        module.validate_with_auto_inferred_outputs(fd.fusion, outputs[:1], inputs)
    with pytest.raises(tokamak.BindError, match="output 0"):
        module.validate_with_auto_inferred_outputs(fd.fusion, ["a", outputs[1]], inputs)
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.rand_like(fd.from_array(X)))
    with pytest.raises(tokamak.Error, match="give the ops rng_seed"):
        module.validate_with_auto_inferred_outputs(fd, [X], [X])


# --- several devices ---

def test_meshes_of_one_device():
    class Relu(FusionDefinition):
        def definition(self):
            self.x = self.define_tensor([1, -1, -1], contiguity=True)
            self.y = self.ops.relu(self.x)
            self.add_output(self.y)

        def multidevice_schedule(self):
            for each in (self.x, self.y):
                self.sched._set_device_mesh(each, DeviceMesh(range(1)))
                self.sched.parallelize(each, 0, ParallelType.mesh_x)

    fd = Relu(use_multidevice_executor=True, backend_type=module.CommunicatorBackend.ucc)
    np.testing.assert_array_equal(fd.execute([X[None]])[0], np.maximum(X[None], 0))
    mesh = DeviceMesh([0])
    assert (mesh.size, mesh.shape, mesh) == (1, [1], DeviceMesh(np.arange(1))) and repr(mesh) == "DeviceMesh([0])"
    assert mesh.shard_tensor(X, 0, 0) is X and module.shard_tensor(X, mesh) is X
    sharding = module.Sharding(mesh)
    assert sharding.mesh == mesh and sharding.axis_sharded_on(ParallelType.mesh_x) == -1


def test_what_several_devices_need_is_refused(monkeypatch):
    for devices in (0, -1, 10**12, []):
        with pytest.raises(ValueError, match="legal"):
            DeviceMesh(devices)
    with pytest.raises(ValueError, match="device 1 is none of"):
        DeviceMesh(1).shard_tensor(X, 0, 1)
    with pytest.raises(ValueError, match="axis 2 of an array with 2"):
        DeviceMesh(1).shard_tensor(X, 2, 0)
    with pytest.raises(TypeError, match="non-distributed"):
        module.shard_tensor(X, 3)
    with pytest.raises(TypeError, match="DeviceMesh is legal"):
        module.Sharding(3)
    with pytest.raises(TypeError, match="ParallelType is legal"):
        module.Sharding(DeviceMesh(1)).axis_sharded_on("x")
    with pytest.raises(TypeError, match="CommunicatorBackend"):
        FusionDefinition(backend_type="nccl")
    assert module.Communicator.instance().size() == 1 and module.Communicator().rank() == 0
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(NotImplementedError, match="2 processes were started, and not by mpirun"):
        module.Communicator()
    monkeypatch.setenv("WORLD_SIZE", "two")
    with pytest.raises(ValueError, match="a number of processes is 'two'"):
        module.Communicator()


def test_an_executor_over_ranks_and_a_part_of_a_tensor():
    def define():
        with FusionDefinition() as fd:
            x = fd.define_tensor([4, 2], contiguity=True)
            fd.add_output(fd.ops.sum(x, 0))
        x.set_device_mesh(DeviceMesh(2))
        x.outer_split(0, 2)
        x.axis(0).parallelize(ParallelType.mesh_x)
        return fd, x

    whole = np.arange(8, dtype=np.float32).reshape(4, 2)
    given = {}

    def work(communicator):
        fd, x = define()
        executor = MultiDeviceExecutor(fd.fusion, MultiDeviceExecutorParams(number_of_streams=2), communicator)
        part = tokamak.shard_tensor(whole, x, communicator)
        for _ in range(2):
            given[communicator.rank], = executor.run([part])

    run_in_threads(work, tokamak.Communicator.local(2))
    for rank in range(2):
        np.testing.assert_array_equal(given[rank], whole.sum(0))
    fd, x = define()
    np.testing.assert_array_equal(module.shard_tensor(whole, x), whole[:2])  # of this process, which is rank 0
    np.testing.assert_array_equal(module.shard_tensor(whole, 0, DeviceMesh(2)), whole[:2])
    for call in (fd.execute, MultiDeviceExecutor(fd).run):
        with pytest.raises(NotImplementedError, match="the definition is spread over devices 0, 1"):
            call([whole])
    with FusionDefinition() as other:
        y = other.define_tensor([4], contiguity=True)
        other.add_output(y + 1.0)
    y.set_device_mesh(DeviceMesh([1, 2]))
    with pytest.raises(ValueError, match="device 0 is none of the tensor's mesh"):
        module.shard_tensor(whole[:, 0], y)
    with pytest.raises(TypeError, match="a tokamak.Communicator is legal"):
        MultiDeviceExecutor(fd, None, 3)


@pytest.mark.parametrize("streams", [1, 3])
def test_a_multi_device_executor_deals_out_streams(streams):
    with FusionDefinition() as fd:
        x = fd.from_array(X)
        y = fd.ops.relu(x)
        fd.add_output(y)
        fd.add_output(x + 1.0, x)
        y.axis(0).parallelize(ParallelType.stream)
    executor = MultiDeviceExecutor(fd.fusion, MultiDeviceExecutorParams(number_of_streams=streams))
    x = X.copy()
    for _ in range(3):
        before = x.copy()
        outputs = executor.run([x])
        assert len(outputs) == 1
        np.testing.assert_array_equal(outputs[0], np.maximum(before, 0))
        np.testing.assert_array_equal(x, before + 1)


def test_a_tensor_view_has_no_subscripts():
    with module.FusionDefinition() as fd:
        x = fd.define_tensor([-1])
        fd.add_output(x + 1.0)
    with pytest.raises(TypeError, match="fd.ops.slice and fd.ops.select are legal"):
        x[0]


def test_a_forked_process_compiles_its_own():
    executor = MultiDeviceExecutor(defined())
    executor.run([X])
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(executor.run([X])[0], np.maximum(X, 0) * 2) else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(executor.run([X])[0], np.maximum(X, 0) * 2)


def test_parameters_of_a_multi_device_executor():
    parameters = MultiDeviceExecutorParams()
    parameters.use_allocation_cache = True
    assert parameters.number_of_streams == 4 and "use_allocation_cache=True" in repr(parameters)
    with pytest.raises(ValueError, match="0 is no number of streams"):
        parameters.number_of_streams = 0
    with pytest.raises(TypeError, match="backend_type: a CommunicatorBackend"):
        parameters.backend_type = 3
    with pytest.raises(TypeError, match="True and False are legal"):
        parameters.use_allocation_cache = "yes"
    with pytest.raises(AttributeError, match="lower is no parameter"):
        parameters.lower = 3
    with pytest.raises(TypeError, match="MultiDeviceExecutorParams are legal"):
        MultiDeviceExecutor(defined(), 3)
    with pytest.raises(TypeError, match="MultiDeviceExecutor: a FusionDefinition"):
        MultiDeviceExecutor(3)


# --- caches ---

def test_the_fusion_cache_counts_programs():
    cache = FusionCache.get()
    assert FusionCache.get() is cache and FusionCache.get(max_fusions=1000, load_from_default_workspace=False) is cache
    FusionCache.reset()
    before = cache.num_fusions()
    scale = 77.5
    first, second = defined(scale), defined(scale)
    first.execute([X])
    second.execute([X])
    assert cache.num_fusions() == before + 1
    assert f"Total Fusions: {before + 1}" in cache.stats() and "Cache Hits: " in repr(cache)
    other = defined(scale + 1)
    other.execute([X])
    with pytest.raises(tokamak.Error, match="max fusions is set less than"):
        FusionCache.get(max_fusions=1)
    with pytest.raises(ValueError, match="max_fusions is 0"):
        FusionCache.get(max_fusions=0)
    module.serialize()
    module.enable_automatic_serialization()


def test_a_cache_of_the_last_fusions():
    cache = LRUCache(max_fusions=2)
    fds = [defined(scale) for scale in (1.0, 2.0, 3.0)]
    kept = cache.cache_compile(fds[0].fusion)
    assert cache.cache_compile(defined(1.0).fusion) is kept
    for fd in fds[1:]:
        cache.cache_compile(fd.fusion)
    assert cache.num_fusions() == 2 and cache.cache_compile(fds[0].fusion) is not kept
    assert cache.stats() == "Total Fusions: 2\nLookups: 5\nCache Hits: 1\n"
    np.testing.assert_array_equal(kept.execute([X])[0], np.maximum(X, 0))


def test_a_function_that_makes_definitions_once():
    @LruFusionCache(max_fusions=8)
    def make(scale):
        """Makes one."""
        return defined(scale)

    assert make(2.0) is make(2.0) and make(3.0) is not make(2.0) and make.num_fusions() == 2
    assert make.__doc__ == "Makes one." and "Lookups: 4" in make.stats()
    assert LruFusionCache(defined)(4.0).execute([X])[0].max() == 4.0 * X.max()
    with pytest.raises(TypeError, match="LruFusionCache: a function"):
        LruFusionCache(3)


# --- types ---

def test_types_of_torch_and_python():
    convert = module.torch_dtype_to_nvfuser_dtype
    assert [convert(each) for each in (bool, int, float, complex)] == [
        DataType.Bool, DataType.Int, DataType.Double, DataType.ComplexDouble]
    assert module.python_scalar_to_nvfuser_dtype(2.5) is DataType.Double
    for wrong in (str, "float7", None, 3):
        with pytest.raises(TypeError, match="torch_dtype_to_nvfuser_dtype"):
            convert(wrong)
    with pytest.raises(TypeError, match="'a' is no number"):
        module.python_scalar_to_nvfuser_dtype("a")
    torch = pytest.importorskip("torch")
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.bool,
                  torch.complex64, torch.float8_e4m3fn):
        assert module.nvfuser_dtype_to_torch_dtype(convert(dtype)) is dtype
    with pytest.raises(TypeError, match="torch.int8 has no DataType"):
        convert(torch.int8)
    with pytest.raises(TypeError, match="DataType.Null has no type in torch"):
        module.nvfuser_dtype_to_torch_dtype(DataType.Null)


# --- attention ---

def softmax_attention(q, k, v, is_causal, scale):
    scores = np.einsum("bhqe,bhke->bhqk", q, k) * scale
    if is_causal:
        scores = np.where(np.arange(k.shape[2]) > np.arange(q.shape[2])[:, None], -np.inf, scores)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    return weights / total, (np.log(total) + top)[..., 0]


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_attention_forward_and_backward(is_causal, scale):
    random = np.random.default_rng(3)
    q, k, v = (random.standard_normal((2, 3, n, 8)) for n in (5, 7, 7))
    grad = random.standard_normal((2, 3, 5, 8))
    with FusionDefinition() as fd:
        tensors = [fd.define_tensor([-1] * 4, contiguity=True, dtype=DataType.Double) for _ in range(4)]
        causal = fd.define_scalar(is_causal, dtype=DataType.Bool)
        output, logarithms, seed, offset = fd.ops.sdpfa_fwd(*tensors[:3], fd.define_scalar(0.0), causal, scale)
        for each in (output, logarithms, seed, offset):
            fd.add_output(each)
        for each in fd.ops.sdpfa_bwd(tensors[3], *tensors[:3], output, logarithms, 0.0, is_causal, seed, offset, scale):
            fd.add_output(each)
    results = fd.execute([q, k, v, grad])
    used = 1 / math.sqrt(8) if scale is None else scale
    weights, wanted_logarithms = softmax_attention(q, k, v, is_causal, used)
    wanted = weights @ v
    grad_weights = grad @ v.swapaxes(2, 3)
    grad_scores = weights * (grad_weights - (grad * wanted).sum(-1, keepdims=True)) * used
    wanted = [wanted, wanted_logarithms, 0, 0, grad_scores @ k, grad_scores.swapaxes(2, 3) @ q,
              weights.swapaxes(2, 3) @ grad]
    for got, each in zip(results, wanted):
        np.testing.assert_allclose(got, each, rtol=1e-10, atol=1e-12)


def test_attention_in_halves_with_a_mask():
    random = np.random.default_rng(3)
    q, k, v = (random.standard_normal((1, 2, 4, 8)).astype(np.float16) for _ in range(3))
    mask = np.array([[True, True, True, True]] * 2 + [[False] * 4, [True, False, False, False]])
    with FusionDefinition() as fd:
        tensors = [fd.define_tensor([-1] * 4, contiguity=True, dtype=DataType.Half) for _ in range(3)]
        seen = fd.define_tensor([-1, -1], contiguity=True, dtype=DataType.Bool)
        output, logarithms, _, _ = fd.ops.sdpfa_fwd(*tensors, mask=seen)
        grads = fd.ops.sdpfa_bwd(output, *tensors, output, logarithms, 0.0, False, None, None)
        for each in (output, logarithms, *grads):
            fd.add_output(each)
    output, logarithms, *grads = fd.execute([q, k, v, mask])
    assert output.dtype == np.float16 and logarithms.dtype == np.float32
    assert (output[:, :, 2] == 0).all() and np.isneginf(logarithms[:, :, 2]).all()
    np.testing.assert_allclose(output[:, :, 3], v[:, :, 0], rtol=1e-3)
    assert all(np.isfinite(each).all() and each.dtype == np.float16 for each in grads)
    assert (grads[0][:, :, 2] == 0).all()


def test_attention_refuses_what_it_cannot():
    fd = FusionDefinition()
    x, y = fd.define_tensor([-1, -1]), fd.define_tensor([-1] * 4)
    with pytest.raises(tokamak.DefinitionError, match="sdpfa_fwd: query has 2 axes"):
        fd.ops.sdpfa_fwd(x, x, x)
    with pytest.raises(TypeError, match="sdpfa_fwd takes a tensor"):
        fd.ops.sdpfa_fwd(y, y, 3)
    with pytest.raises(NotImplementedError, match="is_causal is a constant"):
        fd.ops.sdpfa_fwd(y, y, y, is_causal=fd.define_scalar(DataType.Bool))
    with pytest.raises(TypeError, match="is_causal: True and False"):
        fd.ops.sdpfa_fwd(y, y, y, is_causal="no")


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy as np
from tokamak.nvfuser import DataType, FusionDefinition
with FusionDefinition() as fd:
    fd.add_output(fd.ops.iota(fd.define_scalar(5), fd.define_scalar(1), fd.define_scalar(2), DataType.Int))
result, = fd.execute([])
assert type(result) is np.ndarray and result.tolist() == [1, 3, 5, 7, 9]
with FusionDefinition() as fd:
    x = fd.from_pytorch(np.zeros((4, 4), np.float32))
    fd.add_output(fd.ops.add(x, fd.ops.uniform(0., 1., fd.ops.shape(x), dtype=DataType.Float)))
first, second = (fd.execute([np.zeros((4, 4), np.float32)])[0] for _ in range(2))
assert type(first) is np.ndarray and not np.array_equal(first, second)
"""


def test_no_framework_is_needed():
    done = subprocess.run([sys.executable, "-B", "-c", WITHOUT_TORCH], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_torch_is_not_imported_for_the_module():
    code = "import sys, tokamak.nvfuser; assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
