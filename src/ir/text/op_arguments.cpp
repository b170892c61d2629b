#include "ir/text/op_arguments.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "ir/fusion.h"
#include "ir/ops/math/full_op.h"
#include "ir/ops/math/iota_op.h"
#include "ir/ops/math/pad_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/text/plain_number.h"
#include "ir/text/scalar_text.h"

namespace tokamak {

namespace {

std::string_view nameOf(const OpName& op) { return op.spelling ? op.spelling->name() : opInfo(op.kind).name; }

// What a field of each form is called in messages, by the alternative of FieldValue that it holds.
constexpr std::string_view kForms[] = {"nothing",
                                       "a tensor",
                                       "a list of tensors",
                                       "a scalar",
                                       "a list of scalars",
                                       "an axis",
                                       "an integer",
                                       "true or false",
                                       "a number",
                                       "a text",
                                       "a type",
                                       "a name",
                                       "a list of integers",
                                       "a list of true and false",
                                       "a body",
                                       "a segment"};
static_assert(std::size(kForms) == std::variant_size_v<FieldValue>);

Scalar* toScalar(Fusion& fusion, const FieldValue& value) {
  if (const auto* scalar = std::get_if<Scalar*>(&value)) return *scalar;
  if (const auto* val = std::get_if<Val*>(&value)) return asScalar(*val);
  if (const auto* integer = std::get_if<int64_t>(&value)) return fusion.constant(*integer);
  if (const auto* number = std::get_if<double>(&value)) return fusion.constant(*number, DataType::F64);
  if (const auto* flag = std::get_if<bool>(&value)) return fusion.constant(*flag, DataType::Bool);
  return nullptr;
}

// A list's elements as scalars; nothing when it is no list of scalars.
std::optional<std::vector<Scalar*>> toScalars(Fusion& fusion, const FieldValue& value) {
  std::vector<Scalar*> scalars;
  if (const auto* list = std::get_if<std::vector<Scalar*>>(&value)) return *list;
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
    for (const int64_t integer : *integers) scalars.push_back(fusion.constant(integer));
    return scalars;
  }
  if (const auto* flags = std::get_if<std::vector<bool>>(&value)) {
    for (const bool flag : *flags) scalars.push_back(fusion.constant(flag, DataType::Bool));
    return scalars;
  }
  return std::nullopt;
}

}  // namespace

std::string_view formOf(const FieldValue& value) {
  const auto* val = std::get_if<Val*>(&value);
  return val != nullptr && asScalar(*val) != nullptr ? "a scalar" : kForms[value.index()];
}

std::optional<FieldValue> fittedArgument(Fusion& fusion, const FieldValue& pattern, const FieldValue& value) {
  if (std::holds_alternative<Val*>(pattern)) {
    if (const auto* val = std::get_if<Val*>(&value)) return *val;
    if (Scalar* scalar = toScalar(fusion, value)) return static_cast<Val*>(scalar);
    return std::nullopt;
  }
  if (std::holds_alternative<Scalar*>(pattern)) {
    Scalar* scalar = toScalar(fusion, value);
    return scalar != nullptr ? std::optional<FieldValue>(scalar) : std::nullopt;
  }
  if (std::holds_alternative<std::vector<Scalar*>>(pattern)) return toScalars(fusion, value);
  if (std::holds_alternative<std::vector<Val*>>(pattern) && !std::holds_alternative<std::vector<Val*>>(value)) {
    const auto scalars = toScalars(fusion, value);
    return scalars ? std::optional<FieldValue>(std::vector<Val*>(scalars->begin(), scalars->end())) : std::nullopt;
  }
  const auto* integers = std::get_if<std::vector<int64_t>>(&value);
  if (std::holds_alternative<std::vector<bool>>(pattern) && integers != nullptr && integers->empty())
    return std::vector<bool>{};
  if (const auto* integer = std::get_if<int64_t>(&value);
      integer != nullptr && std::holds_alternative<double>(pattern)) {
    return static_cast<double>(*integer);
  }
  if (const auto* names = std::get_if<EnumValue>(&pattern)) {
    if (std::holds_alternative<EnumValue>(value)) return value;
    const auto* name = std::get_if<std::string>(&value);
    if (name == nullptr) return std::nullopt;
    const auto found = std::ranges::find(names->names, *name);
    if (found == names->names.end()) return std::nullopt;
    return EnumValue{static_cast<size_t>(found - names->names.begin()), names->names};
  }
  // The only attributes without a value of their own are types.
  const bool fits = pattern.index() == value.index() ||
                    (std::holds_alternative<std::monostate>(pattern) && std::holds_alternative<DataType>(value));
  return fits ? std::optional(value) : std::nullopt;
}

