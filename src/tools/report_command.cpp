#include "tools/report_command.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/output_file.h"
#include "base/require.h"
#include "base/usable_processors.h"
#include "codegen/source.h"
#include "compile/lower_fusion.h"
#include "host/ir/text/host_printer.h"
#include "host/run/host_ir_evaluator.h"
#include "ir/text/fusion_printer.h"
#include "jit/jit_device.h"
#include "jit/kernel_collector.h"
#include "jit/open_device.h"
#include "kernel/bind_kernel.h"
#include "kernel/index_type.h"
#include "kernel/kernel.h"
#include "report/report_page.h"
#include "tokamak/version.h"
#include "tools/error_place.h"
#include "tools/input_values.h"
#include "tools/output_places.h"
#include "tools/program_file.h"
#include "tools/size_errors.h"

namespace tokamak::tools {

namespace {

CudaKernelTexts textsOf(const PreparedKernel& prepared) {
  const kir::Kernel& kernel = prepared.kernel;
  const KernelSource source = kernelSource(kernel, Dialect::Cuda, kir::indexTypeOf(kernel, prepared.bindings));
  const kir::LaunchSize size = kir::launchSize(kernel, prepared.bindings);
  return {.name = prepared.name,
          .launch = fmt::format("{} blocks of {} threads", size.blocks, size.threads),
          .texts = {.name = prepared.name,
                    .choice = {},
                    .schedule = printFusion(*kernel.fusion),
                    .ir = kir::printKernel(kernel),
                    .source = source.text}};
}

// The kernels that a GPU would run at these sizes; why there are none where the program is not for one.
void addCudaKernels(const Fusion& fusion, const ScalarBindings& bindings, int64_t streams, ReportParts& parts) {
  try {
    const KernelTarget target = hopperTarget();
    KernelCollector device(target,
                           [&](const PreparedKernel& prepared) { parts.cuda_kernels.push_back(textsOf(prepared)); });
    const std::shared_ptr<Stream> stream = device.createStream();
    std::unique_ptr<HostIrContainer> program =
        lowerToHostProgram(fusion, {.target = target, .output_views = OutputViews::Copy});
    const auto values = boundValues(*program, emptyInputs(fusion, bindings, device, stream), bindings);
    HostIrEvaluatorParams params;
    params.segments = SegmentMode::Kernels;
    params.number_of_streams = streams;
    HostIrEvaluator(std::move(program), device, params).planFor(values);
  } catch (const Error& error) {
    parts.why_no_cuda = error.message();
  }
}

std::string makeReport(ProgramFile& file, const ReportOptions& options) {
  const Fusion& fusion = *file.fusion;
  InputSources sources;
  sources.sizes = readSizes(fusion, options.sizes);
  sources.seed = options.seed;
  sources.given = readAssignments("--input", options.inputs);
  RunRecord record;
  const int64_t threads = usableProcessors();
  const std::shared_ptr<Device> device =
      openCpuDevice({.threads = threads, .trace = &record, .kernels = &record, .target = cpuTarget(threads)});
  const std::shared_ptr<Stream> stream = device->createStream();
  const InputValues inputs = makeInputs(fusion, sources, *device, stream);
  const std::unique_ptr<HostIrContainer> segments = makeHostProgram(fusion);
  std::unique_ptr<HostIrContainer> program = lowerToHostProgram(fusion, {});
  const auto values = boundValues(*program, inputs.values, inputs.bindings);
  HostIrEvaluatorParams params;
  params.segments = SegmentMode::Kernels;
  params.number_of_streams = options.streams;
  HostIrEvaluator evaluator(std::move(program), *device, params);
  const Plan& plan = withOwnSizeErrors(file, inputs.bindings, [&]() -> Plan& { return evaluator.planFor(values); });
  for (int run = 0; run < 2; ++run) {
    record.startRun();
    const std::vector<Tensor> outputs = evaluator.runWithInput(values);
    for (const Tensor& output : outputs) output.waitReady();
    record.endRun();  // before outputs are released
  }
  device->synchronize(*stream);

  ReportParts parts{.fusion = &fusion,
                    .segments = segments.get(),
                    .target = cpuTarget(),
                    .program = &evaluator.program(),
                    .plan = &plan,
                    .record = &record,
                    .device = fmt::format("{}, {} threads; kernels: {}", device->properties().description, threads,
                                          describeKernels(KernelRunner::Compiled)),
                    .maker = "tokamak " TOKAMAK_VERSION};
  for (const auto& [symbol, value] : inputs.bindings) {
    if (const auto* size = std::get_if<int64_t>(&value); size != nullptr && !symbol->name().empty())
      parts.sizes.emplace_back(symbol->name(), *size);
  }
  std::ranges::sort(parts.sizes);
  parts.segments_text = printHostProgram(*segments);
  parts.host_text = printHostProgram(evaluator.program());
  addCudaKernels(fusion, inputs.bindings, options.streams, parts);
  return reportPage(parts);
}

}  // namespace

int reportCommand(const ReportOptions& options) {
  if (options.output != "-") OutputFile::requireWritable("--output", options.output);
  ProgramFile file = readProgram(options.file);
  TK_REQUIRE(file.fusion != nullptr, Usage, "{}: it holds a host program; only fusions are reported on", options.file);
  std::string page;
  try {
    page = makeReport(file, options);
  } catch (const Error& error) {
    throw withPlace(error, file);
  }
  writeText("--output", options.output, page);
  return 0;
}

}  // namespace tokamak::tools
