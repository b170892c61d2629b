#include "ir/ops/math/reshape_op.h"

#include <algorithm>

#include "compute/reshape_groups.h"
#include "compute/rules.h"

namespace tokamak {

void rule(const ReshapeOp& op, ElementBuilder& b) {
  Fusion& fusion = b.fusion();
  std::vector<Scalar*> in_extents;
  for (const IterDomain* axis : shapeOf(*op.in)) in_extents.push_back(axis->visibleExtent());
  std::vector<Scalar*> out_extents;
  for (size_t i = 0; i < b.rank(); ++i) out_extents.push_back(b.extent(i));

  const bool is_empty = std::ranges::any_of(in_extents, [](const Scalar* extent) { return extent->isConstantInt(0); });
  std::vector<Scalar*> index(in_extents.size(), b.constant(0));
  for (const auto& [from, to, is_proved] : reshapeGroups(in_extents, out_extents)) {
    Scalar* in_size = b.constant(1);
    Scalar* out_size = in_size;
    Scalar* position = b.constant(0);
    for (const size_t axis : to) {
      position = fusion.add(fusion.mul(position, b.extent(axis)), b.coordinate(axis));
      out_size = fusion.mul(out_size, b.extent(axis));
    }
    for (size_t i = from.size(); i-- > 0;) {
      Scalar* extent = in_extents[from[i]];
      in_size = fusion.mul(extent, in_size);
      index[from[i]] = i == 0 ? position : fusion.mod(position, extent);
      if (i > 0) position = fusion.floorDiv(position, extent);
    }
    if (!is_empty && !is_proved) b.requireEqual(in_size, out_size);
  }
  b.result(b.load(op.in, std::move(index)));
}

}  // namespace tokamak
