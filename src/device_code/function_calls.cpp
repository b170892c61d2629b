// How kernels write the functions of the table: as an expression where one is short, else as the call of a helper.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/require.h"
#include "device_code/device_code.h"

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
    {FunctionId::eq, kScalar | kLanes | kIntegerLanes, "($0 == $1)"},
    {FunctionId::ne, kScalar | kLanes | kIntegerLanes, "($0 != $1)"},
    {FunctionId::lt, kScalar | kLanes | kIntegerLanes, "($0 < $1)"},
    {FunctionId::le, kScalar | kLanes | kIntegerLanes, "($0 <= $1)"},
    {FunctionId::gt, kScalar | kLanes | kIntegerLanes, "($0 > $1)"},
    {FunctionId::ge, kScalar | kLanes | kIntegerLanes, "($0 >= $1)"},
    {FunctionId::logical_and, kBool | kMask, "($0 & $1)"},
    {FunctionId::logical_or, kBool | kMask, "($0 | $1)"},
    {FunctionId::logical_not, kBool, "(!$0)"},
    {FunctionId::logical_not, kMask, "($0 == 0)"},
    {FunctionId::eq, kMask, "(~($0 ^ $1))"},
    {FunctionId::ne, kMask, "($0 ^ $1)"},
    {FunctionId::lt, kMask, "(~$0 & $1)"},
    {FunctionId::le, kMask, "(~$0 | $1)"},
    {FunctionId::gt, kMask, "($0 & ~$1)"},
    {FunctionId::ge, kMask, "($0 | ~$1)"},
    {FunctionId::bitwise_and, kInteger | kBool | kMask | kIntegerLanes, "($0 & $1)"},
    {FunctionId::bitwise_or, kInteger | kBool | kMask | kIntegerLanes, "($0 | $1)"},
    {FunctionId::bitwise_xor, kInteger | kBool | kMask | kIntegerLanes, "($0 ^ $1)"},
    {FunctionId::bitwise_not, kInteger | kMask | kIntegerLanes, "(~$0)"},
    {FunctionId::bitwise_not, kBool, "(!$0)"},
    {FunctionId::maximum, kBool | kMask, "($0 | $1)"},
    {FunctionId::minimum, kBool | kMask, "($0 & $1)"},
    {FunctionId::fmax, kBool | kMask, "($0 | $1)"},
    {FunctionId::fmin, kBool | kMask, "($0 & $1)"},
    {FunctionId::where, kBool, "($0 ? $1 : $2)"},
    {FunctionId::isreal, kScalar, "1"},
    {FunctionId::isreal, kMask, "(~($0 & 0))"},
    {FunctionId::isreal, kIntegerLanes, "(($0 & 0) == 0)"},
    {FunctionId::isfinite, kMask, "(~($0 & 0))"},
    {FunctionId::isfinite, kIntegerLanes, "(($0 & 0) == 0)"},
    {FunctionId::isinf, kMask, "($0 & 0)"},
    {FunctionId::isinf, kIntegerLanes, "(($0 & 0) != 0)"},
    {FunctionId::isnan, kMask, "($0 & 0)"},
    {FunctionId::isnan, kIntegerLanes, "(($0 & 0) != 0)"},
    {FunctionId::isneginf, kMask, "($0 & 0)"},
    {FunctionId::isneginf, kIntegerLanes, "(($0 & 0) != 0)"},
    {FunctionId::isposinf, kMask, "($0 & 0)"},
    {FunctionId::isposinf, kIntegerLanes, "(($0 & 0) != 0)"},
    {FunctionId::signbit, kMask, "($0 & 0)"},
    {FunctionId::signbit, kIntegerLanes, "($0 < 0)"},
    {FunctionId::frac, kIntegerLanes, "($0 & 0)"},
    {FunctionId::isfinite, kInteger | kBool, "1"},
    {FunctionId::isinf, kInteger | kBool, "0"},
    {FunctionId::isnan, kInteger | kBool, "0"},
    {FunctionId::isneginf, kInteger | kBool, "0"},
    {FunctionId::isposinf, kInteger | kBool, "0"},
    {FunctionId::signbit, kInteger, "($0 < 0)"},
    {FunctionId::signbit, kBool, "0"},
    {FunctionId::ceil, kInteger | kIntegerLanes, "$0"},
    {FunctionId::floor, kInteger | kIntegerLanes, "$0"},
    {FunctionId::round, kInteger | kIntegerLanes, "$0"},
    {FunctionId::trunc, kInteger | kIntegerLanes, "$0"},
    {FunctionId::frac, kInteger, "0"},
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
  const bool is_number = operand.type != DataType::Bool || operand.lanes == 1 || id == FunctionId::where;
  return is_number && hasHelper(Dialect::C, helperOf(id, operand));
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
