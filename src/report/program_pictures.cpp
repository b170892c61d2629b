#include "report/program_pictures.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/require.h"
#include "compile/make_program.h"
#include "host/run/host_ir_evaluator.h"
#include "ir/clone.h"
#include "report/fusion_picture.h"
#include "report/host_picture.h"
#include "report/plan_picture.h"
#include "report/segments_picture.h"

namespace tokamak {

std::vector<ProgramPicture> programPictures(const Fusion& fusion, Device& device, const CompileOptions& options,
                                            std::optional<std::span<const Argument>> inputs, std::string_view id_prefix,
                                            const PrepareOptions& prepare) {
  std::vector<ProgramPicture> pictures;
  const auto prefix = [&](std::string_view name) { return fmt::format("{}{}-", id_prefix, name); };
  const auto add = [&](std::string_view name, std::string svg) {
    pictures.push_back({std::string(name), std::move(svg)});
  };
  const std::unique_ptr<Fusion> own = cloneFusion(fusion);
  HostLoweringOptions lowering = loweringOptionsOf(options);
  lowering.target = device.kernelTarget();
  add("fusion", fusionPicture(*own, prefix("fusion")));
  std::unique_ptr<HostIrContainer> program = makeHostProgram(*own, lowering);
  add("segments", segmentsPicture(*program, *lowering.target, prefix("segments")));
  program = lowerToHostProgram(*own, lowering);
  add("host", hostPicture(*program, prefix("host")));
  if (!inputs) return pictures;
  TK_CHECK(inputs->size() == program->inputs().size(), "{}: takes {} inputs, {} were given", fusion.name(),
           program->inputs().size(), inputs->size());
  HostIrEvaluatorParams params = evaluatorParamsOf(options);
  params.segments = options.makes_kernels ? SegmentMode::Kernels : SegmentMode::OpByOp;
  HostIrEvaluator evaluator(std::move(program), device, params);
  std::vector<std::pair<Val*, RunValue>> values;
  for (size_t i = 0; i < inputs->size(); ++i)
    values.emplace_back(evaluator.program().inputs()[i], (*inputs)[i].value());
  const Plan& plan = evaluator.planFor(values, prepare);
  add("plan", planPicture(plan, fusion.name(), prefix("plan")));
  if (plan.summary().arena_bytes > 0) add("memory", memoryPicture(plan, fusion.name(), prefix("memory")));
  return pictures;
}

}  // namespace tokamak
