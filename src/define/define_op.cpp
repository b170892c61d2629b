#include "define/define_op.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "ir/fusion.h"
#include "ir/visit.h"

namespace tokamak {

namespace {

// What a field of each form is called in messages, by the alternative of FieldValue it holds.
constexpr std::string_view kForms[] = {
    "nothing", "a tensor", "a list of tensors", "a scalar or number", "a list of scalars or integers", "an axis",
    "an integer", "true or false", "a number", "a text", "a type", "a name", "a list of integers",
    "a list of true and false", "a body", "a host unit"};
static_assert(std::size(kForms) == std::variant_size_v<FieldValue>);

// The argument's conversions to the form of its field; nothing when there is none.
struct Fitter {
  Fusion& fusion;
  const FieldValue& from;

  template <class T>
  std::optional<FieldValue> operator()(const T& pattern) const {
    if (const auto* same = std::get_if<T>(&from)) return *same;
    return fit(pattern);
  }

 private:
  template <class T>
  std::optional<FieldValue> fit(const T&) const {
    return std::nullopt;
  }
  std::optional<FieldValue> fit(Val*) const {
    if (const auto scalar = toScalar()) return static_cast<Val*>(*scalar);
    return std::nullopt;
  }
  std::optional<FieldValue> fit(Scalar*) const {
    if (const auto scalar = toScalar()) return *scalar;
    return std::nullopt;
  }
  std::optional<FieldValue> fit(const double&) const {
    if (const auto* integer = std::get_if<int64_t>(&from)) return static_cast<double>(*integer);
    return std::nullopt;
  }
  std::optional<FieldValue> fit(const int64_t&) const {
    const auto* scalar = std::get_if<Scalar*>(&from);
    if (scalar == nullptr || !(*scalar)->constantInt()) return std::nullopt;
    return *(*scalar)->constantInt();
  }
  std::optional<FieldValue> fit(const std::vector<bool>&) const {
    if (isEmptyList()) return std::vector<bool>{};
    return std::nullopt;
  }
  std::optional<FieldValue> fit(const std::vector<Val*>&) const {
    if (isEmptyList()) return std::vector<Val*>{};
    if (const auto* scalars = std::get_if<std::vector<Scalar*>>(&from)) {
      return std::vector<Val*>(scalars->begin(), scalars->end());
    }
    if (const auto* val = std::get_if<Val*>(&from)) return std::vector<Val*>{*val};
    return std::nullopt;
  }
  std::optional<FieldValue> fit(const std::vector<Scalar*>&) const {
    std::vector<Scalar*> scalars;
    if (const auto* integers = std::get_if<std::vector<int64_t>>(&from)) {
      for (const int64_t integer : *integers) scalars.push_back(fusion.constant(integer));
      return scalars;
    }
    if (const auto scalar = toScalar()) return std::vector<Scalar*>{*scalar};
    const auto* vals = std::get_if<std::vector<Val*>>(&from);
    if (vals == nullptr) return std::nullopt;
    for (Val* val : *vals) {
      if (asScalar(val) == nullptr) return std::nullopt;
      scalars.push_back(asScalar(val));
    }
    return scalars;
  }
  std::optional<FieldValue> fit(const std::vector<int64_t>&) const {
    const auto* scalars = std::get_if<std::vector<Scalar*>>(&from);
    if (const auto* integer = std::get_if<int64_t>(&from)) return std::vector<int64_t>{*integer};
    if (scalars == nullptr) return std::nullopt;
    std::vector<int64_t> integers;
    for (const Scalar* scalar : *scalars) {
      if (!scalar->constantInt()) return std::nullopt;
      integers.push_back(*scalar->constantInt());
    }
    return integers;
  }
  std::optional<FieldValue> fit(const EnumValue& pattern) const {
    const auto* name = std::get_if<std::string>(&from);
    if (name == nullptr) return std::nullopt;
    const auto found = std::ranges::find(pattern.names, *name);
    if (found == pattern.names.end()) return std::nullopt;
    return EnumValue{static_cast<size_t>(found - pattern.names.begin()), pattern.names};
  }

  // A list without elements is written the same way whatever it would hold.
  bool isEmptyList() const {
    const auto* integers = std::get_if<std::vector<int64_t>>(&from);
    return integers != nullptr && integers->empty();
  }

