#include "graph/movement.h"

#include "graph/replacement.h"

namespace tokamak {

bool isMovement(const Expr* expr) {
  return expr != nullptr && expr->list() == OpList::Math && expr->info().may_be_view;
}

namespace {

Fields redoneFields(const Expr& step, TensorView& in, const std::optional<ChangedAxis>& changed, TensorView* result) {
  Fields fields = fieldsOf(step);
  for (Field& field : fields) {
    if (field.role == FieldRole::Result) field.value = static_cast<Val*>(result);
    if (field.role == FieldRole::Operand) field.value = static_cast<Val*>(&in);
    if (field.relation != AxisRelation::Extents || !changed) continue;
    const size_t axis = field.of == step.output(0) ? changed->result : changed->operand;
    std::get<std::vector<Scalar*>>(field.value)[axis] = changed->extent;
  }
  return fields;
}

}  // namespace

TensorView* rebuild(const Expr& step, TensorView& in, const std::optional<ChangedAxis>& changed) {
  return asTensor(defineExpr(in.fusion(), step.kind(), redoneFields(step, in, changed, nullptr))->output(0));
}

std::unique_ptr<Expr> rebuilt(const Expr& step, TensorView& in, TensorView* result,
                              const std::optional<ChangedAxis>& changed) {
  return makeExpr(step.kind(), redoneFields(step, in, changed, result));
}

bool rebuildInPlace(const Fusion& source, const Expr& expr, Cloner& cloner, const Expr& step, TensorView& in,
                    const std::optional<ChangedAxis>& changed) {
  TensorView* old = asTensor(expr.output(0));
  TensorView* made = rebuild(step, in, changed);
  if (readInstead(source, expr, cloner, made)) {
    made->setNamesOf(*old);
    return true;
  }
  TensorView* copy = cloner.clone(old);
  if (!hasSameShape(*made, *copy) || made->logical().size() != copy->logical().size()) return false;
  cloner.target().append(rebuilt(step, in, copy, changed));
  return true;
}

}  // namespace tokamak
