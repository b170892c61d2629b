#include "analysis/addresses.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

std::vector<Scalar*> stridesOf(Fusion& fusion, const TensorView& tensor, size_t number) {
  const TensorDomain& domain = tensor.domain();
  const Axes shape = shapeOf(tensor);
  Axes layout = withoutReductions(domain.allocation.empty() ? domain.logical : domain.allocation);
  std::vector<std::optional<bool>> contiguity;
  const Axes& whole = domain.allocation.empty() ? domain.logical : domain.allocation;
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!whole[i]->isReduction()) contiguity.push_back(i < domain.contiguity.size() ? domain.contiguity[i] : true);
  }
  std::vector<Scalar*> strides(shape.size(), fusion.constant(0));
  Scalar* dense = fusion.constant(1);
  for (size_t i = layout.size(); i-- > 0;) {
    if (layout[i]->isBroadcast()) continue;
    const auto axis = static_cast<size_t>(std::ranges::find(shape, layout[i]) - shape.begin());
    TK_REQUIRE(axis < shape.size(), Unsupported, "a kernel reads {} by its own axes only; its layout has others",
               toString(tensor));
    Scalar* stride = contiguity[i].value_or(true) ? dense : fusion.symbol(fmt::format("s{}_{}", number, axis));
    strides[axis] = stride;
    dense = fusion.mul(stride, layout[i]->visibleExtent());
  }
  return strides;
}

Strides globalStrides(Fusion& fusion) {
  Strides strides;
  for (Val* input : fusion.inputs()) {
    if (const TensorView* tensor = asTensor(input)) strides.emplace(tensor, stridesOf(fusion, *tensor, strides.size()));
  }
  for (const TensorView* output : fusion.outputs()) strides.emplace(output, stridesOf(fusion, *output, strides.size()));
  return strides;
}

Scalar* mergedIndex(Fusion& fusion, IntervalAnalysis& analysis, Scalar* outer, Scalar* inner, Scalar* inner_extent) {
  const bool are_parts = outer->op() == ScalarOp::FloorDiv && inner->op() == ScalarOp::Mod &&
                         outer->operand(1) == inner_extent && inner->operand(1) == inner_extent;
  if (are_parts) {
    Scalar* const whole = outer->operand(0);
    Scalar* const rest = inner->operand(0);
    if (whole == rest || analysis.isProvablyDivisible(*fusion.sub(whole, rest), *inner_extent)) return whole;
  }
  return fusion.add(fusion.mul(outer, inner_extent), inner);
}

Scalar* linearIndex(Fusion& fusion, IntervalAnalysis& analysis, const TensorView& tensor,
                    std::span<Scalar* const> strides, std::span<Scalar* const> index) {
  const Axes shape = shapeOf(tensor);
  Scalar* total = fusion.constant(0);
  Scalar* run = nullptr;  // the linear index of the current run of dense axes, in strides of the last one
  for (size_t i = 0; i < index.size(); ++i) {
    run = run == nullptr ? index[i] : mergedIndex(fusion, analysis, run, index[i], shape[i]->visibleExtent());
    run = simplify(run, analysis);
    const bool is_dense = i + 1 < index.size() && !shape[i + 1]->isBroadcast() &&
                          strides[i] == fusion.mul(strides[i + 1], shape[i + 1]->visibleExtent());
    if (is_dense) continue;
    total = fusion.add(total, fusion.mul(run, strides[i]));
    run = nullptr;
  }
  return simplify(total, analysis);
}

}  // namespace tokamak
