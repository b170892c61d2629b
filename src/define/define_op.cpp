#include "define/define_op.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "ir/fusion.h"
#include "ir/text/op_arguments.h"
#include "ir/text/scalar_text.h"

namespace tokamak {

namespace {

bool isAbsent(const FieldValue& value) {
  if (const auto* val = std::get_if<Val*>(&value)) return *val == nullptr;
  if (const auto* scalar = std::get_if<Scalar*>(&value)) return *scalar == nullptr;
  return std::holds_alternative<std::monostate>(value);
}

std::string namesOf(std::span<const Parameter> parameters) {
  std::string text;
  for (const Parameter& parameter : parameters) text += fmt::format("{}{}", text.empty() ? "" : ", ", parameter.name);
  return text.empty() ? "none" : text;
}

// The parameter that a name means: axis= and dim= are one axis of axes=, and dim= is axis= elsewhere.
size_t parameterNamed(std::span<const Parameter> parameters, std::string_view name) {
  const auto find = [&](std::string_view wanted) {
    return static_cast<size_t>(std::ranges::find(parameters, wanted, &Parameter::name) - parameters.begin());
  };
  const size_t exact = find(name);
  const bool is_axis = name == "axis" || name == "dim";
  if (exact < parameters.size() || !is_axis) return exact;
  return name == "dim" && find("axis") < parameters.size() ? find("axis") : find("axes");
}

std::string suggestedName(std::span<const Parameter> parameters, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  return suggestion(name, names);
}

// One number stands for a list of one where axes are listed.
FieldValue listedAxis(const Parameter& parameter, const FieldValue& value) {
  const auto* axis = std::get_if<int64_t>(&value);
  return axis != nullptr && parameter.name == "axes" ? FieldValue{std::vector<int64_t>{*axis}} : value;
}

Fusion* fusionIn(const FieldValue& argument) {
  const auto search = [](const auto& value) -> Fusion* {
    using Field = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Field, Val*> || std::is_same_v<Field, Scalar*>)
      return value != nullptr ? &value->fusion() : nullptr;
    else if constexpr (std::is_same_v<Field, std::vector<Val*>> || std::is_same_v<Field, std::vector<Scalar*>>) {
      return value.empty() ? nullptr : &value.front()->fusion();
    } else
      return nullptr;
  };
  return std::visit(search, argument);
}

ArgumentKind kindOfField(const Field& field) {
  if (field.role == FieldRole::Operand || field.role == FieldRole::OptionalOperand) return ArgumentKind::Tensor;
  if (field.role == FieldRole::OperandList) return ArgumentKind::Tensors;
  if (field.role == FieldRole::AxisNumber) return ArgumentKind::Integer;
  if (field.role == FieldRole::AxisNumbers) return ArgumentKind::Integers;
  const auto ofValue = [](const auto& value) {
    using Form = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Form, Scalar*>) return ArgumentKind::Scalar;
    if constexpr (std::is_same_v<Form, std::vector<Scalar*>>) return ArgumentKind::Scalars;
    if constexpr (std::is_same_v<Form, int64_t>) return ArgumentKind::Integer;
    if constexpr (std::is_same_v<Form, std::vector<int64_t>>) return ArgumentKind::Integers;
    if constexpr (std::is_same_v<Form, double>) return ArgumentKind::Real;
    if constexpr (std::is_same_v<Form, bool>) return ArgumentKind::Flag;
    if constexpr (std::is_same_v<Form, std::vector<bool>>) return ArgumentKind::Flags;
    if constexpr (std::is_same_v<Form, DataType>) return ArgumentKind::Type;
    if constexpr (std::is_same_v<Form, std::string> || std::is_same_v<Form, EnumValue>) return ArgumentKind::Name;
    return ArgumentKind::Value;
  };
  return std::visit(ofValue, field.value);
}

}  // namespace

std::string_view argumentKindName(ArgumentKind kind) {
  constexpr std::string_view kNames[] = {"tensor",   "tensors", "value", "scalar", "scalars", "integer",
                                         "integers", "real",    "flag",  "flags",  "type",    "name"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<FieldValue> bindArguments(std::string_view call, std::span<const Parameter> parameters,
                                      std::span<const CallArgument> arguments) {
  std::vector<FieldValue> values;
  for (const Parameter& parameter : parameters) values.push_back(parameter.fallback);
  std::vector<bool> is_given(parameters.size(), false);
  size_t position = 0;
  for (const CallArgument& argument : arguments) {
    size_t i = position;
    if (argument.name.empty()) {
      TK_REQUIRE(i < parameters.size(), Definition, "{}: too many arguments; it takes {}", call, namesOf(parameters));
      ++position;
    } else {
      i = parameterNamed(parameters, argument.name);
      TK_REQUIRE(i < parameters.size(), Definition, "{}: no argument is called '{}'; it takes {}{}", call,
                 argument.name, namesOf(parameters), suggestedName(parameters, argument.name));
    }
    TK_REQUIRE(!is_given[i], Definition, "{}: argument '{}' is given twice", call, parameters[i].name);
    is_given[i] = true;
    if (!isAbsent(argument.value)) values[i] = listedAxis(parameters[i], argument.value);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    TK_REQUIRE(!parameters[i].is_required || !isAbsent(values[i]), Definition,
               "{}: argument '{}' is missing; it takes {}", call, parameters[i].name, namesOf(parameters));
  }
  return values;
}

FieldValue fitArgument(Fusion& fusion, std::string_view call, std::string_view parameter, const FieldValue& pattern,
                       const FieldValue& value) {
  auto fitted = fittedArgument(fusion, pattern, value);
  TK_REQUIRE(fitted.has_value(), Definition, "{}: '{}' must be {}; got {}", call, parameter, formOf(pattern),
             formOf(value));
  return *std::move(fitted);
}

std::vector<Parameter> parametersOf(OpKind kind) {
  std::vector<Parameter> parameters;
  for (const Field* field : argumentFields(kind)) {
    const bool is_operand = field->role == FieldRole::Operand || field->role == FieldRole::OperandList;
    parameters.push_back({.name = field->name,
                          .fallback = is_operand ? FieldValue{} : field->value,
                          .is_required = is_operand,
                          .kind = kindOfField(*field)});
  }
  return parameters;
}

Expr* defineOp(Fusion& fusion, const OpName& name, std::span<const CallArgument> arguments) {
  return defineExpr(fusion, name.kind, fieldsFromArguments(fusion, name, arguments));
}

TensorView* defining::defineOne(Fusion* fusion, OpKind kind, std::vector<CallArgument> arguments) {
  for (size_t i = 0; i < arguments.size() && fusion == nullptr; ++i) fusion = fusionIn(arguments[i].value);
  TK_REQUIRE(fusion != nullptr, Definition,
             "{}: no argument belongs to a fusion; name the fusion as the first argument", opInfo(kind).name);
  const Expr* expr = defineOp(*fusion, {kind, std::nullopt}, arguments);
  TK_CHECK(expr->outputs().size() == 1 && asTensor(expr->output(0)) != nullptr, "{} gives more than one tensor",
           expr->name());
  return asTensor(expr->output(0));
}

}  // namespace tokamak
