#include "define/functions.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/require.h"
#include "define/promotion.h"
#include "ir/fusion.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

struct OperandTypes {
  DataType first;  // of operand 0
  DataType rest;
  DataType result;
};

OperandTypes typesOf(const FunctionInfo& info, std::span<const Operand> operands) {
  const bool chooses = info.rule == TypeRule::Choose;
  const bool beside_tensor = chooses && !operands[0].isLiteral() && asTensor(operands[0].val()) != nullptr;
  const DataType promoted = promotedType(operands.subspan(chooses ? 1 : 0), {.beside_tensor = beside_tensor});
  const auto types = functionTypes(info.id, promoted);
  TK_REQUIRE(types.has_value(), Definition, "{}: not defined on operands of type {}; it takes {}", info.name,
             dataTypeName(promoted), info.rule == TypeRule::Integer ? "integers" : "integers and bool");
  return {chooses ? DataType::Bool : types->operand, types->operand, types->result};
}

// --- scalars ---

// Extents are made of these: on 64-bit integers the scalar's own arithmetic, which the simplifier knows.
std::optional<ScalarOp> scalarOpOf(FunctionId id) {
  switch (id) {
    case FunctionId::add: return ScalarOp::Add;
    case FunctionId::sub: return ScalarOp::Sub;
    case FunctionId::mul: return ScalarOp::Mul;
    case FunctionId::maximum: return ScalarOp::Max;
    case FunctionId::minimum: return ScalarOp::Min;
    case FunctionId::eq: return ScalarOp::Equal;
    case FunctionId::ne: return ScalarOp::NotEqual;
    case FunctionId::lt: return ScalarOp::Less;
    case FunctionId::le: return ScalarOp::LessEqual;
    case FunctionId::where: return ScalarOp::Select;
    default: return std::nullopt;
  }
}

std::optional<ScalarOp> logicalOpOf(FunctionId id) {
  switch (id) {
    case FunctionId::logical_and: return ScalarOp::And;
    case FunctionId::logical_or: return ScalarOp::Or;
    case FunctionId::logical_not: return ScalarOp::Not;
    default: return std::nullopt;
  }
}

Scalar* applyToScalars(FunctionId id, const OperandTypes& types, std::span<Scalar* const> operands) {
  Fusion& fusion = operands[0]->fusion();
  if (id == FunctionId::addcmul) {  // a scalar has at most three operands
    Scalar* product = mul(operands[3], mul(operands[1], operands[2]));
    return add(operands[0], product);
  }
  TK_REQUIRE(operands.size() <= 3, Definition,
             "{}: takes at least one tensor; a function of scalars alone has at most three operands",
             functionInfo(id).name);
  auto own = types.rest == DataType::I64 ? scalarOpOf(id) : std::nullopt;
  if (types.rest == DataType::Bool && !own) own = logicalOpOf(id);
  if (own) return simplify(fusion.rawScalar(*own, types.result, operands));
  Scalar* scalar = fusion.rawScalar(ScalarOp::Function, types.result, operands, id);
  const bool is_constant = std::ranges::all_of(operands, [](const Scalar* operand) { return operand->isConstant(); });
  return is_constant ? fusion.constant(*evaluate(*scalar, {}), types.result) : simplify(scalar);
}

// --- tensors ---

TensorView* withRank(TensorView* tensor, size_t rank) {
  const size_t have = shapeOf(*tensor).size();
  if (have == rank) return tensor;
  std::vector<bool> flags(rank, false);
  std::fill_n(flags.begin(), rank - have, true);
  BroadcastOp op{.in = tensor, .flags = std::move(flags)};
  op.infer(ShapeRule(tensor->fusion(), BroadcastOp::info.name));
  TensorView* out = op.out;
  tensor->fusion().appendOp(std::move(op));
  return out;
}

TensorView* applyToTensors(FunctionId id, std::vector<Val*> operands) {
  Fusion& fusion = operands[0]->fusion();
  size_t rank = 0;
  for (const TensorView* tensor : tensorsOf(operands)) rank = std::max(rank, shapeOf(*tensor).size());
  std::map<Val*, TensorView*, ById> widened;  // an operand named twice is broadcast once
  for (Val*& operand : operands) {
    TensorView* tensor = asTensor(operand);
    if (tensor == nullptr) continue;
    if (!widened.contains(operand)) widened[operand] = withRank(tensor, rank);
    operand = widened[operand];
  }
  PointwiseOp op{.function = id, .ins = std::move(operands)};
  op.infer(ShapeRule(fusion, functionInfo(id).name));
  TensorView* out = op.out;
  fusion.appendOp(std::move(op));
  return out;
}

}  // namespace

Val* applyFunction(FunctionId id, std::span<const Operand> operands) {
  const FunctionInfo& info = functionInfo(id);
  TK_REQUIRE(static_cast<int>(operands.size()) == info.arity, Definition, "{}: takes {} operands, got {}", info.name,
             info.arity, operands.size());
  Fusion* fusion = fusionOf(operands);
  TK_REQUIRE(fusion != nullptr, Definition, "{}: all operands are numbers; at least one must be a tensor or a scalar",
             info.name);
  const OperandTypes types = typesOf(info, operands);
  std::vector<Val*> vals;
  std::map<std::pair<int64_t, DataType>, Val*> cast;  // an operand named twice is cast once
  for (size_t i = 0; i < operands.size(); ++i) {
    const DataType type = i == 0 ? types.first : types.rest;
    if (operands[i].isLiteral()) {
      vals.push_back(fusion->constant(operands[i].literal(), type));
      continue;
    }
    Val* operand = operands[i].val();
    TK_REQUIRE(operand->kind() != ValKind::Stream, Definition, "{}: operand {} is a stream, not a value", info.name, i);
    TK_REQUIRE(&operand->fusion() == fusion, Definition, "{}: operand {} belongs to another fusion", info.name, i);
    Val*& result = cast[{operand->id(), type}];
    if (result == nullptr) result = castTo(operand, type);
    vals.push_back(result);
  }
  if (!tensorsOf(vals).empty()) return applyToTensors(id, std::move(vals));
  std::vector<Scalar*> scalars;
  for (Val* val : vals) scalars.push_back(static_cast<Scalar*>(val));
  return applyToScalars(id, types, scalars);
}

}  // namespace tokamak
