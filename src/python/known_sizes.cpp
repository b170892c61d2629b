#include "python/known_sizes.h"

#include "analysis/bind_shape.h"
#include "base/require.h"

namespace tokamak::python {

namespace {

const Scalar& scalarOf(const Definition& definition, const Value& value) {
  Val* const val = definition.own(value);
  TK_REQUIRE(asTensor(val) == nullptr, Definition, "a number is legal here, not a tensor");
  return *static_cast<const Scalar*>(val);
}

}  // namespace

void KnownSizes::bind(const Value& tensor, const std::vector<int64_t>& sizes) {
  const TensorView* const view = asTensor(definition_->own(tensor));
  TK_REQUIRE(view != nullptr, Definition, "a tensor has sizes; this is a number");
  bindShape(*view, sizes, bindings_);
}

void KnownSizes::bindNumber(const Value& scalar, const ScalarValue& number) {
  bindings_[&scalarOf(*definition_, scalar)] = number;
}

std::optional<ScalarValue> KnownSizes::evaluate(const Value& scalar) const {
  return tokamak::evaluate(scalarOf(*definition_, scalar), bindings_);
}

}  // namespace tokamak::python
