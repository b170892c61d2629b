"""Every class that a program of the library's users meets says at its head what threads may do with it: `/// Thread safety: ...`."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = {
    "src/base/dump_options.h": ["DumpOptions"],
    "src/base/error.h": ["Error", "ErrorNote"],
    "src/base/trace.h": ["TraceObserver", "Timeline"],
    "src/ir/clone.h": ["Cloner"],
    "src/ir/expr.h": ["Expr", "OpNode"],
    "src/ir/fusion.h": ["Fusion"],
    "src/ir/iter_domain.h": ["IterDomain"],
    "src/symbolic/scalar.h": ["Scalar"],
    "src/ir/tensor_view.h": ["TensorView"],
    "src/symbolic/val.h": ["Val", "StreamVal"],
    "src/device/arena.h": ["StreamClock", "MemorySource", "Arena"],
    "src/device/capture.h": ["Capture"],
    "src/device/device.h": ["Stream", "Event", "Device"],
    "src/device/work.h": ["Work"],
    "src/device/failure.h": ["SkippedError", "RaiseCount"],
    "src/device/hazard_tracker.h": ["CallPoint", "HazardTracker", "OrderedCall"],
    "src/device/in_flight_calls.h": ["InFlightCalls"],
    "src/device/kernel_observer.h": ["KernelObserver"],
    "src/device/compilation.h": ["Compilation"],
    "src/device/intermediate_allocator.h": ["IntermediateAllocator"],
    "src/device/output_allocator.h": ["OutputAllocator"],
    "src/runtime/cpu/parallel_for.h": ["ParallelFor"],
    "src/device/planning_device.h": ["PlanningDevice"],
    "src/device/replay.h": ["Replay"],
    "src/device/tensor.h": ["Buffer", "Tensor"],
    "src/host/run/call_context.h": ["CallContext"],
    "src/host/run/call_context_pool.h": ["CallContextPool"],
    "src/host/ir/host_ir_container.h": ["HostIrContainer"],
    "src/host/run/host_ir_evaluator.h": ["HostIrEvaluator"],
    "src/compile/multi_device_executor.h": ["MultiDeviceExecutor"],
    "src/compile/argument.h": ["Argument"],
    "src/compile/program.h": ["Program"],
    "src/host/plan/plan.h": ["Plan"],
    "src/host/plan/plan_cache.h": ["PlanCache"],
    "src/host/run/program_signature.h": ["ProgramSignature"],
    "src/host/plan/recorder.h": ["Recorder"],
    "src/host/run/scalar_parameters.h": ["ScalarParameters", "ParameterValues"],
    "src/host/run/statement_runner.h": ["RunStorage", "RunStreams", "StatementRunner"],
    "src/host/plan/work_cache.h": ["WorkCache"],
    "src/toolchain/c_compiler.h": ["CCompiler"],
    "src/toolchain/compile_queue.h": ["CompileQueue"],
    "src/toolchain/kernel_cache.h": ["KernelCache"],
    "src/toolchain/kernel_compiler.h": ["KernelCompiler"],
    "src/toolchain/nvrtc.h": ["NvrtcCompiler"],
    "src/toolchain/once_map.h": ["OnceMap"],
    "src/runtime/cpu/cpu_device.h": ["CpuDevice"],
    "src/runtime/cuda/cuda_device.h": ["CudaDevice"],
    "src/jit/jit_device.h": ["JitCpuDevice", "JitCudaDevice"],
    "src/interop/dlpack.h": ["DlpackExchange"],
    "src/device/kernel_launch.h": ["KernelImage", "CpuImage", "CudaImage"],
    "src/device/kernel_maker.h": ["KernelMaker"],
    "src/device/work_observer.h": ["WorkObserver"],
    "src/jit/cpu_jit.h": ["CpuJit"],
    "src/jit/cuda_jit.h": ["CudaJit"],
    "src/jit/jit.h": ["InterpreterJit"],
    "src/jit/kernel_executor.h": ["KernelExecutor"],
    "src/jit/kernel_library.h": ["KernelLibrary"],
}
# All classes of these headers are for users: one that is added is to be listed.
WHOLE = ["src/device/*.h"]
# The comment that stands right above a class, and the class's name.
CLASS = re.compile(r"(?m)^(?P<comment>(?:///[^\n]*\n)*)(?:template <[^\n]*>\n)?class (?:TOKAMAK_EXPORT )?(?P<name>\w+)(?: final)?(?: :[^\n]*)? \{")
STATEMENT = re.compile(r"(?m)^/// Thread safety: [a-z].+(?:\n/// .+)*\.$")


def heads(text):
    """The comment above each class of a header."""
    return {match["name"]: match["comment"] for match in CLASS.finditer(text)}


def complaints(file, text, names):
    """What is wrong with the heads of these classes."""
    found = heads(text)
    for name in names:
        if name not in found:
            yield f"{file}: there is no class {name}"
        elif not STATEMENT.search(found[name]):
            yield f"{file}: {name} does not say '/// Thread safety: ...' at its head"


class ThreadStatements(unittest.TestCase):
    def test_every_public_class_says_what_threads_may_do(self):
        wrong = [line for file, names in PUBLIC.items() for line in complaints(file, (ROOT / file).read_text(), names)]
        self.assertEqual(wrong, [])

    def test_the_list_has_every_class_of_the_devices(self):
        missing = [f"{file}: {name}" for pattern in WHOLE for path in sorted(ROOT.glob(pattern))
                   for file in [str(path.relative_to(ROOT))]
                   for name in heads(path.read_text()) if name not in PUBLIC.get(file, [])]
        self.assertEqual(missing, [])

    def test_a_class_without_a_statement_is_found(self):
        good = "/// A.\n/// Thread safety: one thread at\n/// a time.\nclass A final : public B {\n"
        self.assertEqual(list(complaints("a.h", good, ["A"])), [])
        for bad in (good.replace("Thread safety", "Threads"), good.replace("time.\n", "time.\n\n"),
                    good.replace("one thread at\n/// a time.", "")):
            self.assertEqual(list(complaints("a.h", bad, ["A"])), ["a.h: A does not say '/// Thread safety: ...' at its head"])
        self.assertEqual(list(complaints("a.h", good, ["B"])), ["a.h: there is no class B"])


if __name__ == "__main__":
    unittest.main()