namespace {

std::string legalForm(const Field& field, const FieldValue& value) {
  const auto* names = std::get_if<EnumValue>(&field.value);
  if (std::holds_alternative<std::monostate>(field.value)) return "a type";
  if (names == nullptr)
    return std::string(field.role == FieldRole::OperandList ? "a list of tensors or scalars"
                                                            : kForms[field.value.index()]);
  const auto* written = std::get_if<std::string>(&value);
  const std::vector<std::string_view> known(names->names.begin(), names->names.end());
  return fmt::format("one of {}{}", joined(known), written != nullptr ? suggestion(*written, known) : "");
}

std::string namesOf(const std::vector<const Field*>& fields) {
  std::vector<std::string_view> names;
  for (const Field* field : fields) names.push_back(field->name);
  return fields.empty() ? "none" : joined(names);
}

const Field& fieldNamed(const OpName& op, const std::vector<const Field*>& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &Field::name);
  if (found != fields.end()) return **found;
  std::vector<std::string_view> names;
  for (const Field* field : fields) names.push_back(field->name);
  TK_RAISE(Definition, "{}: there is no argument '{}'; expected {}{}", nameOf(op), name, namesOf(fields),
           suggestion(name, names));
}

// The operands of an elementwise function: plain numbers take the type of the others.
Fields spreadFields(Fusion& fusion, const OpName& op, const Field& field, std::span<const CallArgument> arguments) {
  std::vector<FunctionOperand> forms;
  for (const CallArgument& argument : arguments) {
    TK_REQUIRE(argument.name.empty(), Definition, "{}: there is no argument '{}'; expected operands without names",
               nameOf(op), argument.name);
    const auto* val = std::get_if<Val*>(&argument.value);
    const bool is_number =
        std::holds_alternative<int64_t>(argument.value) || std::holds_alternative<double>(argument.value);
    const Scalar* scalar = is_number ? nullptr : toScalar(fusion, argument.value);
    TK_REQUIRE(is_number || scalar != nullptr || val != nullptr, Definition,
               "{}: an operand is {}; expected a tensor or a scalar", nameOf(op), formOf(argument.value));
    FunctionOperand form;
    if (!is_number) form.dtype = scalar != nullptr ? scalar->dtype() : (*val)->dtype();
    form.is_floating_number = std::holds_alternative<double>(argument.value);
    forms.push_back(form);
  }
  std::vector<Val*> operands;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Scalar* scalar = toScalar(fusion, arguments[i].value);
    if (scalar == nullptr) {
      operands.push_back(std::get<Val*>(arguments[i].value));
      continue;
    }
    if (!forms[i].dtype && op.kind == kindOf<PointwiseOp>) {
      const auto type = plainNumberType(static_cast<FunctionId>(op.spelling->index), forms, i);
      if (type) scalar = fusion.constant(scalar->value(), *type);
    }
    operands.push_back(scalar);
  }
  return {{field.role, field.name, std::move(operands)}};
}

// Whether a call may count from the end of an axis, or leave a size open, with a negative number. In pads and in
// tensors made of nothing negative numbers are widths that cut, and values.
bool mayCountFromEnd(OpKind kind) { return kind != kindOf<PadOp> && kind != kindOf<FullOp> && kind != kindOf<IotaOp>; }

// A reduction over all axes is written without any.
bool namesAxes(std::span<const CallArgument> arguments) {
  return std::ranges::any_of(arguments, [](const CallArgument& argument) {
    const auto* axes = std::get_if<std::vector<int64_t>>(&argument.value);
    return axes != nullptr && !axes->empty();
  });
}

bool hasNegativeNumber(const FieldValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer < 0;
  const auto* integers = std::get_if<std::vector<int64_t>>(&value);
  return integers != nullptr && std::ranges::any_of(*integers, [](int64_t i) { return i < 0; });
}

std::vector<Val*> valsIn(std::span<const CallArgument> arguments) {
  std::vector<Val*> vals;
  for (const CallArgument& argument : arguments) {
    if (const auto* val = std::get_if<Val*>(&argument.value)) vals.push_back(*val);
    if (const auto* scalar = std::get_if<Scalar*>(&argument.value)) vals.push_back(*scalar);
    if (const auto* list = std::get_if<std::vector<Val*>>(&argument.value))
      vals.insert(vals.end(), list->begin(), list->end());
  }
  return vals;
}

// Operands that already have the type the function computes with, and one rank.
bool isExactFunction(FunctionId function, std::span<const CallArgument> arguments) {
  std::vector<FunctionOperand> forms;
  for (const CallArgument& argument : arguments) {
    FunctionOperand form;
    if (const auto* val = std::get_if<Val*>(&argument.value)) form.dtype = (*val)->dtype();
    if (const auto* scalar = std::get_if<Scalar*>(&argument.value)) form.dtype = (*scalar)->dtype();
    if (std::holds_alternative<bool>(argument.value)) form.dtype = DataType::Bool;
    form.is_floating_number = std::holds_alternative<double>(argument.value);
    forms.push_back(form);
  }
  std::optional<size_t> rank;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (forms[i].dtype && forms[i].dtype != plainNumberType(function, forms, i)) return false;
    const auto* val = std::get_if<Val*>(&arguments[i].value);
    const TensorView* tensor = val != nullptr ? asTensor(*val) : nullptr;
    if (tensor == nullptr) continue;
    const size_t own = shapeOf(*tensor).size();
    if (rank && *rank != own) return false;
    rank = own;
  }
  return true;
}

}  // namespace

