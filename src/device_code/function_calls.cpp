// How kernels write the functions of the table: as an expression where one is short, else as the call of a helper.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/require.h"
#include "base/text.h"
#include "device_code/device_code.h"
#include "symbolic/function_table.h"

namespace tokamak {

namespace {

// The kinds of operands that expressions differ for.
enum class Kind : uint8_t { Floating = 1, Lanes = 2, Integer = 4, Bool = 8, Mask = 16, IntegerLanes = 32 };
using Kinds = unsigned;

constexpr Kinds kFloating = static_cast<Kinds>(Kind::Floating);
constexpr Kinds kLanes = static_cast<Kinds>(Kind::Lanes);
constexpr Kinds kInteger = static_cast<Kinds>(Kind::Integer);
constexpr Kinds kBool = static_cast<Kinds>(Kind::Bool);
constexpr Kinds kMask = static_cast<Kinds>(Kind::Mask);
constexpr Kinds kIntegerLanes = static_cast<Kinds>(Kind::IntegerLanes);
constexpr Kinds kScalar = kFloating | kInteger | kBool;
constexpr Kinds kReal = kFloating | kLanes;

struct Pattern {
  FunctionId id;
  Kinds kinds;
  std::string_view text;  // $0, $1, ... stand for the operands
};

constexpr Pattern kPatterns[] = {
    {function_id::add, kReal, "($0 + $1)"},
    {function_id::sub, kReal, "($0 - $1)"},
    {function_id::mul, kReal, "($0 * $1)"},
    {function_id::div, kReal, "($0 / $1)"},
    {function_id::truediv, kReal, "($0 / $1)"},
    {function_id::reciprocal, kReal, "(1 / $0)"},
    {function_id::neg, kReal, "(- $0)"},
    {function_id::add_alpha, kReal, "($0 + $1 * $2)"},
    {function_id::sub_alpha, kReal, "($0 - $1 * $2)"},
    {function_id::addcmul, kReal, "($0 + $3 * ($1 * $2))"},
    {function_id::eq, kScalar | kLanes | kIntegerLanes, "($0 == $1)"},
    {function_id::ne, kScalar | kLanes | kIntegerLanes, "($0 != $1)"},
    {function_id::lt, kScalar | kLanes | kIntegerLanes, "($0 < $1)"},
    {function_id::le, kScalar | kLanes | kIntegerLanes, "($0 <= $1)"},
    {function_id::gt, kScalar | kLanes | kIntegerLanes, "($0 > $1)"},
    {function_id::ge, kScalar | kLanes | kIntegerLanes, "($0 >= $1)"},
    {function_id::logical_and, kBool | kMask, "($0 & $1)"},
    {function_id::logical_or, kBool | kMask, "($0 | $1)"},
    {function_id::logical_not, kBool, "(!$0)"},
    {function_id::logical_not, kMask, "($0 == 0)"},
    {function_id::eq, kMask, "(~($0 ^ $1))"},
    {function_id::ne, kMask, "($0 ^ $1)"},
    {function_id::lt, kMask, "(~$0 & $1)"},
    {function_id::le, kMask, "(~$0 | $1)"},
    {function_id::gt, kMask, "($0 & ~$1)"},
    {function_id::ge, kMask, "($0 | ~$1)"},
    {function_id::bitwise_and, kInteger | kBool | kMask | kIntegerLanes, "($0 & $1)"},
    {function_id::bitwise_or, kInteger | kBool | kMask | kIntegerLanes, "($0 | $1)"},
    {function_id::bitwise_xor, kInteger | kBool | kMask | kIntegerLanes, "($0 ^ $1)"},
    {function_id::bitwise_not, kInteger | kMask | kIntegerLanes, "(~$0)"},
    {function_id::bitwise_not, kBool, "(!$0)"},
    {function_id::maximum, kBool | kMask, "($0 | $1)"},
    {function_id::minimum, kBool | kMask, "($0 & $1)"},
    {function_id::fmax, kBool | kMask, "($0 | $1)"},
    {function_id::fmin, kBool | kMask, "($0 & $1)"},
    {function_id::where, kBool, "($0 ? $1 : $2)"},
    {function_id::isreal, kScalar, "1"},
    {function_id::isreal, kMask, "(~($0 & 0))"},
    {function_id::isreal, kIntegerLanes, "(($0 & 0) == 0)"},
    {function_id::isfinite, kMask, "(~($0 & 0))"},
    {function_id::isfinite, kIntegerLanes, "(($0 & 0) == 0)"},
    {function_id::isinf, kMask, "($0 & 0)"},
    {function_id::isinf, kIntegerLanes, "(($0 & 0) != 0)"},
    {function_id::isnan, kMask, "($0 & 0)"},
    {function_id::isnan, kIntegerLanes, "(($0 & 0) != 0)"},
    {function_id::isneginf, kMask, "($0 & 0)"},
    {function_id::isneginf, kIntegerLanes, "(($0 & 0) != 0)"},
    {function_id::isposinf, kMask, "($0 & 0)"},
    {function_id::isposinf, kIntegerLanes, "(($0 & 0) != 0)"},
    {function_id::signbit, kMask, "($0 & 0)"},
    {function_id::signbit, kIntegerLanes, "($0 < 0)"},
    {function_id::frac, kIntegerLanes, "($0 & 0)"},
    {function_id::isfinite, kInteger | kBool, "1"},
    {function_id::isinf, kInteger | kBool, "0"},
    {function_id::isnan, kInteger | kBool, "0"},
    {function_id::isneginf, kInteger | kBool, "0"},
    {function_id::isposinf, kInteger | kBool, "0"},
    {function_id::signbit, kInteger, "($0 < 0)"},
    {function_id::signbit, kBool, "0"},
    {function_id::ceil, kInteger | kIntegerLanes, "$0"},
    {function_id::floor, kInteger | kIntegerLanes, "$0"},
    {function_id::round, kInteger | kIntegerLanes, "$0"},
    {function_id::trunc, kInteger | kIntegerLanes, "$0"},
    {function_id::frac, kInteger, "0"},
};

Kinds kindsOf(LaneType type) {
  if (type.type == DataType::Bool) return type.lanes == 1 ? kBool : kMask;
  if (isHalfType(type.type)) return 0;
  if (type.lanes > 1) return isFloatingType(type.type) ? kLanes : kIntegerLanes;
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

// "f32", "f32x16"; masks are integers.
std::string suffixOf(LaneType type) {
  const std::string_view name = dataTypeName(type.type);
  if (type.type == DataType::Bool && type.lanes > 1) return fmt::format("i{}x{}", 8 * type.mask_bytes, type.lanes);
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

std::optional<std::string> onePlusHelper(Dialect dialect, FunctionId id, int lanes) {
  std::string name = fmt::format("one_plus_{}", helperOf(id, LaneType(DataType::F32, lanes)));
  return hasHelper(dialect, name) ? std::optional(std::move(name)) : std::nullopt;
}

int maskBytes(DataType compared) {
  return static_cast<int>(std::max<int64_t>(sizeOf(compared), isHalfType(compared) ? 4 : 1));
}

std::string maskCall(LaneType mask, int bytes, std::string_view value) {
  if (mask.lanes == 1 || mask.mask_bytes == bytes) return std::string(value);
  return fmt::format("__builtin_convertvector({}, {})", value,
                     deviceTypeName(LaneType(DataType::Bool, mask.lanes, bytes)));
}

bool hasFunction(FunctionId id, LaneType operand) {
  if (!isOperandType(id, operand.type)) return false;
  if (patternOf(id, operand)) return true;
  // A mask is no number: what integers have is not for it, but for choosing.
  const bool is_number = operand.type != DataType::Bool || operand.lanes == 1 || id == function_id::where;
  return is_number && hasHelper(Dialect::C, helperOf(id, operand));
}

std::string functionCall(FunctionId id, LaneType operand, std::span<const std::string> operands) {
  requireFunction(id, operand);
  TK_CHECK(static_cast<int>(operands.size()) == functionInfo(id).arity,
           "device code: as many operands as the function has");
  if (const auto pattern = patternOf(id, operand)) return substitute(*pattern, operands);
  return fmt::format("tk_{}({})", helperOf(id, operand), joined(operands));
}

std::vector<std::string> functionHelpers(FunctionId id, LaneType operand) {
  requireFunction(id, operand);
  if (patternOf(id, operand)) return {};
  return {helperOf(id, operand)};
}

}  // namespace tokamak
