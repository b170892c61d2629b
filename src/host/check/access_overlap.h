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

/// The bytes from the first to the last that `access` touches; empty when it touches none. No value when a byte number
/// would not fit into 62 bits (which no buffer can contain).
std::optional<ByteRange> boundsOf(const Access& access);

/// The set of bytes of an access in normal form: runs of `run` contiguous bytes at begin + sum over dims of i * stride.
/// Strides are positive, ascending and larger than `run`, sizes at least 2, and dims that enumerate one arithmetic
/// sequence are one dim: a dense box has no dims, whatever it was made of.
struct ByteBox {
  int64_t begin = 0;
  int64_t end = 0;  ///< behind the last byte; equal to begin when the box is empty
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

/// Whether the boxes, both of the same buffer, have a byte in common. Exact; the time is constant for slices of one
/// tensor and logarithmic in the extents for two unrelated strides; only three and more unrelated strides are searched.
bool overlaps(const ByteBox& a, const ByteBox& b);

/// The same for accesses, which may be of different buffers.
bool overlaps(const Access& a, const Access& b);

/// Whether two elements with different indices share a byte although they are different memory: windows that overlap.
/// Axes of stride 0 (expanded ones) repeat the same element and do not count.
bool hasOverlappingElements(const Access& access);

/// Whether both accesses touch the same elements in the same order, so that element i of one is element i of the other.
bool isSameElements(const Access& a, const Access& b);

}  // namespace tokamak
