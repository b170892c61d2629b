// IndexedExtents: which axes an integer tensor holds indices of, as the element rules of the ops that use it say.
#pragma once

#include <map>
#include <set>

#include "ir/fusion.h"

namespace tokamak {

/// For each tensor whose elements become indices of an axis, directly or through integer ops, the extents of these
/// axes.
class IndexedExtents {
 public:
  explicit IndexedExtents(const Fusion& fusion);

  /// Empty where no element of the tensor becomes an index.
  const std::set<const Scalar*>& of(const TensorView& tensor) const;

 private:
  std::map<const TensorView*, std::set<const Scalar*>> extents_;
};

}  // namespace tokamak