  std::optional<Scalar*> toScalar() const {
    if (const auto* scalar = std::get_if<Scalar*>(&from)) return *scalar;
    if (const auto* val = std::get_if<Val*>(&from); val != nullptr && asScalar(*val) != nullptr) return asScalar(*val);
    if (const auto* integer = std::get_if<int64_t>(&from)) return fusion.constant(*integer);
    if (const auto* number = std::get_if<double>(&from)) return fusion.constant(*number, DataType::F64);
    if (const auto* flag = std::get_if<bool>(&from)) return fusion.constant(*flag, DataType::Bool);
    return std::nullopt;
  }
};

bool isAbsent(const FieldValue& value) {
  if (const auto* val = std::get_if<Val*>(&value)) return *val == nullptr;
  if (const auto* scalar = std::get_if<Scalar*>(&value)) return *scalar == nullptr;
  return std::holds_alternative<std::monostate>(value);
}

bool isParameter(FieldRole role) {
  return role != FieldRole::Result && role != FieldRole::ResultList && role != FieldRole::Body &&
         role != FieldRole::Spelling;
}

std::string namesOf(std::span<const Parameter> parameters) {
  std::string text;
  for (const Parameter& parameter : parameters) text += fmt::format("{}{}", text.empty() ? "" : ", ", parameter.name);
  return text.empty() ? "none" : text;
}

Fusion* fusionIn(const FieldValue& argument) {
  const auto search = [](const auto& value) -> Fusion* {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, Val*> || std::is_same_v<T, Scalar*>) return value != nullptr ? &value->fusion() : nullptr;
    else if constexpr (std::is_same_v<T, std::vector<Val*>> || std::is_same_v<T, std::vector<Scalar*>>) {
      return value.empty() ? nullptr : &value.front()->fusion();
    } else return nullptr;
  };
  return std::visit(search, argument);
}

}  // namespace

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
      i = static_cast<size_t>(std::ranges::find(parameters, argument.name, &Parameter::name) - parameters.begin());
      TK_REQUIRE(i < parameters.size(), Definition, "{}: no argument is called '{}'; it takes {}", call, argument.name,
                 namesOf(parameters));
    }
    TK_REQUIRE(!is_given[i], Definition, "{}: argument '{}' is given twice", call, parameters[i].name);
    is_given[i] = true;
    if (!isAbsent(argument.value)) values[i] = argument.value;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    TK_REQUIRE(!parameters[i].is_required || !isAbsent(values[i]), Definition, "{}: argument '{}' is missing; it takes {}",
               call, parameters[i].name, namesOf(parameters));
  }
  return values;
}

FieldValue fitArgument(Fusion& fusion, std::string_view call, std::string_view parameter, const FieldValue& pattern,
                       const FieldValue& value) {
  auto fitted = std::visit(Fitter{fusion, value}, pattern);
  std::string names;
  if (const auto* names_of = std::get_if<EnumValue>(&pattern)) names = fmt::format(": {}", fmt::join(names_of->names, ", "));
  TK_REQUIRE(fitted.has_value(), Definition, "{}: '{}' must be {}{}; got {}", call, parameter, kForms[pattern.index()], names,
             kForms[value.index()]);
  return *std::move(fitted);
}

std::vector<Parameter> parametersOf(OpKind kind) {
  std::vector<Parameter> parameters;
  for (const Field& field : defaultFields(kind)) {
    if (!isParameter(field.role)) continue;
    const bool is_operand = field.role == FieldRole::Operand || field.role == FieldRole::OperandList;
    parameters.push_back({field.name, is_operand ? FieldValue{} : field.value, is_operand});
  }
  return parameters;
}

Expr* defineOp(Fusion& fusion, const OpName& name, std::span<const CallArgument> arguments) {
  const std::string_view call = name.spelling ? name.spelling->name() : opInfo(name.kind).name;
  const std::vector<FieldValue> values = bindArguments(call, parametersOf(name.kind), arguments);
  Fields fields;
  size_t next = 0;
  for (const Field& field : defaultFields(name.kind)) {
    if (field.role == FieldRole::Spelling && name.spelling) fields.push_back({field.role, field.name, *name.spelling});
    if (!isParameter(field.role)) continue;
    const FieldValue& value = values[next++];
    if (!isAbsent(value)) fields.push_back({field.role, field.name, fitArgument(fusion, call, field.name, field.value, value)});
  }
  return defineExpr(fusion, name.kind, fields);
}

TensorView* defining::defineOne(Fusion* fusion, OpKind kind, std::vector<CallArgument> arguments) {
  for (size_t i = 0; i < arguments.size() && fusion == nullptr; ++i) fusion = fusionIn(arguments[i].value);
  TK_REQUIRE(fusion != nullptr, Definition, "{}: no argument belongs to a fusion; name the fusion as the first argument",
             opInfo(kind).name);
  const Expr* expr = defineOp(*fusion, {kind, std::nullopt}, arguments);
  TK_CHECK(expr->outputs().size() == 1 && asTensor(expr->output(0)) != nullptr, "{} gives more than one tensor",
           expr->name());
  return asTensor(expr->output(0));
}

}  // namespace tokamak
