// Prefetch insertion: in a kernel that reads a row several times, with one thread per block, the last of these loops
// prefetches the next row. Memory would be idle otherwise, as the row is in the cache.
#pragma once

#include <map>
#include <set>
#include <span>
#include <utility>

#include "kernel/kernel.h"

namespace tokamak {

/// A row is one iteration of a loop (or one block) in which several loops read the same part of a tensor in memory.
class PrefetchInsertion {
 public:
  explicit PrefetchInsertion(const kir::Kernel& kernel);

  /// The index whose next value is the next row, for a loop inside of those with the indices `outside`; null where
  /// there are no rows.
  Scalar* enclosingRow(std::span<Scalar* const> outside) const;
  /// Whether several loops of the row read the tensor.
  bool isRepeated(const Scalar& row, const TensorView& tensor) const {
    return prefetching_loops_.contains({&row, &tensor});
  }
  /// Whether the loop is (part of) the last of these, which prefetches the next row.
  bool isPrefetchedIn(const kir::Loop& loop, std::span<Scalar* const> outside, const Scalar& row,
                      const TensorView& tensor) const;

 private:
  void find(const kir::Statements& statements, Scalar* row);

  Scalar* block_ = nullptr;
  std::set<const Scalar*> rows_;
  std::map<std::pair<const Scalar*, const TensorView*>, const Scalar*>
      prefetching_loops_;  // the prefetching loop's index
};

}  // namespace tokamak
