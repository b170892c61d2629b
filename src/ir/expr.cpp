#include "ir/expr.h"

#include "ir/fields.h"
#include "ir/tensor_view.h"
#include "symbolic/scalar.h"

namespace tokamak {

OpList Expr::list() const { return opList(kind_); }

TensorView* asTensor(Val* val) {
  return val != nullptr && val->kind() == ValKind::Tensor ? static_cast<TensorView*>(val) : nullptr;
}

Scalar* asScalar(Val* val) {
  return val != nullptr && val->kind() == ValKind::Scalar ? static_cast<Scalar*>(val) : nullptr;
}

std::vector<TensorView*> tensorsOf(std::span<Val* const> vals) {
  std::vector<TensorView*> tensors;
  for (Val* val : vals) {
    if (TensorView* tensor = asTensor(val)) tensors.push_back(tensor);
  }
  return tensors;
}

}  // namespace tokamak
