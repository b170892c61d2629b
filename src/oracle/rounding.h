// Rounding to the floating types, and the distance of their neighbours.
#pragma once

#include "ir/data_type.h"
#include "oracle/tensor.h"

namespace tokamak::oracle {

/// Exact: values are not rounded between ops and carry bounds. Typed: rounded wherever the IR has a typed result, no bounds.
enum class Mode : uint8_t { Exact, Typed };

struct FloatFormat {
  int precision;     ///< bits of the significand, the hidden one included
  int min_exponent;  ///< of the smallest normal number, 2^min_exponent
  int max_exponent;  ///< of the largest finite numbers, below 2^(max_exponent + 1)
};
FloatFormat formatOf(DataType floating);

/// The distance of `value`'s neighbours in the type; of the smallest numbers for 0.
long double ulpOf(DataType floating, long double value);
/// To nearest, ties to even, overflowing to infinity.
long double roundTo(DataType floating, long double value);
inline bool isRepresentable(DataType floating, long double value) {
  return roundTo(floating, value) == value || value != value;
}
/// The smallest magnitude that rounds to infinity.
long double overflowLimit(DataType floating);
/// 2^(1 - precision).
long double epsilonOf(DataType floating);
/// The smallest normal number.
long double smallestNormal(DataType floating);

/// The element for the real result `value`, known within `bound`, of a floating type: rounded in typed mode; in exact mode
/// infinite if it certainly overflows, and without promise if it might.
Element finish(DataType floating, long double value, long double bound, Mode mode);

}  // namespace tokamak::oracle
