#include "compile/resharding_layouts.h"

#include <algorithm>
#include <optional>

#include "analysis/resharding_steps.h"
#include "ir/expr_summary.h"
#include "ir/ops/math/load_store_op.h"

namespace tokamak {

namespace {

bool isFree(const Fusion& fusion, TensorView* tensor) {
  const auto isLibrary = [](const Expr* expr) { return expr->info().is_library; };
  const Expr* made = tensor->definition();
  const TensorDomain& domain = tensor->domain();
  // (What is sent slice by slice lies in the order of its axes.)
  const bool is_streamed = std::ranges::any_of(tensor->loop(), [](const IterDomain* axis) { return axis->isStream(); });
  return made != nullptr && !is_streamed && !isLibrary(made) && !made->is<LoadStoreOp>() && !fusion.isInput(tensor) &&
         !fusion.isOutput(tensor) && !domain.stride_order && domain.allocation.empty() &&
         std::ranges::none_of(tensor->uses(), isLibrary);
}

// The axis whose parts the first step sends or makes, where it is of that kind.
std::optional<size_t> axisSent(const Sharding& from, const ReshardingStep& step) {
  switch (step.kind) {
    case ReshardingStep::Kind::Allgather:
    case ReshardingStep::Kind::Gather: return static_cast<size_t>(from.uses[step.dimension].parts.axis);
    case ReshardingStep::Kind::Scatter:
    case ReshardingStep::Kind::ReduceScatter: return static_cast<size_t>(step.to.uses[step.dimension].parts.axis);
    default: return std::nullopt;
  }
}

// The axis is the outermost one, the others keep their order.
void setOutermost(TensorView& tensor, size_t axis) {
  const size_t rank = shapeOf(tensor).size();
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) {
    const size_t place = i == axis ? 0 : i < axis ? i + 1 : i;
    order[i] = static_cast<int64_t>(rank - 1 - place);
  }
  tensor.mutableDomain().stride_order = std::move(order);
}

}  // namespace

void layOutForReshardings(Fusion& fusion) {
  for (const Expr* expr : fusion.exprs()) {
    if (!isResharding(*expr)) continue;
    TensorView* operand = asTensor(expr->input(0));
    const TensorView& result = *asTensor(expr->output(0));
    if (operand->mesh().empty() || result.mesh().empty() || !isFree(fusion, operand)) continue;
    const Sharding from = shardingOf(*operand);
    const std::vector<ReshardingStep> steps =
        reshardingSteps("lower resharding " + summaryOf(*expr), from, shardingOf(result));
    const std::optional<size_t> axis = steps.empty() ? std::nullopt : axisSent(from, steps[0]);
    if (axis && *axis > 0) setOutermost(*operand, *axis);
  }
}

}  // namespace tokamak
