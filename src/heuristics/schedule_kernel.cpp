#include "heuristics/schedule_kernel.h"

#include <fmt/format.h>

#include "base/require.h"
#include "graph/split_column_sums.h"
#include "heuristics/cpu_schedule.h"
#include "heuristics/cuda_schedule.h"
#include "heuristics/kernel_rows.h"
#include "heuristics/schedule_parameters.h"
#include "heuristics/split_axes.h"
#include "heuristics/values_by_hand.h"

namespace tokamak {

// All blocks share a reduction of everything to one element; beside something else one of them would do it alone.
static std::optional<std::string> whyNotTogether(const KernelRows& rows) {
  constexpr int64_t kFewTerms = 4096;
  const TensorView* whole = nullptr;
  const TensorView* other = nullptr;
  for (const TensorView* tensor : rows.stored()) {
    if (!rows.hasRows(*tensor) || !rows.rowsOf(*tensor).empty())
      other = tensor;
    else if (isReduced(*tensor) && termsOf(*tensor).value_or(kFewTerms + 1) > kFewTerms)
      whole = tensor;
  }
  if (whole == nullptr || other == nullptr) return std::nullopt;
  return fmt::format("{} is reduced to one element by all blocks, {} is computed apart by each", nameOf(*whole),
                     nameOf(*other));
}

std::optional<std::string> whyNoKernel(Fusion& fusion, const KernelTarget& target) {
  splitOutputs(fusion, target.kind);
  KernelRows rows(fusion);
  if (auto problem = rows.find(WholeReductions::Refused)) return problem;
  if (auto problem = whyNotTogether(rows)) return problem;
  return target.kind == TargetKind::Cuda ? whyNoCudaKernel(rows) : whyNoCpuKernel(rows);
}

std::unique_ptr<Fusion> prepareForKernels(const Fusion& fusion, const KernelTarget& target) {
  if (target.kind == TargetKind::Cpu) return splitColumnSums(fusion, columnSumPartsOfProcessors());
  ColumnSumParts parts = columnSumPartsOfGpu(target.multiprocessors);
  if (const int64_t by_hand = partsByHand(0, target.by_hand); by_hand > 0) parts = {.of_long_rows = by_hand};
  return splitColumnSums(fusion, parts);
}

void scheduleKernel(Fusion& fusion, const KernelTarget& target, const ScalarBindings& sizes) {
  scheduleKernel(fusion, chooseParameters(requireRows(fusion), target, sizes));
}

}  // namespace tokamak
