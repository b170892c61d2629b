// ValueWriter: the values of one index in a kernel, composed from element rules.
//
// A tensor that has no buffer is an expression: reading it at an index means its rule with the coordinates replaced by
// that index. Each one that is met becomes a Let, once per index, so that what several readers share is computed once.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/tensor_reads.h"
#include "kernel/kernel.h"

namespace tokamak {

class ValueWriter {
 public:
  /// What reading a tensor in memory gives; called for elements that exist.
  using Load = std::function<kir::ValueRef(const TensorView&, std::span<Scalar* const> index)>;
  using IsStored = std::function<bool(const TensorView&)>;

  ValueWriter(Fusion& fusion, IntervalAnalysis& analysis, RuleTable& rules, IsStored is_stored, Load load);

  /// The element with its coordinates replaced.
  kir::ValueRef write(const Element& element, Substitution& coordinates) {
    return write(element, coordinates, nullptr);
  }
  /// `value`, which the element of `tensor` with these coordinates of its rule was just computed as, under a name:
  /// later values that read the element use it.
  kir::ValueRef keep(const TensorView& tensor, Substitution& coordinates, kir::ValueRef value);
  /// These predicates hold wherever what is written from now on is computed.
  void assume(std::vector<Scalar*> predicates) { assumed_ = std::move(predicates); }
  /// The Lets that were written since the last call; later values may use them.
  kir::Statements takeStatements() { return std::exchange(statements_, {}); }
  /// Later values do not use earlier Lets.
  void finish() { known_.clear(); }

 private:
  using Key = std::pair<const TensorView*, std::vector<Scalar*>>;

  kir::ValueRef write(const Element& element, Substitution& coordinates, Scalar* condition);
  kir::ValueRef read(const TensorView& tensor, std::vector<Scalar*> index, Scalar* condition);
  kir::ValueRef named(const TensorView& tensor, kir::ValueRef value);
  kir::ValueRef writeReduction(const Element& element, Substitution& coordinates, Scalar* condition);
  kir::ValueRef writeIndexed(const Element& element, Substitution& coordinates, Scalar* condition);
  std::string freshName(std::string base);

  Fusion* fusion_;
  IntervalAnalysis* analysis_;
  RuleTable* rules_;
  IsStored is_stored_;
  Load load_;
  std::map<Key, kir::ValueRef> known_;  // the index ends with the condition
  std::vector<Scalar*> assumed_;
  std::map<std::string, int> names_;
  kir::Statements statements_;
};

}  // namespace tokamak
