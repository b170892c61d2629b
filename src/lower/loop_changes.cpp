#include "lower/loop_changes.h"

#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"

namespace tokamak {

LoopChanges changesOf(const kir::Loop& loop) {
  LoopChanges changes;
  changes.indices = kir::indicesIn(loop.body);
  changes.indices.insert(loop.index);
  kir::visitStatements(loop.body, [&](const kir::Statement& each) {
    if (const auto* let = std::get_if<kir::Let>(&each.node)) changes.variables.insert(let->variable.get());
    if (const auto* made = std::get_if<kir::Allocate>(&each.node)) changes.tensors.insert(made->tensor);
    if (const TensorView* tensor = kir::writtenBy(each)) changes.tensors.insert(tensor);
  });
  return changes;
}

}  // namespace tokamak
