// Interval: bounds of an integer, and its remainder by a divisor.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "symbolic/scalar.h"

namespace tokamak {

/// The set of 64-bit integers v with lower <= v <= upper and v = remainder (mod divisor); divisor 0 means v =
/// remainder. Arithmetic on intervals describes arithmetic that does not overflow and divides by positive divisors, as
/// evaluate() does: what would raise there gives no value that an interval had to contain.
struct Interval {
  int64_t lower = std::numeric_limits<int64_t>::min();
  int64_t upper = std::numeric_limits<int64_t>::max();
  int64_t divisor = 1;
  int64_t remainder = 0;

  static Interval all() { return {}; }
  static Interval exactly(int64_t value) { return {value, value, 0, value}; }
  static Interval between(int64_t lower, int64_t upper);
  static Interval atLeast(int64_t lower) { return between(lower, std::numeric_limits<int64_t>::max()); }
  static Interval multipleOf(int64_t divisor);
  /// The integers that a scalar of this type can be; all of them for floating types.
  static Interval ofType(DataType dtype);

  bool isExact() const { return lower == upper; }
  bool contains(int64_t value) const;
  bool isDivisibleBy(int64_t value) const;
  bool operator==(const Interval&) const = default;
};

/// Contains `op` of every pair of values. Comparisons and logic give 0 or 1.
Interval apply(ScalarOp op, const Interval& a, const Interval& b);
/// Contains what is in either.
Interval join(const Interval& a, const Interval& b);
/// Contains what is in both.
Interval meet(const Interval& a, const Interval& b);

/// A sum of products, exact until its total is asked for: parts of the sum may be outside 64 bits when the total is
/// not.
class IntervalSum {
 public:
  void add(int64_t constant) { addProduct(constant, {}); }
  void addProduct(int64_t coefficient, std::span<const Interval> factors);
  void addSum(const IntervalSum& other);
  /// Contains the sum, or the nearest 64-bit integer.
  Interval total() const;

 private:
  __int128 lower_ = 0;
  __int128 upper_ = 0;
  __int128 divisor_ = 0;
  __int128 remainder_ = 0;
};

/// "[0, 12] = 0 mod 4"; for messages.
std::string toString(const Interval& interval);

}  // namespace tokamak
