// A traversal of a kernel's statements with the scope of each.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// A set that can be restored to an earlier state, at the cost of the elements added since.
template <class T>
class ScopeSet {
 public:
  bool contains(const T& value) const { return values_.contains(value); }
  const std::set<T>& values() const { return values_; }
  void insert(const T& value) {
    if (values_.insert(value).second) inserted_.push_back(value);
  }
  size_t size() const { return values_.size(); }
  void goBackTo(size_t size) {
    for (; inserted_.size() > size; inserted_.pop_back()) values_.erase(inserted_.back());
  }

 private:
  std::set<T> values_;
  std::vector<T> inserted_;
};

/// What is defined at a statement, and which threads reach it.
struct Scope {
  ScopeSet<const Scalar*> symbols;
  ScopeSet<const Variable*> variables;
  ScopeSet<std::string> names;  ///< of the variables
  ScopeSet<const TensorView*> tensors;
  std::vector<const Statement*> around;  ///< enclosing loops, guards and grid reductions, outermost first
  /// Symbols and variables whose value may differ between the threads of a block.
  ScopeSet<const Scalar*> varying_symbols;
  ScopeSet<const Variable*> varying_variables;
  bool is_uniform = true;  ///< all threads of a block reach the statement together
  /// The same for the threads of all blocks of a cluster.
  ScopeSet<const Scalar*> cluster_varying_symbols;
  ScopeSet<const Variable*> cluster_varying_variables;
  bool is_cluster_uniform = true;
};

/// Calls `visit` for every statement, outer ones first. The scope does not have what the statement itself defines.
void walkKernel(const Kernel& kernel, const std::function<void(const Statement&, const Scope&)>& visit);

/// The index scalars of a statement itself: indices, bounds, sizes, extents; not those of its body or values.
std::vector<Scalar*> indicesOf(const Statement& statement);
/// The statement's value and its operands, transitively; empty for statements without one.
std::vector<const Value*> valuesOf(const Statement& statement);
/// The tensors that the statement reads or writes.
std::vector<const TensorView*> tensorsOf(const Statement& statement);
/// The tensor whose elements the statement writes, or null.
const TensorView* writtenBy(const Statement& statement);

/// Whether the scalar mentions a symbol among `symbols`.
bool mentionsAny(const Scalar& scalar, const std::set<const Scalar*>& symbols);
/// The first symbol in it that is not among `symbols`, or null.
const Scalar* symbolOutside(const Scalar& scalar, const std::set<const Scalar*>& symbols);

}  // namespace tokamak::kir
