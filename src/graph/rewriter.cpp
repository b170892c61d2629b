#include "graph/rewriter.h"

#include <algorithm>

namespace tokamak {

std::unique_ptr<Fusion> rewriteFusion(const Fusion& source, const std::function<bool(const Expr&, Cloner&)>& replace) {
  auto target = std::make_unique<Fusion>(source.name());
  Cloner cloner(*target);
  for (Val* input : source.inputs()) target->addInput(cloner.clone(input));
  for (const Expr* expr : source.exprs()) {
    if (!replace(*expr, cloner)) cloner.clone(*expr);
  }
  for (TensorView* output : source.outputs()) target->addOutput(cloner.clone(output));
  for (const auto& [output, alias] : source.outputAliases()) {
    target->aliasOutput(cloner.clone(output), cloner.clone(alias.target), alias.is_hidden);
  }
  for (const auto& [symbol, value] : source.defaultSizes()) target->defaultSizes()[cloner.clone(symbol)] = value;
  return target;
}

bool isUnmarked(const TensorView& tensor) {
  const TensorDomain& domain = tensor.domain();
  const bool is_spread = std::ranges::any_of(
      domain.loop, [](const IterDomain* axis) { return axis->parallelType() != ParallelType::Serial; });
  return domain.loop == domain.logical && !is_spread && domain.allocation.empty() && !domain.stride_order &&
         tensor.memoryType() == MemoryType::Local && tensor.memoryKind() == MemoryKind::Device && tensor.mesh().empty();
}

bool isReplaceable(const Fusion& fusion, const TensorView& tensor) {
  return !fusion.isOutput(&tensor) && isUnmarked(tensor);
}

}  // namespace tokamak
