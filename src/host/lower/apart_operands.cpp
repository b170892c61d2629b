#include "host/lower/apart_operands.h"

#include <unordered_set>

#include "ir/fields.h"

namespace tokamak {

namespace {

TensorView* makeTwin(HostIrContainer& program, const TensorView& tensor) {
  Axes axes;
  for (const IterDomain* axis : tensor.logical()) axes.push_back(program.axisLike(*axis));
  TensorView* twin = program.tensor(tensor.dtype(), std::move(axes));
  twin->setMemoryType(tensor.memoryType());
  twin->setMemoryKind(tensor.memoryKind());
  return twin;
}

}  // namespace

ApartOperands::ApartOperands(HostIrContainer& program, const Expr& expr) : expr_(&expr) {
  std::unordered_set<const TensorView*> seen;
  Fields fields = fieldsOf(expr);
  const auto takeApart = [&](Val*& val) {
    TensorView* tensor = asTensor(val);
    if (tensor == nullptr || seen.insert(tensor).second) return;
    val = makeTwin(program, *tensor);
    originals_[asTensor(val)] = tensor;
  };
  for (Field& field : fields) {
    if (field.role == FieldRole::Result || field.role == FieldRole::ResultList) continue;
    if (auto* val = std::get_if<Val*>(&field.value); val != nullptr && *val != nullptr) takeApart(*val);
    if (auto* vals = std::get_if<std::vector<Val*>>(&field.value)) {
      for (Val*& val : *vals) takeApart(val);
    }
  }
  if (!originals_.empty()) expr_ = program.append(makeExpr(expr.kind(), fields));
}

TensorView* ApartOperands::originalOf(TensorView* tensor) const {
  const auto found = originals_.find(tensor);
  return found == originals_.end() ? tensor : found->second;
}

}  // namespace tokamak
