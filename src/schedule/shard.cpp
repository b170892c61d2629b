#include "schedule/shard.h"

#include <algorithm>
#include <utility>

#include "analysis/device_mesh.h"
#include "base/require.h"
#include "schedule/loop_steps.h"

namespace tokamak {

static void mark(TensorView& tensor, IterDomain* axis, const MarkedParts& parts, ParallelType type) {
  for (const AxisCut& cut : parts.cuts) {
    const DomainExpr* step = splitStep(axis, cut.factor, cut.is_inner_factor ? SplitSide::Inner : SplitSide::Outer);
    replaceAxes(tensor.mutableDomain().loop, *step);
    axis = step->out[0];
  }
  axis->parallelize(type);
}

void markParts(TensorView& tensor, const MarkedParts& parts, ParallelType type) {
  mark(tensor, shapeOf(tensor)[static_cast<size_t>(parts.axis)], parts, type);
}

void markLogicalParts(TensorView& tensor, const MarkedParts& parts, ParallelType type) {
  mark(tensor, tensor.logical()[static_cast<size_t>(parts.axis)], parts, type);
}

void shard(TensorView& tensor, const Sharding& sharding) {
  tensor.setMesh(sharding.mesh);
  std::vector<Partial> partials;
  for (size_t dimension = 0; dimension < sharding.uses.size(); ++dimension) {
    const MeshUse& use = sharding.uses[dimension];
    if (use.isWhole()) continue;
    const auto type = deviceTypeOf(sharding.mesh, dimension);
    TK_CHECK(type.has_value(), "dimension {} of a mesh has no mark", dimension);
    if (use.form == MeshUse::Form::Partial)
      partials.push_back({.kind = use.reduction, .type = *type});
    else
      markParts(tensor, use.parts, *type);
  }
  std::ranges::sort(partials, {}, &Partial::type);
  tensor.setPartials(std::move(partials));
}

}  // namespace tokamak
