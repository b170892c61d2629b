// SamplePoints: values of a scalar at a few points that meet all assumptions about its symbols. A predicate that is
// false at a sample point is refuted without running the prover.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "symbolic/interval.h"

namespace tokamak {

/// Asking them costs an evaluation of each scalar; a proof that does not exist would cost a whole search. They say
/// nothing where no point was found that meets the assumptions, or where the scalar has no value (overflow, divisors
/// that are not positive, floating types).
class SamplePoints {
 public:
  static constexpr size_t kPoints = 4;
  /// What a scalar is at each point where it has a value.
  struct Values {
    std::array<int64_t, kPoints> at = {};
    uint8_t known = 0;  ///< a bit per point

    bool has(size_t point) const { return (known >> point & 1) != 0; }
  };

  /// What points are chosen by, and have to meet.
  struct Assumptions {
    std::unordered_map<const Scalar*, Interval> intervals;
    std::unordered_map<const Scalar*, Scalar*> extents;  ///< of indices: 0 <= index < extent
  };
  const Assumptions& assumptions() const { return assumptions_; }
  void assume(const Scalar& scalar, const Interval& interval);
  void assumeIndex(const Scalar& index, Scalar& extent);

  /// At the points that meet all assumptions so far.
  Values of(const Scalar& scalar);

 private:
  const Values& valuesOf(const Scalar& scalar);
  Values compute(const Scalar& scalar);
  Values choose(const Scalar& symbol);
  void drop(size_t point) { valid_ &= static_cast<uint8_t>(~(1U << point)); }
  void dropUnlessMet(const Scalar& scalar);

  Assumptions assumptions_;
  std::vector<const Scalar*> unchecked_;
  std::unordered_map<const Scalar*, Values> values_;
  uint8_t valid_ = (1U << kPoints) - 1;
};

}  // namespace tokamak
