#include "symbolic/scalar.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "base/half.h"
#include "base/require.h"
#include "symbolic/formulas.h"
#include "symbolic/function_table.h"

namespace tokamak {

namespace {

std::string_view infixOf(ScalarOp op) {
  switch (op) {
    case ScalarOp::Add: return "+";
    case ScalarOp::Sub: return "-";
    case ScalarOp::Mul: return "*";
    case ScalarOp::FloorDiv: return "/";
    case ScalarOp::Mod: return "%";
    case ScalarOp::Equal: return "==";
    case ScalarOp::NotEqual: return "!=";
    case ScalarOp::Less: return "<";
    case ScalarOp::LessEqual: return "<=";
    case ScalarOp::And: return "&&";
    case ScalarOp::Or: return "||";
    default: return "";
  }
}

int64_t floorDivide(int64_t a, int64_t b) { return a / b - static_cast<int64_t>(a % b != 0 && a < 0); }

ScalarValue applyInt(const Scalar& scalar, int64_t a, int64_t b) {
  if (const auto value = applyChecked(scalar.op(), a, b)) return *value;
  const bool divides =
      scalar.op() == ScalarOp::FloorDiv || scalar.op() == ScalarOp::CeilDiv || scalar.op() == ScalarOp::Mod;
  TK_REQUIRE(!divides, Bind, "{}: the divisor is {}; it must be positive", toString(scalar), b);
  TK_RAISE(Bind, "{}: overflows 64-bit integers with {} and {}", toString(scalar), a, b);
}

ScalarValue applyFloat(const Scalar& scalar, double a, double b) {
  switch (scalar.op()) {
    case ScalarOp::Add: return a + b;
    case ScalarOp::Sub: return a - b;
    case ScalarOp::Mul: return a * b;
    case ScalarOp::FloorDiv: return std::floor(a / b);
    case ScalarOp::CeilDiv: return std::ceil(a / b);
    case ScalarOp::Mod: return a - std::floor(a / b) * b;
    case ScalarOp::Min: return formula::smaller(a, b);
    case ScalarOp::Max: return formula::larger(a, b);
    case ScalarOp::Equal: return a == b;
    case ScalarOp::NotEqual: return a != b;
    case ScalarOp::Less: return a < b;
    case ScalarOp::LessEqual: return a <= b;
    case ScalarOp::And: return a != 0 && b != 0;
    case ScalarOp::Or: return a != 0 || b != 0;
    default: TK_RAISE(Internal, "{} is not arithmetic", toString(scalar));
  }
}

// One row of the function table on operands that were already converted to the row's operand type.
template <class T, class C>
ScalarValue applyRow(FunctionId id, C x, T y, T z, T w) {
  static_cast<void>(y), static_cast<void>(z), static_cast<void>(w);
  using namespace formula;  // NOLINT(google-build-using-namespace): the table's formulas are written in its words
  const auto give = [](auto value) -> ScalarValue {
    if constexpr (std::is_same_v<decltype(value), bool>)
      return value;
    else if constexpr (std::is_integral_v<decltype(value)>)
      return static_cast<int64_t>(value);
    else
      return static_cast<double>(value);
  };
  switch (function_table::rowOf(id)) {
#define TK_ROW(name, arity, rule, accuracy, infix, meaning, ...)                                \
  case function_table::Row::name:                                                               \
    if constexpr ((TypeRule::rule == TypeRule::Choose) != std::is_same_v<C, T>) {               \
      constexpr bool is_floating = std::is_floating_point_v<T>;                                 \
      constexpr bool is_bool = std::is_same_v<T, bool>;                                         \
      constexpr bool takes = TypeRule::rule == TypeRule::Float     ? is_floating                \
                             : TypeRule::rule == TypeRule::Logical ? is_bool                    \
                             : TypeRule::rule == TypeRule::Numeric ? !is_bool                   \
                             : TypeRule::rule == TypeRule::Bitwise ? !is_floating               \
                             : TypeRule::rule == TypeRule::Integer ? (!is_floating && !is_bool) \
                                                                   : true;                      \
      if constexpr (takes) return give(__VA_ARGS__);                                            \
    }                                                                                           \
    break;
    TK_FUNCTIONS(TK_ROW)
#undef TK_ROW
  }
  TK_RAISE(Internal, "{} does not take these operands", functionInfo(id).name);
}

ScalarValue applyFunction(FunctionId id, DataType operand_type, std::span<const ScalarValue> values) {
  ScalarValue v[4];
  const bool chooses = functionInfo(id).rule == TypeRule::Choose;
  for (size_t i = 0; i < 4; ++i) {
    const bool is_condition = chooses && i == 0;
    v[i] = convertValue(i < values.size() ? values[i] : ScalarValue{int64_t{0}},
                        is_condition ? DataType::Bool : operand_type);
  }
  const auto dispatch = [&]<class T>(T) -> ScalarValue {
    struct Condition {
      bool value;
      operator bool() const { return value; }
    };
    const auto get = [&](size_t i) { return std::visit([](auto value) { return static_cast<T>(value); }, v[i]); };
    if (chooses) return applyRow<T, Condition>(id, Condition{std::get<bool>(v[0])}, get(1), get(2), get(3));
    return applyRow<T, T>(id, get(0), get(1), get(2), get(3));
  };
  switch (operand_type) {
    case DataType::F64: return dispatch(double{});
    case DataType::I32: return dispatch(int32_t{});
    case DataType::I64: return dispatch(int64_t{});
    case DataType::Bool: return dispatch(bool{});
    default: return dispatch(float{});
  }
}

}  // namespace

bool isSameValue(const ScalarValue& a, const ScalarValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<double>(&a))
    return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(std::get<double>(b));
  return a == b;
}

