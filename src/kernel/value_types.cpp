#include "kernel/value_types.h"

#include <fmt/format.h>

namespace tokamak::kir {

namespace {

std::optional<std::string> problemOfApply(const Value& value) {
  const FunctionInfo& info = functionInfo(value.function);
  if (value.operands.size() != static_cast<size_t>(info.arity))
    return fmt::format("{} has {} operands, not {}", info.name, value.operands.size(), info.arity);
  const DataType last = value.operands.back()->dtype;
  const auto types = functionTypes(value.function, last);
  if (!types || types->operand != last) return fmt::format("{} does not compute in {}", info.name, dataTypeName(last));
  if (types->result != value.dtype)
    return fmt::format("{} of {} gives {}, not {}", info.name, dataTypeName(last), dataTypeName(types->result),
                       dataTypeName(value.dtype));
  for (size_t i = 0; i < value.operands.size(); ++i) {
    const bool is_condition = info.rule == TypeRule::Choose && i == 0;
    const DataType expected = is_condition ? DataType::Bool : types->operand;
    const DataType found = value.operands[i]->dtype;
    if (found != expected)
      return fmt::format("operand {} of {} is {}, not {}", i, info.name, dataTypeName(found), dataTypeName(expected));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> problemOfValue(const Value& value) {
  const auto operandType = [&](size_t i) { return value.operands[i]->dtype; };
  switch (value.kind) {
    case ValueKind::Load:
      if (value.dtype == value.tensor->dtype()) return std::nullopt;
      return fmt::format("{} is {}, but read as {}", nameOf(*value.tensor), dataTypeName(value.tensor->dtype()),
                         dataTypeName(value.dtype));
    case ValueKind::Variable:
      if (value.dtype == value.variable->dtype) return std::nullopt;
      return fmt::format("{} is {}, but used as {}", value.variable->name, dataTypeName(value.variable->dtype),
                         dataTypeName(value.dtype));
    case ValueKind::Number: return std::nullopt;
    case ValueKind::Apply: return problemOfApply(value);
    case ValueKind::Cast:
      if (value.operands.size() == 1 && operandType(0) != value.dtype) return std::nullopt;
      return fmt::format("a cast to {} of what has this type", dataTypeName(value.dtype));
    case ValueKind::Choose:
      if (value.operands.size() == 2 && operandType(0) == value.dtype && operandType(1) == value.dtype)
        return std::nullopt;
      return fmt::format("a choice of type {} has operands of another type", dataTypeName(value.dtype));
  }
  return std::nullopt;
}

}  // namespace tokamak::kir
