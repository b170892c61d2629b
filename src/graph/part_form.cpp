#include "graph/part_form.h"

#include <algorithm>
#include <utility>

namespace tokamak {

std::vector<Cut> cutsOf(const Shard& shard) {
  std::vector<Cut> cuts;
  for (const IterDomain* axis = shard.loop_axis; axis != shard.logical; axis = axis->definition()->in[0]) {
    const DomainExpr& step = *axis->definition();
    cuts.push_back({step.factor, step.is_inner_factor ? SplitSide::Inner : SplitSide::Outer});
  }
  std::ranges::reverse(cuts);
  return cuts;
}

std::optional<PartForm> formOfCuts(Scalar& extent, std::vector<Cut> cuts, int64_t devices) {
  Fusion& fusion = extent.fusion();
  PartForm form{.cuts = std::move(cuts), .chunk = fusion.constant(1)};
  Scalar* parts = &extent;
  for (const Cut& cut : form.cuts) {
    Scalar* other = fusion.ceilDiv(parts, cut.factor);
    const bool is_inner = cut.side == SplitSide::Inner;
    form.chunk = fusion.mul(form.chunk, is_inner ? cut.factor : other);
    parts = is_inner ? other : cut.factor;
  }
  return parts->constantInt() == devices ? std::optional(std::move(form)) : std::nullopt;
}

std::optional<PartForm> formOfElements(Scalar& extent, Scalar& behind, const Scalar& elements, int64_t devices) {
  Fusion& fusion = extent.fusion();
  std::vector<std::vector<Cut>> candidates = {{}, {{fusion.constant(devices), SplitSide::Outer}}};
  const auto have = elements.constantInt();
  const auto each = behind.constantInt();
  if (have && each && *each > 0 && *have >= *each && *have % *each == 0)
    candidates.push_back({{fusion.constant(*have / *each), SplitSide::Inner}});
  for (std::vector<Cut>& cuts : candidates) {
    auto form = formOfCuts(extent, std::move(cuts), devices);
    if (form && fusion.mul(form->chunk, &behind) == &elements) return form;
  }
  return std::nullopt;
}

}  // namespace tokamak