std::optional<int64_t> Scalar::constantInt() const {
  if (!isConstant() || !std::holds_alternative<int64_t>(value_)) return std::nullopt;
  return std::get<int64_t>(value_);
}

std::optional<ScalarValue> applyChecked(ScalarOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool fails = false;
  switch (op) {
    case ScalarOp::Add: fails = __builtin_add_overflow(a, b, &result); break;
    case ScalarOp::Sub: fails = __builtin_sub_overflow(a, b, &result); break;
    case ScalarOp::Mul: fails = __builtin_mul_overflow(a, b, &result); break;
    case ScalarOp::FloorDiv:
    case ScalarOp::CeilDiv:
    case ScalarOp::Mod:
      if (b <= 0) return std::nullopt;
      result = floorDivide(a, b);
      if (op == ScalarOp::CeilDiv) result += static_cast<int64_t>(a % b != 0);
      if (op == ScalarOp::Mod) result = a % b + (a % b < 0 ? b : 0);
      break;
    case ScalarOp::Min: return std::min(a, b);
    case ScalarOp::Max: return std::max(a, b);
    case ScalarOp::Equal: return a == b;
    case ScalarOp::NotEqual: return a != b;
    case ScalarOp::Less: return a < b;
    case ScalarOp::LessEqual: return a <= b;
    case ScalarOp::And: return a != 0 && b != 0;
    case ScalarOp::Or: return a != 0 || b != 0;
    default: TK_RAISE(Internal, "scalar operation {} is not integer arithmetic", static_cast<int>(op));
  }
  if (fails) return std::nullopt;
  return result;
}

int compareScalars(const Scalar& a, const Scalar& b) {
  if (&a == &b) return 0;
  const auto order = [](const auto& x, const auto& y) { return x < y ? -1 : static_cast<int>(y < x); };
  if (const int c = order(a.firstLeaf(), b.firstLeaf())) return c;
  if (const int c = order(a.weight(), b.weight())) return c;
  if (const int c = order(a.op(), b.op())) return c;
  if (const int c = order(a.dtype(), b.dtype())) return c;
  if (const int c = order(a.function(), b.function())) return c;
  if (a.isConstant()) {
    if (a.value().index() != b.value().index()) return order(a.value().index(), b.value().index());
    if (a.value() < b.value()) return -1;
    if (b.value() < a.value()) return 1;
    return order(a.id(), b.id());  // zeros of both signs, NaN
  }
  for (size_t i = 0; i < a.operands().size() && i < b.operands().size(); ++i) {
    if (const int c = compareScalars(*a.operand(i), *b.operand(i))) return c;
  }
  return order(a.operands().size(), b.operands().size());
}

int64_t asInt(const ScalarValue& value) {
  return std::visit([](auto v) { return formula::convert<int64_t>(v); }, value);
}

double asDouble(const ScalarValue& value) {
  return std::visit([](auto v) { return formula::convert<double>(v); }, value);
}

ScalarValue convertValue(const ScalarValue& value, DataType dtype) {
  switch (dtype) {
    case DataType::F64: return asDouble(value);
    case DataType::F32: return static_cast<double>(static_cast<float>(asDouble(value)));
    case DataType::F16: return roundedToHalf(asDouble(value));
    case DataType::BF16: return roundedToBFloat16(asDouble(value));
    default: break;
  }
  if (dtype == DataType::Bool) return std::visit([](auto v) { return formula::convert<bool>(v); }, value);
  if (dtype == DataType::I32) {
    if (const auto* integer = std::get_if<int64_t>(&value)) return int64_t{static_cast<int32_t>(*integer)};
    return int64_t{std::visit([](auto v) { return formula::convert<int32_t>(v); }, value)};
  }
  return asInt(value);
}