std::vector<const Field*> argumentFields(OpKind kind) {
  std::vector<const Field*> fields;
  for (const Field& field : defaultFields(kind)) {
    const bool is_argument = field.role != FieldRole::Result && field.role != FieldRole::ResultList &&
                             field.role != FieldRole::Spelling && field.role != FieldRole::Body;
    if (is_argument) fields.push_back(&field);
  }
  return fields;
}

bool hasSpreadOperands(OpKind kind) {
  const auto fields = argumentFields(kind);
  return fields.size() == 1 && fields[0]->role == FieldRole::OperandList;
}

Fields fieldsFromArguments(Fusion& fusion, const OpName& op, std::span<const CallArgument> arguments) {
  const auto known = argumentFields(op.kind);
  Fields fields;
  if (hasSpreadOperands(op.kind)) {
    fields = spreadFields(fusion, op, *known[0], arguments);
  } else {
    size_t position = 0;
    for (const CallArgument& argument : arguments) {
      TK_REQUIRE(!argument.name.empty() || position < known.size(), Definition, "{}: too many arguments; expected {}",
                 nameOf(op), namesOf(known));
      const Field& field = argument.name.empty() ? *known[position++] : fieldNamed(op, known, argument.name);
      TK_REQUIRE(std::ranges::find(fields, field.name, &Field::name) == fields.end(), Definition,
                 "{}: the argument '{}' is given twice; expected it once", nameOf(op), field.name);
      FieldValue value;
      if (!std::holds_alternative<std::monostate>(argument.value)) {
        auto fitted = fittedArgument(fusion, field.value, argument.value);
        TK_REQUIRE(fitted.has_value(), Definition, "{}: the argument '{}' is {}; expected {}", nameOf(op), field.name,
                   formOf(argument.value), legalForm(field, argument.value));
        value = *std::move(fitted);
      }
      fields.push_back({field.role, field.name, std::move(value)});
    }
  }
  for (const Field& field : defaultFields(op.kind)) {
    if (field.role == FieldRole::Spelling && op.spelling) fields.push_back({field.role, field.name, *op.spelling});
  }
  return fields;
}

bool isExactCall(const OpName& op, std::span<const CallArgument> arguments, std::span<const DataType> results) {
  const auto known = argumentFields(op.kind);
  std::optional<DataType> dtype;
  for (const CallArgument& argument : arguments) {
    const bool is_known = argument.name.empty() || std::ranges::find(known, argument.name, [](const Field* f) {
                                                     return f->name;
                                                   }) != known.end();
    if (!is_known) return false;
    if (const auto* type = std::get_if<DataType>(&argument.value)) dtype = *type;
  }
  if (op.kind == kindOf<PointwiseOp>) return isExactFunction(static_cast<FunctionId>(op.spelling->index), arguments);
  const auto isNegative = [](const CallArgument& argument) { return hasNegativeNumber(argument.value); };
  if (mayCountFromEnd(op.kind) && std::ranges::any_of(arguments, isNegative)) return false;
  const bool is_reduction = op.kind == kindOf<ReductionOp>;
  if (is_reduction && !namesAxes(arguments)) return false;
  for (const Val* val : valsIn(arguments)) {
    if (val->kind() != ValKind::Tensor || dtype) continue;
    if (is_reduction && computeType(val->dtype()) != val->dtype()) return false;
    if (std::ranges::any_of(results, [&](DataType type) { return type != val->dtype(); })) return false;
  }
  return !dtype || std::ranges::all_of(results, [&](DataType type) { return type == *dtype; });
}

namespace {

class OpResolver final : public CallResolver {
 public:
  std::optional<std::vector<Val*>> call(Fusion& fusion, std::string_view name,
                                        std::span<const CallArgument> arguments) const override {
    const auto op = findOp(name);
    if (!op) return std::nullopt;
    const Expr* expr = defineExpr(fusion, op->kind, fieldsFromArguments(fusion, *op, arguments));
    return std::vector<Val*>(expr->outputs().begin(), expr->outputs().end());
  }

  std::vector<std::string_view> names() const override {
    std::vector<std::string_view> names;
    for (const OpKind kind : allOpKinds()) {
      if (opList(kind) != OpList::Math) continue;
      const Fields& fields = defaultFields(kind);
      const auto spelling = std::ranges::find(fields, FieldRole::Spelling, &Field::role);
      if (spelling == fields.end()) {
        names.push_back(opInfo(kind).name);
        continue;
      }
      const auto spellings = std::get<EnumValue>(spelling->value).names;
      names.insert(names.end(), spellings.begin(), spellings.end());
    }
    return names;
  }
};

}  // namespace

const CallResolver& opResolver() {
  static const OpResolver resolver;
  return resolver;
}

}  // namespace tokamak
