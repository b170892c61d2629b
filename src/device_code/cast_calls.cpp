// How kernels convert between types: a chain of helpers, or a cast of the language.
#include <fmt/format.h>

#include "base/error.h"
#include "device_code/device_code.h"

namespace tokamak {

namespace {

// One conversion after the other: helpers by name, casts of the language as the type's name in parentheses.
struct Step {
  enum class Kind : uint8_t { Helper, Cast, IsNotZero };
  Kind kind;
  std::string name;
};

Step helper(std::string name) { return {Step::Kind::Helper, std::move(name)}; }
Step cast(DataType to) { return {Step::Kind::Cast, deviceTypeName(to)}; }

std::string suffixOf(int lanes) { return lanes == 1 ? "f32" : fmt::format("f32x{}", lanes); }

// From a type that is no half type to f32, so that rounding again to 16 bits rounds once.
Step toRoundedOnce(DataType from) {
  if (from == DataType::Bool) return cast(DataType::F32);
  return helper(fmt::format("to_odd_{}", dataTypeName(from)));
}

std::vector<Step> steps(DataType to, LaneType from) {
  if (to == from.type) return {};
  const std::string f32 = suffixOf(from.lanes);
  std::vector<Step> result;
  DataType type = from.type;
  if (isHalfType(type)) {
    result.push_back(helper(fmt::format("from_{}_{}", dataTypeName(type), f32)));
    type = DataType::F32;
  }
  if (type == to) return result;
  if (isHalfType(to)) {
    if (type != DataType::F32) result.push_back(toRoundedOnce(type));
    result.push_back(helper(fmt::format("to_{}_{}", dataTypeName(to), f32)));
  } else if (to == DataType::Bool) {
    result.push_back({Step::Kind::IsNotZero, ""});
  } else if (isFloatingType(type) && isIntegerType(to)) {
    result.push_back(helper(fmt::format("to_{}_{}", dataTypeName(to), dataTypeName(type))));
  } else {
    result.push_back(cast(to));
  }
  return result;
}

void requireCast(DataType to, LaneType from) {
  TK_REQUIRE(hasCast(to, from), Unsupported, "cast: kernels do not convert {} lanes of {} to {} at once", from.lanes,
             dataTypeName(from.type), dataTypeName(to));
}

}  // namespace

bool hasCast(DataType to, LaneType from) {
  const auto isFloat = [](DataType type) { return type == DataType::F32 || isHalfType(type); };
  return from.lanes == 1 || to == from.type || (isFloat(to) && isFloat(from.type));
}

std::string castCall(DataType to, LaneType from, std::string_view value) {
  requireCast(to, from);
  std::string result(value);
  for (const Step& step : steps(to, from)) {
    switch (step.kind) {
      case Step::Kind::Helper: result = fmt::format("tk_{}({})", step.name, result); break;
      case Step::Kind::Cast: result = fmt::format("(({}){})", step.name, result); break;
      case Step::Kind::IsNotZero: result = fmt::format("({} != 0)", result); break;
    }
  }
  return result;
}

std::vector<std::string> castHelpers(DataType to, LaneType from) {
  requireCast(to, from);
  std::vector<std::string> helpers;
  for (const Step& step : steps(to, from)) {
    if (step.kind == Step::Kind::Helper) helpers.push_back(step.name);
  }
  return helpers;
}

}  // namespace tokamak
