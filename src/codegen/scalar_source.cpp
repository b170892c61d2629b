#include "codegen/scalar_source.h"

#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/half.h"
#include "device_code/device_code.h"

namespace tokamak {

namespace {

struct Infix {
  const char* symbol;
  int level;  // binds tighter when larger
};

Infix infixOf(ScalarOp op) {
  switch (op) {
    case ScalarOp::Or: return {"||", 1};
    case ScalarOp::And: return {"&&", 2};
    case ScalarOp::Equal: return {"==", 3};
    case ScalarOp::NotEqual: return {"!=", 3};
    case ScalarOp::Less: return {"<", 4};
    case ScalarOp::LessEqual: return {"<=", 4};
    case ScalarOp::Add: return {"+", 5};
    case ScalarOp::Sub: return {"-", 5};
    case ScalarOp::Mul: return {"*", 6};
    default: return {nullptr, 0};
  }
}

constexpr int kDivisionLevel = 6;
constexpr int kUnaryLevel = 7;
constexpr int kChoiceLevel = 0;

std::string parenthesised(std::string text, int level, int outer) { return level < outer ? "(" + text + ")" : text; }

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
      return text.front() == '-' ? parenthesised(std::move(text), kUnaryLevel - 1, outer) : text;
    }
    case ScalarOp::FloorDiv:
    case ScalarOp::CeilDiv:
    case ScalarOp::Mod: return division(scalar, outer);
    case ScalarOp::Min: return call("minimum_i64", scalar);
    case ScalarOp::Max: return call("maximum_i64", scalar);
    case ScalarOp::Not: return "!" + write(*scalar.operand(0), kUnaryLevel);
    case ScalarOp::Select:
      return parenthesised(fmt::format("{} ? {} : {}", write(*scalar.operand(0), 1), write(*scalar.operand(1), 1),
                                       write(*scalar.operand(2), 0)),
                           kChoiceLevel, outer);
    case ScalarOp::Cast: {
      const DataType from = scalar.operand(0)->dtype();
      for (std::string& helper : castHelpers(scalar.dtype(), from)) helpers_->insert(std::move(helper));
      return castCall(scalar.dtype(), from, writeOperand(*scalar.operand(0)));
    }
    case ScalarOp::Function: {
      std::vector<std::string> operands;
      for (Scalar* operand : scalar.operands()) operands.push_back(writeOperand(*operand));
      const DataType dtype = scalar.operands().back()->dtype();
      for (std::string& helper : functionHelpers(scalar.function(), dtype)) helpers_->insert(std::move(helper));
      return functionCall(scalar.function(), dtype, operands);
    }
    default: break;
  }
  const Infix infix = infixOf(scalar.op());
  TK_CHECK(infix.symbol != nullptr, "a scalar without source text: {}", toString(scalar));
  return parenthesised(fmt::format("{} {} {}", write(*scalar.operand(0), infix.level), infix.symbol,
                                   write(*scalar.operand(1), infix.level + 1)),
                       infix.level, outer);
}

}  // namespace tokamak
