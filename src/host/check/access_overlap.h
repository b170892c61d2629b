// Overlap of accesses: whether two strided boxes of elements share a byte, decided exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/check/step_list.h"

namespace tokamak {

/// Bytes [begin, end) of a buffer.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool isEmpty() const { return begin >= end; }
  bool operator==(const ByteRange&) const = default;
};

/// The bytes from the first to the last that the access touches; empty if it touches none. No value if a byte number
/// does not fit in 62 bits (no buffer is that large).
std::optional<ByteRange> boundsOf(const Access& access);

/// The bytes of an access in normal form: runs of `run` contiguous bytes at begin + sum over dims of i * stride.
/// Strides are positive, ascending and larger than `run`; sizes are at least 2.
/// Dims of one arithmetic sequence are merged: a dense box has no dims.
struct ByteBox {
  int64_t begin = 0;
  int64_t end = 0;  ///< after the last byte; equal to begin if the box is empty
  int64_t run = 0;
  int64_t period = 0;  ///< greatest common divisor of the strides, 0 without dims
  int64_t phase = 0;   ///< begin modulo period
  std::vector<Access::Dim> dims = {};

  bool isEmpty() const { return begin >= end; }
};

/// The normal form of an access whose bounds are known to fit.
ByteBox byteBoxOf(const Access& access);

/// All bytes of a buffer.
ByteBox wholeBox(int64_t bytes);

/// Whether two boxes of one buffer share a byte. Exact. Constant time for slices of one tensor, logarithmic in the
/// extents for two unrelated strides; three or more unrelated strides are searched.
bool overlaps(const ByteBox& a, const ByteBox& b);

/// The same for accesses, which may be of different buffers.
bool overlaps(const Access& a, const Access& b);

/// Whether two different elements share a byte, as in overlapping windows. Axes of stride 0 (expanded ones) repeat one
/// element, and do not count.
bool hasOverlappingElements(const Access& access);

/// Whether both accesses touch the same elements in the same order, so that element i of one is element i of the other.
bool isSameElements(const Access& a, const Access& b);

}  // namespace tokamak
