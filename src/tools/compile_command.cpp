#include "tools/compile_command.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/dump_options.h"
#include "base/require.h"
#include "codegen/source.h"
#include "compile/lower_fusion.h"
#include "device/gpu_architecture.h"
#include "host/run/host_ir_evaluator.h"
#include "jit/kernel_collector.h"
#include "kernel/access_widths.h"
#include "kernel/bind_kernel.h"
#include "kernel/index_type.h"
#include "kernel/shared_memory.h"
#include "toolchain/nvrtc.h"
#include "tools/error_place.h"
#include "tools/input_values.h"
#include "tools/lowering_options.h"
#include "tools/program_file.h"
#include "tools/size_errors.h"

namespace tokamak::tools {

namespace {

class Reporter {
 public:
  Reporter(const CompileOptions& options, std::string name)
      : compiler_({.architecture = options.architecture}, KernelCache::openDefault()),
        dump_(options.dump),
        name_(std::move(name)) {}

  KernelPassOptions passes() const {
    if (!dump_.wants("kernel_passes", name_)) return {};
    return {.after = [](std::string_view pass, const kir::Kernel& kernel) {
      fmt::print("// after {}\n{}", pass, kir::printKernel(kernel));
    }};
  }

  void take(const PreparedKernel& prepared) {
    const kir::Kernel& kernel = prepared.kernel;
    const KernelSource source = kernelSource(kernel, Dialect::Cuda, kir::indexTypeOf(kernel, prepared.bindings));
    if (dump_.wants("kernel_ir", name_)) fmt::print("{}", kir::printKernel(kernel));
    if (dump_.wants("source", name_)) fmt::print("{}", source.text);
    const auto cubin = compiler_.compile(compilationUnit({&source, 1}, Dialect::Cuda));
    kir::requireLaunchableOnGpu(kernel, prepared.bindings);
    const kir::LaunchSize size = kir::launchSize(kernel, prepared.bindings);
    const KernelResources resources = cubin->resources.empty() ? KernelResources{} : cubin->resources[0];
    std::string narrow;
    for (const auto& [tensor, bytes] : kir::narrowestAccesses(kernel)) {
      if (bytes < 16) narrow += fmt::format(" T{} {}", tensor->label(), bytes);
    }
    fmt::print(
        "kernel {}: {} blocks of {} threads, {} registers, {} bytes of shared memory, {} spilled, {} of stack{}{}\n",
        count_++, size.blocks, size.threads, resources.registers,
        resources.shared_bytes + kir::launchedSharedBytes(kernel, prepared.bindings), resources.spill_store_bytes,
        resources.stack_bytes, narrow.empty() ? "" : "; accesses under 16 bytes:", narrow);
  }

 private:
  NvrtcCompiler compiler_;
  DumpOptions dump_;
  std::string name_;
  int count_ = 0;
};

}  // namespace

int compileCommand(const CompileOptions& options) {
  ProgramFile file = readProgram(options.file);
  TK_REQUIRE(file.fusion != nullptr, Usage, "{}: it holds a host program; only fusions are compiled", options.file);
  try {
    Fusion& fusion = *file.fusion;
    const ScalarBindings bindings = givenExtents(fusion, options.sizes);
    Reporter reporter(options, fusion.name());
    const KernelTarget target = gpuTarget(options.architecture, "--arch");
    KernelCollector device(target, [&](const PreparedKernel& prepared) { reporter.take(prepared); }, reporter.passes());
    const std::shared_ptr<Stream> stream = device.createStream();
    std::unique_ptr<HostIrContainer> program =
        lowerToHostProgram(fusion, {.grouping = groupingNamed(options.grouping),
                                    .target = target,
                                    .output_views = OutputViews::Copy,
                                    .output_layouts = outputLayoutsNamed(options.output_layouts)});
    const auto values = boundValues(*program, emptyInputs(fusion, bindings, device, stream), bindings);
    HostIrEvaluator evaluator(std::move(program), device, {.segments = segmentModeOf(options.grouping)});
    withOwnSizeErrors(file, bindings, [&] { evaluator.planFor(values); });
    return 0;
  } catch (const Error& error) {
    throw withPlace(error, file);
  }
}

}  // namespace tokamak::tools
