#include "analysis/marked_parts.h"

#include <algorithm>
#include <utility>

#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

Scalar* extentOf(const TensorView& tensor, int64_t axis) {
  return shapeOf(tensor)[static_cast<size_t>(axis)]->visibleExtent();
}

}  // namespace

static std::optional<MarkedParts> partsAmong(const Axes& axes, const TensorView& tensor, const IterDomain& marked) {
  Fusion& fusion = tensor.fusion();
  MarkedParts parts{.chunk = fusion.constant(1)};
  const IterDomain* axis = &marked;
  while (axis->definition() != nullptr) {
    const DomainExpr& step = *axis->definition();
    if (step.kind != DomainExprKind::Split || step.out[0] != axis) return std::nullopt;
    parts.cuts.push_back({.factor = step.factor, .is_inner_factor = step.is_inner_factor});
    parts.chunk = fusion.mul(parts.chunk, step.out[1]->visibleExtent());
    axis = step.in[0];
  }
  const auto found = std::ranges::find(axes, axis);
  if (found == axes.end()) return std::nullopt;
  std::ranges::reverse(parts.cuts);
  parts.axis = found - axes.begin();
  parts.chunk = simplify(parts.chunk);
  return parts;
}

std::optional<MarkedParts> markedPartsOf(const TensorView& tensor, const IterDomain& marked) {
  return partsAmong(shapeOf(tensor), tensor, marked);
}

std::optional<MarkedParts> reducedStreamOf(const TensorView& tensor) {
  const auto isMarked = [](const IterDomain* axis) { return axis->isStream() && axis->isReduction(); };
  const auto marked = std::ranges::find_if(tensor.loop(), isMarked);
  return marked == tensor.loop().end() ? std::nullopt : partsAmong(tensor.logical(), tensor, **marked);
}

std::vector<MarkedParts> streamsOf(const TensorView& tensor) {
  std::vector<MarkedParts> streams;
  for (const IterDomain* axis : tensor.loop()) {
    if (!axis->isStream()) continue;
    if (auto parts = markedPartsOf(tensor, *axis)) streams.push_back(*std::move(parts));
  }
  return streams;
}

std::optional<MarkedParts> partsOfCuts(const TensorView& tensor, int64_t axis, std::vector<AxisCut> cuts,
                                       int64_t count) {
  Fusion& fusion = tensor.fusion();
  MarkedParts parts{.axis = axis, .cuts = std::move(cuts), .chunk = fusion.constant(1)};
  Scalar* outer = extentOf(tensor, axis);
  for (const AxisCut& cut : parts.cuts) {
    Scalar* other = fusion.ceilDiv(outer, cut.factor);
    parts.chunk = fusion.mul(parts.chunk, cut.is_inner_factor ? cut.factor : other);
    outer = cut.is_inner_factor ? other : cut.factor;
  }
  if (outer->constantInt() != count) return std::nullopt;
  parts.chunk = simplify(parts.chunk);
  return parts;
}

std::optional<MarkedParts> partsOfElements(const TensorView& tensor, int64_t axis, Scalar& behind, Scalar& elements,
                                           int64_t count) {
  Fusion& fusion = tensor.fusion();
  std::vector<MarkedParts> candidates = {evenParts(tensor, axis, count)};
  const auto have = elements.constantInt();
  const auto each = behind.constantInt();
  if (have && each && *each > 0 && *have >= *each && *have % *each == 0) {
    std::vector<AxisCut> cuts = {{.factor = fusion.constant(*have / *each)}};
    if (auto parts = partsOfCuts(tensor, axis, std::move(cuts), count)) candidates.push_back(*std::move(parts));
  }
  for (MarkedParts& parts : candidates)
    if (simplify(fusion.mul(parts.chunk, &behind)) == simplify(&elements)) return std::move(parts);
  return std::nullopt;
}

MarkedParts evenParts(const TensorView& tensor, int64_t axis, int64_t count) {
  if (extentOf(tensor, axis)->constantInt() == count) return {.axis = axis, .chunk = tensor.fusion().constant(1)};
  return *partsOfCuts(tensor, axis, {{.factor = tensor.fusion().constant(count), .is_inner_factor = false}}, count);
}

}  // namespace tokamak
