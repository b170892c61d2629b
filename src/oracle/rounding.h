// Rounding to the floating types, and the distance of their neighbours.
#pragma once

#include "oracle/tensor.h"
#include "symbolic/data_type.h"

namespace tokamak::oracle {

/// Exact: values are not rounded between ops and carry bounds. Typed: rounded wherever the IR has a typed result, no
/// bounds. Varied: typed, as another right program may compute it: roundings go either way, functions err by a part of
/// what they may, long sums run in blocks, all drawn from a seed.
class Mode {
 public:
  static constexpr Mode exact() { return {Kind::Exact, 0}; }
  static constexpr Mode typed() { return {Kind::Typed, 0}; }
  static constexpr Mode varied(uint64_t seed) { return {Kind::Varied, seed}; }

  constexpr bool isExact() const { return kind_ == Kind::Exact; }
  constexpr bool isVaried() const { return kind_ == Kind::Varied; }
  friend constexpr bool operator==(Mode, Mode) = default;

  /// A number from -1 to 1 for what happens at `value`; 0 unless varied.
  long double draw(long double value) const;
  /// Terms of a sum that are added one after the other before such blocks are added pairwise.
  size_t blockOfSum() const { return isVaried() ? size_t{64} << seed_ % 3 : 1; }

 private:
  enum class Kind : uint8_t { Exact, Typed, Varied };
  constexpr Mode(Kind kind, uint64_t seed) : kind_(kind), seed_(seed) {}
  Kind kind_;
  uint64_t seed_;
};

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

/// The same, in varied mode of either neighbour.
long double roundTo(DataType floating, long double value, Mode mode);

/// The smallest double that is not below a bound.
double roundedUp(long double bound);

/// The element for the real result `value`, known within `bound`, of a floating type: rounded in typed mode; in exact
/// mode infinite if it certainly overflows, and without promise if it might.
Element finish(DataType floating, long double value, long double bound, Mode mode);

}  // namespace tokamak::oracle
