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
  std::optional<FieldValue> fit(double) const {
    if (const auto* integer = std::get_if<int64_t>(&from)) return static_cast<double>(*integer);
    return std::nullopt;
  }
  std::optional<FieldValue> fit(const std::vector<Val*>&) const {
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
  return std::holds_alternative<std::monostate>(value);
}

std::string namesOf(const Fields& fields) {
  std::string text;
  for (const Field& field : fields) {
    if (!isArgument(field.role) || field.role == FieldRole::Spelling) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", field.name);
  }
  return text;
}

}  // namespace

bool isArgument(FieldRole role) {
  return role != FieldRole::Result && role != FieldRole::ResultList && role != FieldRole::Body;
}

FieldValue fitArgument(Fusion& fusion, std::string_view op, const Field& field, const FieldValue& value) {
  auto fitted = std::visit(Fitter{fusion, value}, field.value);
  std::string names;
  if (const auto* pattern = std::get_if<EnumValue>(&field.value); pattern != nullptr && !fitted) {
    names = fmt::format(" of {}", fmt::join(pattern->names, ", "));
  }
  TK_REQUIRE(fitted.has_value(), Definition, "{}: '{}' must be {}{}, got {}", op, field.name,
             kForms[field.value.index()], names, kForms[value.index()]);
  return *std::move(fitted);
}

Expr* defineOp(Fusion& fusion, const OpName& name, std::span<const Argument> arguments) {
  const Fields& pattern = defaultFields(name.kind);
  const std::string_view op = name.spelling ? name.spelling->name() : opInfo(name.kind).name;
  std::vector<bool> is_given(pattern.size(), false);
  Fields fields;
  if (name.spelling) {
    const auto spelling = std::ranges::find(pattern, FieldRole::Spelling, &Field::role);
    is_given[static_cast<size_t>(spelling - pattern.begin())] = true;
    fields.push_back({FieldRole::Spelling, spelling->name, *name.spelling});
  }
  for (const Argument& argument : arguments) {
    size_t i = 0;
    while (i < pattern.size() && (!isArgument(pattern[i].role) ||
                                  (argument.name.empty() ? is_given[i] : pattern[i].name != argument.name))) {
      ++i;
    }
    TK_REQUIRE(i < pattern.size(), Definition, "{}: {} '{}'; it takes {}", op,
               argument.name.empty() ? "too many arguments:" : "no argument is called", argument.name, namesOf(pattern));
    TK_REQUIRE(!is_given[i], Definition, "{}: argument '{}' is given twice", op, pattern[i].name);
    is_given[i] = true;
    if (isAbsent(argument.value)) continue;
    fields.push_back({pattern[i].role, pattern[i].name, fitArgument(fusion, op, pattern[i], argument.value)});
  }
  return defineExpr(fusion, name.kind, fields);
}

Fusion& fusionOf(std::string_view op, std::span<const Argument> arguments) {
  for (const Argument& argument : arguments) {
    const auto fusionIn = [](const auto& value) -> Fusion* {
      using T = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<T, Val*> || std::is_same_v<T, Scalar*>) return value != nullptr ? &value->fusion() : nullptr;
      else if constexpr (std::is_same_v<T, std::vector<Val*>> || std::is_same_v<T, std::vector<Scalar*>>) {
        return value.empty() ? nullptr : &value.front()->fusion();
      } else return nullptr;
    };
    if (Fusion* fusion = std::visit(fusionIn, argument.value)) return *fusion;
  }
  TK_RAISE(Definition, "{}: no argument belongs to a fusion; name the fusion as the first argument", op);
}

TensorView* defining::defineOne(Fusion* fusion, OpKind kind, std::vector<Argument> arguments) {
  Fusion& owner = fusion != nullptr ? *fusion : fusionOf(opInfo(kind).name, arguments);
  const Expr* expr = defineOp(owner, {kind, std::nullopt}, arguments);
  TK_CHECK(expr->outputs().size() == 1 && asTensor(expr->output(0)) != nullptr, "{} gives more than one tensor",
           expr->name());
  return asTensor(expr->output(0));
}

}  // namespace tokamak
