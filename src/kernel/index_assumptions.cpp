#include "kernel/index_assumptions.h"
#include "ir/extent_assumptions.h"

namespace tokamak::kir {

void assumeIndices(const Kernel& kernel, IntervalAnalysis& analysis) {
  assumeExtents(analysis, *kernel.fusion);
  for (const LaunchDimension& dimension : kernel.dimensions) analysis.assumeIndex(*dimension.index, *dimension.extent);
  visitStatements(kernel.body, [&](const Statement& statement) {
    if (const auto* loop = std::get_if<Loop>(&statement.node)) analysis.assumeIndex(*loop->index, *loop->stop);
    if (const auto* let = std::get_if<Let>(&statement.node); let != nullptr && let->index != nullptr)
      analysis.assumeIndex(*let->index, *let->extent);
  });
}

}  // namespace tokamak::kir
