// Loops over the coordinates of a shape, in row-major order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tokamak::oracle {

/// Calls `visit(index)` for `count` coordinates of `sizes` from number `first` on; there must be so many.
template <class Visit>
void forEachIndexFrom(std::span<const int64_t> sizes, int64_t first, int64_t count, Visit&& visit) {
  std::vector<int64_t> index(sizes.size(), 0);
  for (size_t axis = sizes.size(); axis-- > 0 && count > 0;) {
    index[axis] = first % sizes[axis];
    first /= sizes[axis];
  }
  for (; count > 0; --count) {
    visit(std::span<const int64_t>(index));
    size_t axis = sizes.size();
    while (axis > 0 && ++index[axis - 1] == sizes[axis - 1]) index[--axis] = 0;
  }
}

/// Calls `visit(index)` for every coordinate of `sizes`; once, with no coordinates, for rank 0.
template <class Visit>
void forEachIndex(std::span<const int64_t> sizes, Visit&& visit) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size > 0 ? size : 0;
  forEachIndexFrom(sizes, 0, count, visit);
}

}  // namespace tokamak::oracle
