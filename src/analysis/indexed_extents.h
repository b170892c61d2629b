// IndexedExtents: the axes that the elements of integer tensors index, from element rules.
#pragma once

#include <map>
#include <set>

#include "ir/fusion.h"

namespace tokamak {

/// For each tensor whose elements are indices of axes, directly or through integer ops, the extents of these axes.
class IndexedExtents {
 public:
  explicit IndexedExtents(const Fusion& fusion);

  /// Empty where no element of the tensor becomes an index.
  const std::set<const Scalar*>& of(const TensorView& tensor) const;

 private:
  std::map<const TensorView*, std::set<const Scalar*>> extents_;
};

}  // namespace tokamak
