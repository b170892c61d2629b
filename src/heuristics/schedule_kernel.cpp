#include "heuristics/schedule_kernel.h"

#include <fmt/format.h>

#include "base/require.h"
#include "graph/two_stage_outer_reduction.h"
#include "heuristics/cpu_schedule.h"
#include "heuristics/cuda_schedule.h"
#include "heuristics/parameter_overrides.h"
#include "heuristics/schedule_parameters.h"
#include "heuristics/unmerge_reshapes.h"

namespace tokamak {

// All blocks share a reduction of everything to one element; beside something else one of them would do it alone.
static std::optional<std::string> whyNotOneGrid(const ReductionStructure& structure) {
  constexpr int64_t kFewTerms = 4096;
  const TensorView* whole = nullptr;
  const TensorView* other = nullptr;
  for (const TensorView* tensor : structure.stored()) {
    if (!structure.hasRows(*tensor) || !structure.rowsOf(*tensor).empty())
      other = tensor;
    else if (isReduced(*tensor) && termsOf(*tensor).value_or(kFewTerms + 1) > kFewTerms)
      whole = tensor;
  }
  if (whole == nullptr || other == nullptr) return std::nullopt;
  return fmt::format("{} is reduced to one element by all blocks, {} is computed apart by each", nameOf(*whole),
                     nameOf(*other));
}

Schedulability canSchedule(Fusion& fusion, const KernelTarget& target) {
  unmergeOutputs(fusion, target.kind);
  ReductionStructure structure(fusion);
  return {whyNotOneKernel(structure, target)};
}

std::optional<std::string> whyNotOneKernel(ReductionStructure& structure, const KernelTarget& target) {
  if (auto problem = structure.find(WholeReductions::Refused)) return problem;
  if (auto problem = whyNotOneGrid(structure)) return problem;
  return target.kind == TargetKind::Cuda ? whyNotForCuda(structure) : whyNotForCpu(structure);
}

std::unique_ptr<Fusion> prepareForKernels(const Fusion& fusion, const KernelTarget& target) {
  if (target.kind == TargetKind::Cpu) return twoStageOuterReduction(fusion, twoStagePartsOfProcessors());
  TwoStageParts parts = twoStagePartsOfGpu(target.multiprocessors);
  if (const int64_t count = overriddenOuterStages(0, target.parameter_overrides); count > 0)
    parts = {.for_long_rows = count};
  return twoStageOuterReduction(fusion, parts);
}

void scheduleKernel(Fusion& fusion, const KernelTarget& target, const ScalarBindings& sizes) {
  scheduleKernel(fusion, chooseParameters(requireReductionStructure(fusion), target, sizes));
}

}  // namespace tokamak
