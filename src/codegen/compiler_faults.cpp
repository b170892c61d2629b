#include "codegen/compiler_faults.h"

#include "kernel/kernel_walk.h"

namespace tokamak {

bool unrollsWrongly(const kir::Loop& loop) {
  constexpr int64_t kMostTurns = 16;
  const auto stop = loop.stop->constantInt();
  if (!stop || *stop > kMostTurns) return false;
  bool reads_bytes = false;
  bool writes_wide = false;
  kir::visitStatements(loop.body, [&](const kir::Statement& each) {
    const auto* store = std::get_if<kir::Store>(&each.node);
    writes_wide |= store != nullptr && store->tensor->dtype() == DataType::I64;
    for (const kir::Value* value : kir::valuesOf(each))
      reads_bytes |= value->kind == kir::ValueKind::Load && value->dtype == DataType::Bool;
  });
  return reads_bytes && writes_wide;
}

bool readsAtValues(const kir::Kernel& kernel) {
  bool is_found = false;
  kir::visitStatements(kernel.body, [&](const kir::Statement& each) {
    const auto* let = std::get_if<kir::Let>(&each.node);
    is_found |= let != nullptr && let->index != nullptr;
  });
  return is_found;
}

}  // namespace tokamak
