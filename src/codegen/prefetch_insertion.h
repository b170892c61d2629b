// Prefetch insertion: in a kernel with one thread per block that reads a row several times, the last reading prefetches
// the next row. The memory would be idle otherwise, as the row is in the cache.
#pragma once

#include <map>
#include <set>
#include <span>
#include <utility>

#include "kernel/kernel.h"

namespace tokamak {

/// A row is one iteration of a loop (or a block) in which several loops read one tensor in memory, each as much of it.
class PrefetchInsertion {
 public:
  explicit PrefetchInsertion(const kir::Kernel& kernel);

  /// The index whose next value is the next row, of a loop inside of those with the indices `outside`; null where there
  /// are no rows.
  Scalar* rowAround(std::span<Scalar* const> outside) const;
  /// Whether several loops of the row go over the tensor.
  bool isRepeated(const Scalar& row, const TensorView& tensor) const { return fetching_.contains({&row, &tensor}); }
  /// Whether the loop is (part of) the last of these: the next row is fetched in it, beside what is written, and late
  /// enough not to be gone again.
  bool isFetchedIn(const kir::Loop& loop, std::span<Scalar* const> outside, const Scalar& row,
                   const TensorView& tensor) const;

 private:
  void find(const kir::Statements& statements, Scalar* row);

  Scalar* block_ = nullptr;
  std::set<const Scalar*> rows_;
  std::map<std::pair<const Scalar*, const TensorView*>, const Scalar*> fetching_;  // the loop's index
};

}  // namespace tokamak
