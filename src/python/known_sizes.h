// KnownSizes: numbers for the inputs of a definition, with which its scalars are numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "python/definition.h"
#include "symbolic/scalar.h"

namespace tokamak::python {

/// Thread safety: for one thread at a time, as its definition.
class KnownSizes {
 public:
  explicit KnownSizes(std::shared_ptr<Definition> definition) : definition_(std::move(definition)) {}

  /// An input tensor has these sizes. Errors: Definition for a value of another definition, or a scalar; Bind for sizes
  /// that it cannot have.
  void bind(const Value& tensor, const std::vector<int64_t>& sizes);
  /// A scalar input is this number. Errors: Definition.
  void bindNumber(const Value& scalar, const ScalarValue& number);
  /// What a scalar is then; nothing where it depends on what is not known. Errors: Definition.
  std::optional<ScalarValue> evaluate(const Value& scalar) const;

 private:
  std::shared_ptr<Definition> definition_;
  ScalarBindings bindings_;
};

}  // namespace tokamak::python
