// Loops over the coordinates of a shape, in row-major order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tokamak::oracle {

/// Calls `visit(index)` for every coordinate of `sizes`; once, with no coordinates, for rank 0.
template <class Visit>
void forEachIndex(std::span<const int64_t> sizes, Visit&& visit) {
  for (const int64_t size : sizes) {
    if (size <= 0) return;
  }
  std::vector<int64_t> index(sizes.size(), 0);
  while (true) {
    visit(std::span<const int64_t>(index));
    size_t axis = sizes.size();
    while (axis > 0 && ++index[axis - 1] == sizes[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace tokamak::oracle