std::optional<ScalarValue> evaluate(const Scalar& scalar, const ScalarBindings& bindings) {
  if (scalar.isConstant()) return scalar.value();
  // Indices and extents, which are most scalars, are I64 and need no conversion.
  const auto typed = [&](const ScalarValue& value) {
    return scalar.dtype() == DataType::I64 ? value : convertValue(value, scalar.dtype());
  };
  if (const auto bound = bindings.find(&scalar); bound != bindings.end()) return typed(bound->second);
  if (scalar.isSymbol()) return std::nullopt;
  ScalarValue values[3];
  for (size_t i = 0; i < scalar.operands().size(); ++i) {
    const auto value = evaluate(*scalar.operand(i), bindings);
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  switch (scalar.op()) {
    case ScalarOp::Not: return asInt(values[0]) == 0;
    case ScalarOp::Select: return typed(asInt(values[0]) != 0 ? values[1] : values[2]);
    case ScalarOp::Cast: return convertValue(values[0], scalar.dtype());
    case ScalarOp::Function: {
      DataType promoted = scalar.operands().back()->dtype();
      for (const Scalar* operand : scalar.operands()) {
        if (functionInfo(scalar.function()).rule == TypeRule::Choose && operand == scalar.operand(0)) continue;
        promoted = promoteTypes(promoted, operand->dtype());
      }
      const auto types = functionTypes(scalar.function(), promoted);
      TK_CHECK(types.has_value(), "{} does not take {}", functionInfo(scalar.function()).name, dataTypeName(promoted));
      return typed(applyFunction(scalar.function(), types->operand, {values, scalar.operands().size()}));
    }
    default: break;
  }
  const bool is_float = std::holds_alternative<double>(values[0]) || std::holds_alternative<double>(values[1]);
  if (is_float) return typed(applyFloat(scalar, asDouble(values[0]), asDouble(values[1])));
  return typed(applyInt(scalar, asInt(values[0]), asInt(values[1])));
}

namespace {

const Scalar* firstUnbound(const Scalar& scalar, const ScalarBindings& bindings) {
  if (scalar.isSymbol()) return bindings.contains(&scalar) ? nullptr : &scalar;
  for (const Scalar* operand : scalar.operands()) {
    if (const Scalar* unbound = firstUnbound(*operand, bindings)) return unbound;
  }
  return nullptr;
}

}  // namespace

int64_t evaluateInt(const Scalar& scalar, const ScalarBindings& bindings) {
  const auto value = evaluate(scalar, bindings);
  if (!value) {
    const Scalar* unbound = firstUnbound(scalar, bindings);
    TK_RAISE(Bind, "{}: the value of {} is not known; give it a value", toString(scalar), toString(*unbound));
  }
  return asInt(*value);
}

std::string toString(const Scalar& scalar) {
  switch (scalar.op()) {
    case ScalarOp::Constant:
      if (const auto* integer = std::get_if<int64_t>(&scalar.value())) return fmt::to_string(*integer);
      if (const auto* flag = std::get_if<bool>(&scalar.value())) return *flag ? "true" : "false";
      return fmt::format("{}", std::get<double>(scalar.value()));
    case ScalarOp::Symbol: return scalar.name().empty() ? fmt::format("i?{}", scalar.id()) : scalar.name();
    case ScalarOp::CeilDiv:
    case ScalarOp::Min:
    case ScalarOp::Max: {
      const std::string_view name = scalar.op() == ScalarOp::CeilDiv ? "ceilDiv"
                                    : scalar.op() == ScalarOp::Min   ? "min"
                                                                     : "max";
      return fmt::format("( {}({}, {}) )", name, toString(*scalar.operand(0)), toString(*scalar.operand(1)));
    }
    case ScalarOp::Not: return fmt::format("( !{} )", toString(*scalar.operand(0)));
    case ScalarOp::Select:
      return fmt::format("( where({}, {}, {}) )", toString(*scalar.operand(0)), toString(*scalar.operand(1)),
                         toString(*scalar.operand(2)));
    case ScalarOp::Cast: return fmt::format("( {}({}) )", dataTypeName(scalar.dtype()), toString(*scalar.operand(0)));
    case ScalarOp::Function: {
      std::string text = fmt::format("( {}(", functionInfo(scalar.function()).name);
      for (size_t i = 0; i < scalar.operands().size(); ++i) text += (i > 0 ? ", " : "") + toString(*scalar.operand(i));
      return text + ") )";
    }
    default:
      return fmt::format("( {} {} {} )", toString(*scalar.operand(0)), infixOf(scalar.op()),
                         toString(*scalar.operand(1)));
  }
}

}  // namespace tokamak
