// ValueWriter: kernel values of elements, composed from element rules.
//
// A tensor without a buffer is inlined: reading it at an index means its rule with that index for coordinates. Each
// such read becomes a Let, once per index, so that readers share it.
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
  /// The value of a load from a stored tensor. Called with legal indices only.
  using Load = std::function<kir::ValueRef(const TensorView&, std::span<Scalar* const> index)>;
  using IsStored = std::function<bool(const TensorView&)>;

  ValueWriter(Fusion& fusion, IntervalAnalysis& analysis, RuleTable& rules, IsStored is_stored, Load load);

  /// The element's value at these coordinates.
  kir::ValueRef write(const Element& element, Substitution& coordinates) {
    return write(element, coordinates, nullptr);
  }
  /// Names the value of the tensor's element at these coordinates; later values that read the element use the name.
  kir::ValueRef keep(const TensorView& tensor, Substitution& coordinates, kir::ValueRef value);
  /// Later values are computed only where these predicates hold.
  void assume(std::vector<Scalar*> predicates) { assumed_ = std::move(predicates); }
  /// The Lets since the last call; later values may use them.
  kir::Statements takeStatements() { return std::exchange(statements_, {}); }
  /// Forgets all Lets, so that later values do not use them.
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
