// How kernels write the functions of the table: as an expression where one is short, else as the call of a helper.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "device_code/device_code.h"

namespace tokamak {

namespace {

// The kinds of operands that expressions differ for.
enum class Kind : uint8_t { Floating = 1, Lanes = 2, Integer = 4, Bool = 8, Mask = 16 };
using Kinds = unsigned;

constexpr Kinds kFloating = static_cast<Kinds>(Kind::Floating);
constexpr Kinds kLanes = static_cast<Kinds>(Kind::Lanes);
constexpr Kinds kInteger = static_cast<Kinds>(Kind::Integer);
constexpr Kinds kBool = static_cast<Kinds>(Kind::Bool);
constexpr Kinds kMask = static_cast<Kinds>(Kind::Mask);
constexpr Kinds kScalar = kFloating | kInteger | kBool;
constexpr Kinds kReal = kFloating | kLanes;

struct Pattern {
  FunctionId id;
  Kinds kinds;
  std::string_view text;  // $0, $1, ... stand for the operands
};

constexpr Pattern kPatterns[] = {
    {FunctionId::add, kReal, "($0 + $1)"},
    {FunctionId::sub, kReal, "($0 - $1)"},
    {FunctionId::mul, kReal, "($0 * $1)"},
    {FunctionId::div, kReal, "($0 / $1)"},
    {FunctionId::truediv, kReal, "($0 / $1)"},
    {FunctionId::reciprocal, kReal, "(1 / $0)"},
    {FunctionId::neg, kReal, "(- $0)"},
    {FunctionId::add_alpha, kReal, "($0 + $1 * $2)"},
    {FunctionId::sub_alpha, kReal, "($0 - $1 * $2)"},
    {FunctionId::addcmul, kReal, "($0 + $3 * ($1 * $2))"},
    {FunctionId::eq, kScalar | kLanes, "($0 == $1)"},
    {FunctionId::ne, kScalar | kLanes, "($0 != $1)"},
    {FunctionId::lt, kScalar | kLanes, "($0 < $1)"},
    {FunctionId::le, kScalar | kLanes, "($0 <= $1)"},
    {FunctionId::gt, kScalar | kLanes, "($0 > $1)"},
    {FunctionId::ge, kScalar | kLanes, "($0 >= $1)"},
    {FunctionId::logical_and, kBool | kMask, "($0 & $1)"},
    {FunctionId::logical_or, kBool | kMask, "($0 | $1)"},
    {FunctionId::logical_not, kBool, "(!$0)"},
    {FunctionId::logical_not, kMask, "($0 == 0)"},
    {FunctionId::bitwise_and, kInteger | kBool | kMask, "($0 & $1)"},
    {FunctionId::bitwise_or, kInteger | kBool | kMask, "($0 | $1)"},
    {FunctionId::bitwise_xor, kInteger | kBool | kMask, "($0 ^ $1)"},
    {FunctionId::bitwise_not, kInteger | kMask, "(~$0)"},
    {FunctionId::bitwise_not, kBool, "(!$0)"},
    {FunctionId::maximum, kBool | kMask, "($0 | $1)"},
    {FunctionId::minimum, kBool | kMask, "($0 & $1)"},
    {FunctionId::where, kBool, "($0 ? $1 : $2)"},
    {FunctionId::isreal, kScalar, "1"},
    {FunctionId::isfinite, kInteger | kBool, "1"},
    {FunctionId::isinf, kInteger | kBool, "0"},
    {FunctionId::isnan, kInteger | kBool, "0"},
    {FunctionId::isneginf, kInteger | kBool, "0"},
    {FunctionId::isposinf, kInteger | kBool, "0"},
    {FunctionId::signbit, kInteger, "($0 < 0)"},
    {FunctionId::signbit, kBool, "0"},
    {FunctionId::ceil, kInteger, "$0"},
    {FunctionId::floor, kInteger, "$0"},
    {FunctionId::round, kInteger, "$0"},
    {FunctionId::trunc, kInteger, "$0"},
    {FunctionId::frac, kInteger, "0"},
};

Kinds kindsOf(LaneType type) {
  if (type.type == DataType::Bool) return type.lanes == 1 ? kBool : kMask;
  if (type.lanes > 1) return type.type == DataType::F32 ? kLanes : 0;
  return isFloatingType(type.type) ? kFloating : kInteger;
}

bool isOperandType(FunctionId id, DataType type) {
  const auto types = functionTypes(id, type);
  return types.has_value() && types->operand == type;
}

std::optional<std::string_view> patternOf(FunctionId id, LaneType operand) {
  const auto* found = std::ranges::find_if(
      kPatterns, [&](const Pattern& pattern) { return pattern.id == id && (pattern.kinds & kindsOf(operand)) != 0; });
  return found == std::end(kPatterns) ? std::nullopt : std::optional(found->text);
}

// "f32", "f32x16"
std::string suffixOf(LaneType type) {
  const std::string_view name = dataTypeName(type.type);
  return type.lanes == 1 ? std::string(name) : fmt::format("{}x{}", name, type.lanes);
}

std::string helperOf(FunctionId id, LaneType operand) {
  return fmt::format("{}_{}", functionInfo(id).name, suffixOf(operand));
}

void requireFunction(FunctionId id, LaneType operand) {
  TK_REQUIRE(hasFunction(id, operand), Unsupported, "{}: kernels do not compute it with {}; run it op by op",
             functionInfo(id).name, suffixOf(operand));
}

std::string substitute(std::string_view pattern, std::span<const std::string> operands) {
  std::string result;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '$') {
      result += operands[static_cast<size_t>(pattern[++i] - '0')];
    } else {
      result += pattern[i];
    }
  }
  return result;
}

}  // namespace

bool hasFunction(FunctionId id, LaneType operand) {
  if (!isOperandType(id, operand.type)) return false;
  return patternOf(id, operand).has_value() || hasHelper(Dialect::C, helperOf(id, operand));
}

std::string functionCall(FunctionId id, LaneType operand, std::span<const std::string> operands) {
  requireFunction(id, operand);
  TK_CHECK(static_cast<int>(operands.size()) == functionInfo(id).arity,
           "device code: as many operands as the function has");
  if (const auto pattern = patternOf(id, operand)) return substitute(*pattern, operands);
  return fmt::format("tk_{}({})", helperOf(id, operand), fmt::join(operands, ", "));
}

std::vector<std::string> functionHelpers(FunctionId id, LaneType operand) {
  requireFunction(id, operand);
  if (patternOf(id, operand)) return {};
  return {helperOf(id, operand)};
}

}  // namespace tokamak
