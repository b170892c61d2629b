#include "ir/type_rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "ir/clone.h"
#include "ir/fields.h"
#include "ir/ops/math/pointwise_op.h"
#include "symbolic/functions.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

namespace {

bool isSameAxis(const IterDomain& a, const IterDomain& b, ShapeMatch match) {
  if (match == ShapeMatch::Ranks) return a.isReduction() == b.isReduction();
  const auto same = [](Scalar* x, Scalar* y) {
    return x == y || (x != nullptr && y != nullptr && simplify(x) == simplify(y));
  };
  return a.kind() == b.kind() && same(a.extent(), b.extent()) && same(a.expandedExtent(), b.expandedExtent());
}

bool isSameShape(const TensorView& a, const TensorView& b, ShapeMatch match) {
  return a.dtype() == b.dtype() &&
         std::ranges::equal(a.logical(), b.logical(),
                            [&](const IterDomain* x, const IterDomain* y) { return isSameAxis(*x, *y, match); });
}

// Without its name: f32[i0, i2].
std::string shapeText(const TensorView& tensor) {
  const std::string text = toString(tensor);
  return text.substr(text.find(": ") + 2);
}

// The op's fields over nodes of the cloner's target, without results.
Fields cloneOperands(const Expr& expr, Cloner& cloner) {
  Fields fields = fieldsOf(expr);
  for (Field& field : fields) {
    if (field.role == FieldRole::Result || field.role == FieldRole::ResultList) field.value = std::monostate{};
    if (auto* val = std::get_if<Val*>(&field.value)) *val = cloner.clone(*val);
    if (auto* scalar = std::get_if<Scalar*>(&field.value)) *scalar = cloner.clone(*scalar);
    if (auto* list = std::get_if<std::vector<Val*>>(&field.value)) {
      for (Val*& val : *list) val = cloner.clone(val);
    }
    if (auto* list = std::get_if<std::vector<Scalar*>>(&field.value)) {
      for (Scalar*& scalar : *list) scalar = cloner.clone(scalar);
    }
  }
  return fields;
}

// Definitions may count axes from the end; ops have the numbers that were meant.
std::string axisProblem(const Expr& expr) {
  for (const Field& field : fieldsOf(expr)) {
    if (field.relation != AxisRelation::Number && field.relation != AxisRelation::Numbers &&
        field.relation != AxisRelation::Permutation)
      continue;
    std::vector<int64_t> numbers;
    if (const auto* number = std::get_if<int64_t>(&field.value)) numbers = {*number};
    if (const auto* list = std::get_if<std::vector<int64_t>>(&field.value)) numbers = *list;
    for (const int64_t number : numbers) {
      if (number < 0)
        return fmt::format("{} has the axis {} in {}; axes are counted from 0", callName(expr), number, field.name);
    }
  }
  return {};
}

}  // namespace

std::string describeVal(const Val* val) {
  if (val->kind() == ValKind::Tensor) return toString(*static_cast<const TensorView*>(val));
  if (val->kind() == ValKind::Scalar) return toString(*static_cast<const Scalar*>(val));
  return fmt::format("stream {}", val->id());
}

std::string operandTypeProblem(const PointwiseOp& op) {
  const FunctionInfo& info = functionInfo(op.function);
  if (static_cast<int>(op.ins.size()) != info.arity)
    return fmt::format("{} takes {} operands, not {}", info.name, info.arity, op.ins.size());
  const DataType type = op.ins.back()->dtype();
  const auto types = functionTypes(op.function, type);
  for (size_t i = 0; i < op.ins.size(); ++i) {
    const bool is_condition = info.rule == TypeRule::Choose && i == 0;
    const DataType wanted = is_condition ? DataType::Bool : types ? types->operand : type;
    if (types && op.ins[i]->dtype() == wanted) continue;
    return fmt::format("operand {} of {}, {}, has type {}; it must be cast to {} first", i, info.name,
                       describeVal(op.ins[i]), dataTypeName(op.ins[i]->dtype()),
                       types ? dataTypeName(wanted) : "a type that the function takes");
  }
  return {};
}

TypeRuleChecker::TypeRuleChecker(ShapeMatch match)
    : match_(match), scratch_(std::make_unique<Fusion>()), cloner_(std::make_unique<Cloner>(*scratch_)) {}

TypeRuleChecker::~TypeRuleChecker() = default;

std::string TypeRuleChecker::problemOf(const Expr& expr) {
  if (std::string problem = axisProblem(expr); !problem.empty()) return problem;
  const auto isTransformed = [](const TensorView* tensor) {
    return !tensor->domain().root.empty() ||
           std::ranges::any_of(tensor->logical(), [](const IterDomain* axis) { return axis->isRFactor(); });
  };
  if (std::ranges::any_of(tensorsOf(expr.outputs()), isTransformed)) return {};
  try {
    const Expr* again = defineExpr(*scratch_, expr.kind(), cloneOperands(expr, *cloner_));
    for (size_t i = 0; i < expr.outputs().size(); ++i) {
      TensorView* have = asTensor(expr.output(i));
      const TensorView* want = asTensor(again->output(i));
      if (!isSameShape(*cloner_->clone(have), *want, match_))
        return fmt::format("the result of {} is {}, and its type rule gives {}", callName(expr), toString(*have),
                           shapeText(*want));
    }
  } catch (const Error& error) {
    return fmt::format("the type rule of {} refuses its operands: {}", callName(expr), error.message());
  }
  return {};
}

}  // namespace tokamak
