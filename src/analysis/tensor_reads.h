// TensorReads: the stored tensors that an op reads, through inlined ones, and the indices.
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

  /// The reads of stored tensors by the element with these coordinates: each tensor and index once, in order of
  /// occurrence.
  std::vector<TensorRead> of(const Element& element, Substitution& coordinates);
  /// The same with reads of inlined tensors.
  std::vector<TensorRead> withInlined(const Element& element, Substitution& coordinates);

 private:
  void start(const Element& element, Substitution& coordinates);
  void visit(const Element& element, Substitution& coordinates);

  Fusion* fusion_;
  IntervalAnalysis* analysis_;
  RuleTable* rules_;
  std::function<bool(const TensorView&)> is_stored_;
  std::set<TensorRead> seen_;
  std::vector<TensorRead> reads_;
  size_t indices_ = 0;  // number of symbols for indices that depend on data, or of inner reductions
};

}  // namespace tokamak
