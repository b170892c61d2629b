#include "codegen/scalar_source.h"

#include <cmath>

#include <fmt/format.h>

#include "base/half.h"
#include "base/require.h"
#include "device_code/device_code.h"

namespace tokamak {

namespace {

struct Infix {
  const char* symbol;
  int level;           // binds tighter when larger
  bool wraps = false;  // its result may leave the operands' type
};

Infix infixOf(ScalarOp op) {
  switch (op) {
    case ScalarOp::Or: return {"||", 1};
    case ScalarOp::And: return {"&&", 2};
    case ScalarOp::Equal: return {"==", 3};
    case ScalarOp::NotEqual: return {"!=", 3};
    case ScalarOp::Less: return {"<", 4};
    case ScalarOp::LessEqual: return {"<=", 4};
    case ScalarOp::Add: return {"+", 5, true};
    case ScalarOp::Sub: return {"-", 5, true};
    case ScalarOp::Mul: return {"*", 6, true};
    default: return {nullptr, 0};
  }
}

constexpr int kDivisionLevel = 6;
constexpr int kUnaryLevel = 7;
constexpr int kChoiceLevel = 0;

std::string parenthesised(const std::string& text, int level, int outer) {
  return level < outer ? "(" + text + ")" : text;
}

std::string floatSource(double value, bool is_single) {
  const char* suffix = is_single ? "f" : "";
  const char* type = is_single ? "F32" : "F64";
  if (std::isnan(value)) return fmt::format("TK_NAN_{}", type);
  if (std::isinf(value)) return fmt::format("{}TK_INF_{}", value < 0 ? "-" : "", type);
  std::string text = is_single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + suffix;
}

}  // namespace

std::string numberSource(const ScalarValue& value, DataType dtype) {
  switch (dtype) {
    case DataType::F64: return floatSource(asDouble(value), false);
    case DataType::F32: return floatSource(asDouble(value), true);
    case DataType::F16: return fmt::format("{}", toHalf(static_cast<float>(asDouble(value))).bits);
    case DataType::BF16: return fmt::format("{}", toBFloat16(static_cast<float>(asDouble(value))).bits);
    case DataType::Bool: return asInt(value) != 0 ? "1" : "0";
    case DataType::I32:
    case DataType::I64: break;
  }
  const int64_t number = asInt(value);
  if (number == INT64_MIN) return "(-9223372036854775807ll - 1)";
  return fmt::format("{}{}", number, number > INT32_MAX || number < INT32_MIN ? "ll" : "");
}

std::string ScalarSource::call(const std::string& helper, Scalar& scalar) {
  helpers_->insert(helper);
  std::string text = "tk_" + helper + "(";
  for (size_t i = 0; i < scalar.operands().size(); ++i) text += (i == 0 ? "" : ", ") + write(*scalar.operand(i), 0);
  return text + ")";
}

std::string ScalarSource::division(Scalar& scalar, int outer) {
  const bool is_plain = analysis_->of(*scalar.operand(0)).lower >= 0 && analysis_->of(*scalar.operand(1)).lower >= 1;
  const std::string a = write(*scalar.operand(0), kDivisionLevel);
  const std::string b = write(*scalar.operand(1), kDivisionLevel + 1);
  switch (scalar.op()) {
    case ScalarOp::FloorDiv:
      if (is_plain) return parenthesised(a + " / " + b, kDivisionLevel, outer);
      return call("floor_div_i64", scalar);
    case ScalarOp::Mod:
      if (is_plain) return parenthesised(a + " % " + b, kDivisionLevel, outer);
      return call("floor_mod_i64", scalar);
    default: return call("ceil_div_i64", scalar);
  }
}

std::string ScalarSource::writeOperand(Scalar& scalar) { return write(scalar, kUnaryLevel); }

std::string ScalarSource::write(Scalar& scalar, int outer) {
  if (const auto found = defined_.find(&scalar); found != defined_.end()) return found->second;
  switch (scalar.op()) {
    case ScalarOp::Symbol: return name_(scalar);
    case ScalarOp::Constant: {
      std::string text = numberSource(scalar.value(), scalar.dtype());
      return text.front() == '-' ? parenthesised(text, kUnaryLevel - 1, outer) : text;
    }
    case ScalarOp::Not: return "!" + writeAs(DataType::Bool, *scalar.operand(0), kUnaryLevel);
    case ScalarOp::Select:
      return parenthesised(
          fmt::format("{} ? {} : {}", writeAs(DataType::Bool, *scalar.operand(0), 1),
                      writeAs(scalar.dtype(), *scalar.operand(1), 1), writeAs(scalar.dtype(), *scalar.operand(2), 0)),
          kChoiceLevel, outer);
    case ScalarOp::Cast: return writeAs(scalar.dtype(), *scalar.operand(0), outer);
    case ScalarOp::Function: return callFunction(scalar.function(), scalar);
    case ScalarOp::And:
    case ScalarOp::Or: return infixOperation(scalar, DataType::Bool, outer);
    default: break;
  }
  const DataType promoted = promoteTypes(scalar.operand(0)->dtype(), scalar.operand(1)->dtype());
  if (isFloatingType(promoted)) return floatingOperation(scalar, outer);
  switch (scalar.op()) {
    case ScalarOp::FloorDiv:
    case ScalarOp::CeilDiv:
    case ScalarOp::Mod: return division(scalar, outer);
    case ScalarOp::Min: return call("minimum_i64", scalar);
    case ScalarOp::Max: return call("maximum_i64", scalar);
    default: return infixOperation(scalar, promoted, outer);
  }
}

std::string ScalarSource::infixOperation(Scalar& scalar, DataType type, int outer) {
  const Infix infix = infixOf(scalar.op());
  TK_CHECK(infix.symbol != nullptr, "a scalar without source text: {}", toString(scalar));
  // An i32 beside an i64 is converted explicitly, as C takes a literal operand for an int. Halves are bits in C, where
  // any but 0 is true. C's other conversions are those of scalars.
  const auto operand = [&](size_t i, int level) {
    Scalar& each = *scalar.operand(i);
    const bool widens = type == DataType::I64 && each.dtype() == DataType::I32;
    const bool converts = isHalfType(each.dtype()) || type == DataType::Bool || widens;
    return converts ? writeAs(type, each, level) : write(each, level);
  };
  if (type == DataType::I32 && infix.wraps) {
    // (Signed overflow is undefined in C.)
    return fmt::format("((tk_i32)((unsigned){} {} (unsigned){}))", operand(0, kUnaryLevel), infix.symbol,
                       operand(1, kUnaryLevel));
  }
  return parenthesised(fmt::format("{} {} {}", operand(0, infix.level), infix.symbol, operand(1, infix.level + 1)),
                       infix.level, outer);
}

std::string ScalarSource::floatingOperation(Scalar& scalar, int outer) {
  const DataType type = computeType(promoteTypes(scalar.operand(0)->dtype(), scalar.operand(1)->dtype()));
  const auto call = [&](FunctionId function, const std::vector<std::string>& operands) {
    for (std::string& helper : functionHelpers(function, type)) helpers_->insert(std::move(helper));
    return functionCall(function, type, operands);
  };
  const auto operand = [&](size_t i) { return writeAs(type, *scalar.operand(i), kUnaryLevel); };
  const auto result = [&](std::string text) { return converted(scalar.dtype(), type, std::move(text)); };
  switch (scalar.op()) {
    case ScalarOp::Min: return result(call(FunctionId::minimum, {operand(0), operand(1)}));
    case ScalarOp::Max: return result(call(FunctionId::maximum, {operand(0), operand(1)}));
    case ScalarOp::FloorDiv:
    case ScalarOp::CeilDiv:
    case ScalarOp::Mod: {
      const auto rounding = scalar.op() == ScalarOp::CeilDiv ? FunctionId::ceil : FunctionId::floor;
      const std::string quotient = call(rounding, {fmt::format("({} / {})", operand(0), operand(1))});
      if (scalar.op() != ScalarOp::Mod) return result(quotient);
      return result(fmt::format("({} - {} * {})", operand(0), quotient, operand(1)));
    }
    default: break;
  }
  if (!isHalfType(scalar.dtype())) return infixOperation(scalar, type, outer);
  return result("(" + infixOperation(scalar, type, 0) + ")");
}

std::string ScalarSource::converted(DataType to, DataType from, std::string text) {
  if (to == from) return text;
  for (std::string& helper : castHelpers(to, from)) helpers_->insert(std::move(helper));
  return castCall(to, from, text);
}

std::string ScalarSource::writeAs(DataType type, Scalar& scalar, int outer) {
  if (scalar.dtype() == type) return write(scalar, outer);
  return converted(type, scalar.dtype(), writeOperand(scalar));
}

std::string ScalarSource::callFunction(FunctionId function, Scalar& scalar) {
  const bool chooses = functionInfo(function).rule == TypeRule::Choose;
  DataType promoted = scalar.operands().back()->dtype();
  for (const Scalar* operand : scalar.operands().subspan(chooses ? 1 : 0))
    promoted = promoteTypes(promoted, operand->dtype());
  const auto types = functionTypes(function, promoted);
  TK_CHECK(types.has_value(), "{} does not take {}", functionInfo(function).name, dataTypeName(promoted));
  std::vector<std::string> operands;
  for (Scalar* operand : scalar.operands()) {
    const DataType type = chooses && operands.empty() ? DataType::Bool : types->operand;
    operands.push_back(writeAs(type, *operand, kUnaryLevel));
  }
  for (std::string& helper : functionHelpers(function, types->operand)) helpers_->insert(std::move(helper));
  return converted(scalar.dtype(), types->result, functionCall(function, types->operand, operands));
}

}  // namespace tokamak
