#include "compile/host_program.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "compile/lower_fusion.h"
#include "compile/make_program.h"
#include "compile/multi_device_executor.h"
#include "compile/program.h"
#include "dist/job_communicator.h"
#include "graph/product_group.h"
#include "heuristics/schedule_kernel.h"
#include "host/ir/text/host_parser.h"
#include "host/local/local_program.h"
#include "ir/clone.h"
#include "ir/ops/host/post_on_stream.h"

namespace tokamak {

// Those that lie in an input's memory are updates of it.
static MultiDeviceExecutor::Outputs outputsOf(const HostIrContainer& program) {
  MultiDeviceExecutor::Outputs outputs;
  const std::vector<TensorView*> inputs = tensorsOf(program.inputs());
  for (size_t i = 0; i < program.outputs().size(); ++i) {
    TensorView* output = program.outputs()[i];
    const auto updated = std::ranges::find(inputs, program.resolveAlias(output));
    if (updated != inputs.end() && *updated != output)
      outputs.in_place.emplace_back(i, static_cast<size_t>(updated - inputs.begin()));
    else
      outputs.given.push_back(i);
  }
  return outputs;
}

Program compileHostProgram(std::string_view text, std::string_view file, Device& device,
                           const CompileOptions& options) {
  std::unique_ptr<HostIrContainer> program = parseHostProgram(text, file);
  if (options.communicator != nullptr)
    program = localProgramInJob(*program, {.number = options.communicator->rank(),
                                           .ranks = options.communicator->size(),
                                           .backend = options.communicator->backend()});
  const KernelTarget target = device.kernelTarget();
  finishHostProgram(*program, {.target = target});
  HostIrEvaluatorParams params = evaluatorParamsOf(options);
  params.segments = options.makes_kernels ? segmentModeFor(*program, target) : SegmentMode::OpByOp;
  MultiDeviceExecutor::Outputs outputs = outputsOf(*program);
  return makeProgram(std::make_unique<MultiDeviceExecutor>(std::move(program), std::move(outputs), device, params));
}

SegmentMode segmentModeFor(const HostIrContainer& program, const KernelTarget& target) {
  bool may_be_kernels = true;
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    const auto* post = expr.as<PostOnStream>();
    if (post == nullptr || !may_be_kernels || productGroupOf(*post->segment)) return;
    may_be_kernels = !canSchedule(*cloneFusion(*post->segment->fusion), target).reason;
  });
  return may_be_kernels ? SegmentMode::Kernels : SegmentMode::OpByOp;
}

}  // namespace tokamak
