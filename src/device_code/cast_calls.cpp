// How kernels convert between types: a chain of helpers, or a cast of the language.
#include <fmt/format.h>

#include "device_code/device_code.h"

namespace tokamak {

namespace {

// One conversion after the other: helpers by name, casts of the language as the type's name in parentheses.
struct Step {
  enum class Kind : uint8_t { Helper, Cast, Convert, IsNotZero, MaskToNumber, IsNotZeroMask };
  Kind kind;
  std::string name;
};

Step helper(std::string name) { return {Step::Kind::Helper, std::move(name)}; }

std::string castSuffix(DataType type, int lanes) {
  return lanes == 1 ? std::string(dataTypeName(type)) : fmt::format("{}x{}", dataTypeName(type), lanes);
}

// A cast of the language, of lanes its builtin.
Step cast(DataType to, LaneType from) {
  if (from.lanes == 1) return {Step::Kind::Cast, deviceTypeName(to)};
  std::string own = fmt::format("to_{}_{}", dataTypeName(to), castSuffix(from.type, from.lanes));
  if (from.type != DataType::Bool && hasHelper(Dialect::C, own)) return helper(std::move(own));
  const Step::Kind kind = from.type == DataType::Bool ? Step::Kind::MaskToNumber : Step::Kind::Convert;
  return {kind, deviceTypeName(LaneType(to, from.lanes))};
}

// From a type that is no half type to f32, so that rounding again to 16 bits rounds once.
Step toRoundedOnce(LaneType from) {
  if (from.type == DataType::Bool) return cast(DataType::F32, from);
  return helper(fmt::format("to_odd_{}", castSuffix(from.type, from.lanes)));
}

std::vector<Step> steps(DataType to, LaneType from) {
  if (to == from.type) return {};
  const std::string f32 = castSuffix(DataType::F32, from.lanes);
  std::vector<Step> result;
  LaneType type = from;
  if (isHalfType(type.type)) {
    result.push_back(helper(fmt::format("from_{}_{}", dataTypeName(type.type), f32)));
    type.type = DataType::F32;
  }
  if (type.type == to) return result;
  if (isHalfType(to)) {
    if (type.type != DataType::F32) result.push_back(toRoundedOnce(type));
    result.push_back(helper(fmt::format("to_{}_{}", dataTypeName(to), f32)));
  } else if (to == DataType::Bool) {
    const bool is_one = from.lanes == 1;
    result.push_back({is_one ? Step::Kind::IsNotZero : Step::Kind::IsNotZeroMask,
                      deviceTypeName(LaneType(DataType::Bool, from.lanes, from.mask_bytes))});
  } else if (isFloatingType(type.type) && isIntegerType(to)) {
    result.push_back(helper(fmt::format("to_{}_{}", dataTypeName(to), castSuffix(type.type, type.lanes))));
  } else {
    result.push_back(cast(to, type));
  }
  return result;
}

}  // namespace

std::string castCall(DataType to, LaneType from, std::string_view value) {
  std::string result(value);
  for (const Step& step : steps(to, from)) {
    switch (step.kind) {
      case Step::Kind::Helper: result = fmt::format("tk_{}({})", step.name, result); break;
      case Step::Kind::Cast: result = fmt::format("(({}){})", step.name, result); break;
      case Step::Kind::Convert: result = fmt::format("__builtin_convertvector({}, {})", result, step.name); break;
      case Step::Kind::IsNotZero: result = fmt::format("({} != 0)", result); break;
      case Step::Kind::MaskToNumber:
        // Of integers the negative is as good, and that of a mask that was a bool is what it was read as.
        result = isIntegerType(to) ? fmt::format("(-__builtin_convertvector({}, {}))", result, step.name)
                                   : fmt::format("__builtin_convertvector({} & 1, {})", result, step.name);
        break;
      case Step::Kind::IsNotZeroMask:
        result = fmt::format("__builtin_convertvector({} != 0, {})", result, step.name);
        break;
    }
  }
  return result;
}

std::vector<std::string> castHelpers(DataType to, LaneType from) {
  std::vector<std::string> helpers;
  for (const Step& step : steps(to, from)) {
    if (step.kind == Step::Kind::Helper) helpers.push_back(step.name);
  }
  return helpers;
}

}  // namespace tokamak
