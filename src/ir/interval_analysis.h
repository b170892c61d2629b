// IntervalAnalysis: bounds and divisibility of integer scalars under assumptions about their symbols.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ir/interval.h"
#include "ir/sum_form.h"

namespace tokamak {

/// Answers for every binding that meets the assumptions and under which the scalar has a value (no overflow, positive divisors): the
/// value is in the interval. Without assumptions nothing is supposed of a symbol, not even that it is >= 0. Answers are remembered, so
/// assumptions come first.
class IntervalAnalysis {
 public:
  void assume(const Scalar& scalar, const Interval& interval);
  /// 0 <= index < extent.
  void assumeIndex(const Scalar& index, Scalar& extent);
  /// Every extent of an axis of the fusion's tensors is >= 0.
  void assumeExtents(const Fusion& fusion);

  /// Integers and bool; everything for floating types.
  Interval of(Scalar& scalar);

  bool isProvablyLess(Scalar& a, Scalar& b) { return differenceOf(b, a).lower >= 1; }
  bool isProvablyLessOrEqual(Scalar& a, Scalar& b) { return differenceOf(b, a).lower >= 0; }
  bool isProvablyEqual(Scalar& a, Scalar& b);
  bool isProvablyDifferent(Scalar& a, Scalar& b) { return !differenceOf(a, b).contains(0); }
  bool isProvablyDivisible(Scalar& scalar, Scalar& divisor);
  /// Whether computing the scalar meets integers of so many bits only.
  bool isWithin(Scalar& scalar, int bits);

 private:
  // A sum whose divisions, minima or loop indices were partly replaced by what bounds them.
  struct State {
    SumForm form;
    IntervalSum slack;
  };

  void assumeExtent(const Scalar& extent);
  Interval differenceOf(Scalar& a, Scalar& b);
  Interval compute(Scalar& scalar);
  Interval ofDivision(Scalar& scalar);
  Interval ofForm(const SumForm& form);
  Interval refine(const State& state, int depth, int& budget);
  Interval refineFactor(const State& state, size_t term, size_t factor, int depth, int& budget);
  Interval withoutDivision(const State& state, size_t term, size_t factor, int depth, int& budget);
  Interval withoutChoice(const State& state, size_t term, size_t factor, int depth, int& budget);
  Interval withoutIndex(const State& state, size_t term, size_t factor, int depth, int& budget);
  Interval plainTotal(const State& state);
  Interval productOf(const SumTerm& term);

  std::unordered_map<const Scalar*, Interval> assumed_;
  std::unordered_map<const Scalar*, Scalar*> extents_;
  std::unordered_map<const Scalar*, Interval> known_;
};

}  // namespace tokamak
