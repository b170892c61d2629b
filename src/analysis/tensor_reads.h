// TensorReads: which tensors an op reads at which indices, through the ops between that are only expressions.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analysis/substitute.h"
#include "compute/rule_table.h"
#include "symbolic/interval_analysis.h"

namespace tokamak {

/// Whether the predicate holds under the analysis' assumptions.
bool isProved(Scalar& predicate, IntervalAnalysis& analysis);

struct TensorRead {
  const TensorView* tensor = nullptr;
  std::vector<Scalar*> index;  ///< per axis of its visible shape
  bool operator<(const TensorRead& other) const;
};

class TensorReads {
 public:
  /// `is_stored`: where the search ends; inputs always are.
  TensorReads(Fusion& fusion, IntervalAnalysis& analysis, RuleTable& rules,
              std::function<bool(const TensorView&)> is_stored);

  /// What computing the element with the rule's coordinates replaced reads: each tensor and index once, in order of
  /// their places.
  std::vector<TensorRead> of(const Element& element, Substitution& coordinates);
  /// The same with the expressions between: each tensor and index at which the element is computed from it, stored or
  /// not.
  std::vector<TensorRead> onTheWay(const Element& element, Substitution& coordinates);

 private:
  void start(const Element& element, Substitution& coordinates);
  void visit(const Element& element, Substitution& coordinates);

  Fusion* fusion_;
  IntervalAnalysis* analysis_;
  RuleTable* rules_;
  std::function<bool(const TensorView&)> is_stored_;
  std::set<TensorRead> seen_;
  std::vector<TensorRead> reads_;
  size_t indices_ = 0;  // that depend on data, or are those of loops on the way
};

}  // namespace tokamak
