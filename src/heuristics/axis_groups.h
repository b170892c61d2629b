// AxisGroups: which neighbouring axes of an output may be merged so that all accesses stay linear.
#pragma once

#include <vector>

#include "analysis/addresses.h"
#include "analysis/tensor_reads.h"

namespace tokamak {

/// How an output and everything that it reads move through memory along the output's axes.
class AxisGroups {
 public:
  AxisGroups(Fusion& fusion, const TensorView& output, const Strides& strides);

  /// Axes `axis` and `axis + 1` (of the visible shape) merge into one along which each access has one stride (0 for what does not move).
  bool mayMerge(size_t axis) const;
  /// The first axis of the longest tail that may become one axis.
  size_t innermostGroup() const;

 private:
  struct Access {
    std::vector<Scalar*> strides;  ///< per axis; null where the access is not linear
  };

  Fusion* fusion_;
  std::vector<Scalar*> extents_;
  std::vector<Access> accesses_;
};

}  // namespace tokamak
