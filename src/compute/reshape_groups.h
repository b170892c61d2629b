// Reshape groups: which axes of a reshape's operand become which axes of its result.
#pragma once

#include <cstddef>
#include <vector>

#include "symbolic/scalar.h"

namespace tokamak {

/// Neighbouring axes of both sides with equal products of extents; axes of extent 1 are in no group.
struct ReshapeGroup {
  std::vector<size_t> in;
  std::vector<size_t> out;
  bool is_proved = false;  ///< that the products are equal
};

/// The smallest groups whose products are provably equal, from the outermost axes on. What is left over in the end is a
/// group too, if need be with an empty side.
std::vector<ReshapeGroup> reshapeGroups(const std::vector<Scalar*>& in, const std::vector<Scalar*>& out);

}  // namespace tokamak
