// IntervalAnalysis: bounds and divisibility of integer scalars under assumptions about their symbols.
#pragma once

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "symbolic/interval.h"
#include "symbolic/sample_points.h"
#include "symbolic/sum_form.h"

namespace tokamak {

/// Answers for every binding that meets the assumptions and under which the scalar has a value (no overflow, positive
/// divisors): the value is in the interval. Without assumptions nothing is supposed of a symbol, not even that it is >=
/// 0. Answers are remembered, so assumptions come first.
class IntervalAnalysis {
 public:
  void assume(const Scalar& scalar, const Interval& interval);
  /// 0 <= index < extent.
  void assumeIndex(const Scalar& index, Scalar& extent);
  /// extent >= 0.
  void assumeExtent(const Scalar& extent);

  /// Integers and bool; everything for floating types.
  Interval of(Scalar& scalar);

  bool isProvablyLess(Scalar& a, Scalar& b);
  bool isProvablyLessOrEqual(Scalar& a, Scalar& b);
  bool isProvablyEqual(Scalar& a, Scalar& b);
  bool isProvablyDifferent(Scalar& a, Scalar& b);
  bool isProvablyDivisible(Scalar& scalar, Scalar& divisor);
  /// Whether computing the scalar meets integers of so many bits only.
  bool isWithin(Scalar& scalar, int bits);

  /// What the scalar is at some points that meet the assumptions: nothing else than what holds there can be proved.
  SamplePoints::Values valuesAtSamplePoints(const Scalar& scalar) { return sample_points_.of(scalar); }

 private:
  friend class Simplifier;

  // What a sum is somewhere: bounds that are as narrow cannot be narrowed.
  struct Reached {
    int64_t lower = 0;
    int64_t upper = 0;
    int64_t divisor = 0;

    bool isAllOf(const Interval& interval) const {
      return interval.lower == lower && interval.upper == upper && interval.divisor == divisor;
    }
  };
  // A sum whose divisions, minima or loop indices were partly replaced by what bounds them.
  struct State {
    SumForm form;
    IntervalSum slack;
    const Reached* reached = nullptr;  // by the sum, as long as what replaces it contains it
  };

  // A search for bounds: how many replacements are left, and from which lower bound on nobody asks for more.
  struct Search {
    int budget;
    int64_t enough_lower = std::numeric_limits<int64_t>::max();
  };

  template <class Holds>
  bool isRefuted(const Scalar& a, const Scalar& b, const Holds& holds);
  Interval differenceOf(Scalar& a, Scalar& b, int64_t enough_lower = std::numeric_limits<int64_t>::max());
  std::optional<Reached> reachedBy(const SumForm& form);
  Scalar* extentOf(const Scalar& index) const;
  Interval compute(Scalar& scalar);
  bool isValueWithin(Scalar& scalar, int bits);
  Interval ofDivision(Scalar& scalar);
  Interval ofForm(const SumForm& form, int64_t enough_lower = std::numeric_limits<int64_t>::max());
  Interval refine(const State& state, int depth, Search& search);
  Interval refineFactor(const State& state, size_t term, size_t factor, int depth, Search& search);
  Interval withoutDivision(const State& state, size_t term, size_t factor, int depth, Search& search);
  Interval withoutChoice(const State& state, size_t term, size_t factor, int depth, Search& search);
  Interval withoutIndex(const State& state, size_t term, size_t factor, int depth, Search& search);
  Interval plainTotal(const State& state);
  Interval productOf(const SumTerm& term);

  SamplePoints sample_points_;
  std::unordered_map<const Scalar*, Interval> known_;
  std::map<std::pair<const Scalar*, int>, bool> within_;
  // What the simplifier has found under these assumptions; with remainders that stay, and that leave.
  std::array<std::unordered_map<Scalar*, Scalar*>, 2> simplified_;
};

}  // namespace tokamak
