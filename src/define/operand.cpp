#include "define/operand.h"

#include "base/require.h"
#include "ir/fusion.h"
#include "ir/ops/math/cast_op.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

Operand::Operand(Val* val) : val_(val) {
  TK_REQUIRE(
      val != nullptr, Definition,
      "operand: null was given; it must be a tensor, a scalar of the fusion or a number; check the call that made it");
}

void requireGiven(std::string_view call, std::initializer_list<GivenTensor> tensors) {
  for (const GivenTensor& given : tensors)
    TK_REQUIRE(given.tensor != nullptr, Definition, "{}: '{}' is null; it must be a tensor of a fusion", call,
               given.parameter);
}

void requireGiven(std::string_view call, std::string_view parameter, std::span<TensorView* const> tensors) {
  for (const TensorView* tensor : tensors) requireGiven(call, {{parameter, tensor}});
}

DataType Operand::dtype() const {
  if (!isLiteral()) return val_->dtype();
  constexpr DataType types[] = {DataType::I64, DataType::F64, DataType::Bool};
  return types[literal_.index()];
}

Fusion* fusionOf(std::span<const Operand> operands) {
  for (const Operand& operand : operands) {
    if (!operand.isLiteral()) return &operand.val()->fusion();
  }
  return nullptr;
}

Scalar* scalarOf(Fusion& fusion, std::string_view op, const Operand& operand) {
  if (operand.isLiteral()) return fusion.constant(operand.literal(), operand.dtype());
  Scalar* scalar = asScalar(operand.val());
  TK_REQUIRE(scalar != nullptr, Definition, "{}: takes a scalar or a number here, got a tensor", op);
  return scalar;
}

std::vector<Scalar*> scalarsOf(Fusion& fusion, std::string_view op, std::span<const Operand> operands) {
  std::vector<Scalar*> scalars;
  for (const Operand& operand : operands) scalars.push_back(scalarOf(fusion, op, operand));
  return scalars;
}

Scalar* castTo(Scalar* scalar, DataType dtype) {
  if (scalar->dtype() == dtype) return scalar;
  Fusion& fusion = scalar->fusion();
  if (scalar->isConstant()) return fusion.constant(scalar->value(), dtype);
  return simplify(fusion.rawScalar(ScalarOp::Cast, dtype, {&scalar, 1}));
}

TensorView* castTo(TensorView* tensor, DataType dtype) {
  if (tensor->dtype() == dtype) return tensor;
  CastOp op{.in = tensor, .dtype = dtype};
  op.infer(ShapeRule(tensor->fusion(), CastOp::info.name));
  TensorView* out = op.out;
  tensor->fusion().appendOp(op);
  return out;
}

Val* castTo(Val* val, DataType dtype) {
  if (TensorView* tensor = asTensor(val)) return castTo(tensor, dtype);
  Scalar* scalar = asScalar(val);
  TK_CHECK(scalar != nullptr, "a stream cannot be cast");
  return castTo(scalar, dtype);
}

TensorView* toComputeType(TensorView* tensor) { return castTo(tensor, computeType(tensor->dtype())); }

TensorView* toTypeOf(const TensorView& like, TensorView* tensor) {
  return isFloatingType(like.dtype()) ? castTo(tensor, like.dtype()) : tensor;
}

TensorView* toFloating(TensorView* tensor) {
  return castTo(tensor, isFloatingType(tensor->dtype()) ? computeType(tensor->dtype()) : DataType::F32);
}

}  // namespace tokamak
