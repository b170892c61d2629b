// SymbolicSizes: the sizes of a definition's tensors, computed with objects of Python's that stand for numbers.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include <nanobind/nanobind.h>

#include "python/definition.h"
#include "symbolic/scalar.h"

namespace tokamak::python {

/// As KnownSizes, with integers or symbols of another compiler (torch.SymInt) for the numbers: what has arithmetic.
/// Where a size is chosen by a comparison, the symbols are asked for its truth, which may become a guard of theirs.
/// Thread safety: for one thread at a time, with the interpreter's lock.
class SymbolicSizes {
 public:
  explicit SymbolicSizes(std::shared_ptr<Definition> definition) : definition_(std::move(definition)) {}

  /// An input tensor has these sizes; sizes of one symbol of the definition are compared. Errors: Definition for a
  /// value of another definition or a scalar, Bind for sizes that it cannot have, and what the objects raise.
  void bind(const Value& tensor, nanobind::handle sizes);
  void bindNumber(const Value& scalar, nanobind::handle number);
  /// What a scalar is then; None where it depends on what is not known, or on more than arithmetic.
  nanobind::object evaluate(const Value& scalar);

 private:
  void require(nanobind::handle size, const Scalar& extent, const TensorView& tensor, size_t axis);
  nanobind::object evaluated(const Scalar& scalar);
  nanobind::object computed(const Scalar& scalar);

  std::shared_ptr<Definition> definition_;
  std::unordered_map<const Scalar*, nanobind::object> known_;
};

void bindSymbolicSizes(nanobind::module_& m);

}  // namespace tokamak::python
