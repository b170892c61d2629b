#include "kernel/access_widths.h"

#include <algorithm>
#include <set>

#include "compute/element.h"

namespace tokamak::kir {

std::map<const TensorView*, int64_t, ById> narrowestAccesses(const Kernel& kernel) {
  std::set<const Scalar*> indices;
  for (const LaunchDimension& dimension : kernel.dimensions) {
    if (isThreadType(dimension.type)) indices.insert(dimension.index);
  }
  visitStatements(kernel.body, [&](const Statement& statement) {
    const auto* loop = std::get_if<Loop>(&statement.node);
    if (loop != nullptr && loop->type != ParallelType::Serial) indices.insert(loop->index);
  });
  std::map<const TensorView*, int64_t, ById> narrowest;
  const auto note = [&](const TensorView& tensor, const Scalar& index, int64_t count) {
    const auto moves = [&](const Scalar* symbol) { return mentions(index, *symbol); };
    if (!isGlobal(tensor) || std::ranges::none_of(indices, moves)) return;
    const int64_t bytes = count * sizeOf(tensor.dtype());
    const auto [found, is_new] = narrowest.try_emplace(&tensor, bytes);
    found->second = std::min(found->second, bytes);
  };
  const auto noteLoads = [&](const Value& value) {
    visitValues(value, [&](const Value& each) {
      if (each.kind == ValueKind::Load) note(*each.tensor, *each.scalar, 1);
    });
  };
  visitStatements(kernel.body, [&](const Statement& statement) {
    if (const auto* let = std::get_if<Let>(&statement.node)) noteLoads(*let->value);
    if (const auto* store = std::get_if<Store>(&statement.node)) {
      noteLoads(*store->value);
      note(*store->tensor, *store->index, 1);
    }
    if (const auto* copy = std::get_if<Copy>(&statement.node)) {
      note(*copy->from, *copy->from_index, copy->count);
      note(*copy->to, *copy->to_index, copy->count);
    }
  });
  return narrowest;
}

}  // namespace tokamak::kir
