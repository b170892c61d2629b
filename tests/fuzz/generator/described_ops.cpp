#include "described_ops.h"

#include <algorithm>
#include <optional>

#include "base/require.h"
#include "compute/rules.h"

namespace tokamak::generator {

namespace {

// What Drawer has a draw for.
constexpr OpKind kDrawn[] = {OpKind::BroadcastOp, OpKind::CastOp,    OpKind::CatOp,          OpKind::ExpandOp,
                             OpKind::FullOp,      OpKind::IotaOp,    OpKind::LinearOp,       OpKind::LoadStoreOp,
                             OpKind::MatmulOp,    OpKind::PadOp,     OpKind::PermuteOp,      OpKind::PointwiseOp,
                             OpKind::ReductionOp, OpKind::ReshapeOp, OpKind::SegmentSetOp,   OpKind::SelectOp,
                             OpKind::SliceOp,     OpKind::SqueezeOp, OpKind::TakeAlongAxisOp};

// The relation to axes of the op's attributes; nothing for an op of another form.
std::optional<AxisRelation> relationOf(OpKind kind) {
  AxisRelation relation = AxisRelation::None;
  int operands = 0;
  for (const Field& field : defaultFields(kind)) {
    if (field.role == FieldRole::Operand) ++operands;
    const bool is_axis = field.relation == AxisRelation::Number || field.relation == AxisRelation::Numbers;
    const bool is_other = field.role == FieldRole::OperandList || field.role == FieldRole::Spelling ||
                          (field.relation != AxisRelation::None && (!is_axis || relation != AxisRelation::None));
    if (is_other) return std::nullopt;
    if (is_axis) relation = field.relation;
  }
  return operands == 1 ? std::optional(relation) : std::nullopt;
}

std::optional<DescribedOp> describedOp(OpKind kind) {
  const auto relation = relationOf(kind);
  if (opList(kind) != OpList::Math || !relation || std::ranges::find(kDrawn, kind) != std::end(kDrawn))
    return std::nullopt;
  Fusion fusion;
  TensorView* in = fusion.tensor(DataType::F32, {fusion.axis({.extent = fusion.constant(int64_t{2})}),
                                                 fusion.axis({.extent = fusion.constant(int64_t{3})})});
  fusion.addInput(in);
  DescribedOp op{.kind = kind, .relation = *relation};
  try {
    const TensorView* out = defineDescribed(fusion, kind, *in, {0});
    visitElements(*ruleOf(*out->definition()).value, [&](const Element& element) {
      op.only_moves = op.only_moves && (element.kind == ElementKind::Load || element.kind == ElementKind::Choose);
    });
  } catch (const Error&) {
    return std::nullopt;
  }
  return op;
}

}  // namespace

std::vector<DescribedOp> describedOps() {
  static const std::vector<DescribedOp> ops = [] {
    std::vector<DescribedOp> found;
    for (const OpKind kind : allOpKinds()) {
      if (const auto op = describedOp(kind)) found.push_back(*op);
    }
    return found;
  }();
  return ops;
}

TensorView* defineDescribed(Fusion& fusion, OpKind kind, TensorView& in, const std::vector<int64_t>& numbers) {
  const auto relation = relationOf(kind);
  TK_REQUIRE(relation.has_value(), Internal,
             "{} is not generated: tests/fuzz/generator/drawn_ops.cpp has no draw for it", opInfo(kind).name);
  Fields fields = defaultFields(kind);
  for (Field& field : fields) {
    if (field.role == FieldRole::Operand) field.value = static_cast<Val*>(&in);
    if (field.relation == AxisRelation::Number) field.value = numbers.at(0);
    if (field.relation == AxisRelation::Numbers) field.value = numbers;
  }
  return asTensor(defineExpr(fusion, kind, fields)->output(0));
}

}  // namespace tokamak::generator
