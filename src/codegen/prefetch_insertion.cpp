#include "codegen/prefetch_insertion.h"

#include <algorithm>
#include <vector>

#include "kernel/kernel_walk.h"
#include "kernel/rewrite.h"

namespace tokamak {

namespace {

using Iterations = std::map<const TensorView*, int64_t>;

// Adds, per tensor, the iterations (nested ones multiplied) of loops whose indices its loads depend on; -1 where
// unknown.
void addIterations(const kir::Statements& statements, std::set<const Scalar*>& indices, int64_t iterations,
                   Iterations& result) {
  for (const kir::StatementRef& each : statements) {
    if (const auto* loop = std::get_if<kir::Loop>(&each->node)) {
      const auto start = loop->start->constantInt();
      const auto stop = loop->stop->constantInt();
      indices.insert(loop->index);
      addIterations(loop->body, indices, iterations >= 0 && start && stop ? iterations * (*stop - *start) : -1, result);
      indices.erase(loop->index);
      continue;
    }
    if (const auto* guard = std::get_if<kir::If>(&each->node)) addIterations(guard->body, indices, iterations, result);
    for (const kir::Value* value : kir::valuesOf(*each)) {
      const bool moves_along = value->kind == kir::ValueKind::Load && kir::isGlobal(*value->tensor) &&
                               kir::mentionsAny(*value->scalar, indices);
      if (moves_along) result[value->tensor] = std::max(result[value->tensor], iterations);
    }
  }
}

}  // namespace

PrefetchInsertion::PrefetchInsertion(const kir::Kernel& kernel) {
  if (kernel.dimensions.size() == 1) block_ = kernel.dimensions[0].index;
  if (block_ != nullptr) find(kernel.body, block_);
}

Scalar* PrefetchInsertion::enclosingRow(std::span<Scalar* const> outside) const {
  for (size_t i = outside.size(); i-- > 0;) {
    if (rows_.contains(outside[i])) return outside[i];
  }
  return rows_.contains(block_) ? block_ : nullptr;
}

bool PrefetchInsertion::isPrefetchedIn(const kir::Loop& loop, std::span<Scalar* const> outside, const Scalar& row,
                                       const TensorView& tensor) const {
  const auto found = prefetching_loops_.find({&row, &tensor});
  if (found == prefetching_loops_.end()) return false;
  const auto position = std::ranges::find(outside, &row);  // a block's index is not among them
  const auto inside = position == outside.end() ? outside.begin() : std::next(position);
  return found->second == (inside == outside.end() ? loop.index : *inside);
}

void PrefetchInsertion::find(const kir::Statements& statements, Scalar* row) {
  struct Pass {
    const Scalar* index;
    int64_t iterations;
  };
  std::map<const TensorView*, std::vector<Pass>> passes;
  const auto visit = [&](const auto& self, const kir::Statements& list) -> void {
    for (const kir::StatementRef& each : list) {
      if (const auto* guard = std::get_if<kir::If>(&each->node)) self(self, guard->body);
      const auto* loop = std::get_if<kir::Loop>(&each->node);
      if (loop == nullptr) continue;
      std::set<const Scalar*> indices;
      Iterations iterations;
      addIterations({each}, indices, 1, iterations);
      for (const auto& [tensor, count] : iterations) passes[tensor].push_back({loop->index, count});
      find(loop->body, loop->index);
    }
  };
  visit(visit, statements);
  for (auto& [tensor, loops] : passes) {
    // The remainder of a loop is no loop of its own.
    const int64_t most = std::ranges::max(loops, {}, &Pass::iterations).iterations;
    std::erase_if(loops, [&](const Pass& pass) { return 2 * pass.iterations <= most && pass.iterations != most; });
    if (loops.size() < 2) continue;
    rows_.insert(row);
    prefetching_loops_[{row, tensor}] = loops.back().index;
  }
}

}  // namespace tokamak
