#include "host/ir/text/generic_form.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/host/hir_alias_select.h"
#include "ir/ops/host/hir_alias_slice.h"

namespace tokamak {

namespace {

bool isResult(FieldRole role) { return role == FieldRole::Result || role == FieldRole::ResultList; }

bool isAbsent(const FieldValue& value) {
  return std::visit(
      []<class T>(const T& v) {
        constexpr bool is_segment = std::is_same_v<T, std::shared_ptr<const HostSegment>>;
        if constexpr (std::is_pointer_v<T> || is_segment)
          return v == nullptr;
        else
          return std::is_same_v<T, std::monostate>;
      },
      value);
}

// A host view names its axis by the axis itself.
const Axes* axesNamed(const Expr& expr, const Field& field) {
  const bool is_view = expr.is<HirAliasSelect>() || expr.is<HirAliasSlice>();
  if (!is_view || field.name != "axis" || expr.inputs().empty()) return nullptr;
  const TensorView* in = asTensor(expr.input(0));
  return in == nullptr ? nullptr : &in->logical();
}

}  // namespace

std::string genericArguments(TextWriter& writer, const Expr& expr) {
  std::vector<std::string> parts;
  for (const Field& field : fieldsOf(expr)) {
    const bool is_left_out = isResult(field.role) || field.role == FieldRole::Spelling || isAbsent(field.value);
    if (is_left_out) continue;
    if (field.role == FieldRole::Operand) {
      parts.push_back(writer.value(field.value));
      continue;
    }
    const Axes* axes = axesNamed(expr, field);
    parts.push_back(fmt::format(
        "{} = {}", field.name,
        axes != nullptr ? writer.axisAt(*axes, std::get<int64_t>(field.value)) : writer.value(field.value)));
  }
  return joined(parts);
}

Fields readGenericArguments(TextReader& reader, OpKind kind) {
  TokenStream& tokens = reader.tokens();
  const Fields& defaults = defaultFields(kind);
  Fields fields;
  bool is_first = true;
  const auto separate = [&] {
    if (!is_first) tokens.expect(",");
    is_first = false;
  };
  const TensorView* first = nullptr;
  for (const Field& field : defaults) {
    if (field.role != FieldRole::Operand) continue;
    separate();
    Val* val = reader.val();
    if (first == nullptr) first = asTensor(val);
    fields.push_back({field.role, field.name, val});
  }
  while (!tokens.at(")")) {
    separate();
    const Token& name = tokens.expectIdentifier("the name of an attribute");
    const auto known = std::ranges::find(defaults, name.text, &Field::name);
    const bool is_attribute = known != defaults.end() && !isResult(known->role) && known->role != FieldRole::Operand &&
                              known->role != FieldRole::Spelling && known->role != FieldRole::Body;
    if (!is_attribute) tokens.fail(name, fmt::format("{} has no attribute {}", opInfo(kind).name, describeToken(name)));
    if (std::ranges::find(fields, known->name, &Field::name) != fields.end()) {
      tokens.fail(name, fmt::format("attribute {} is given twice", describeToken(name)));
    }
    tokens.expect("=");
    const bool names_axis =
        (kind == OpKind::HirAliasSelect || kind == OpKind::HirAliasSlice) && known->name == "axis" && first != nullptr;
    FieldValue value = names_axis ? FieldValue{reader.axisPosition(first->logical(), nameOf(*first))}
                                  : reader.value(known->value, known->name);
    fields.push_back({known->role, known->name, std::move(value)});
    if (!tokens.at(",") && !tokens.at(")")) tokens.failExpected("',' or ')'");
  }
  return fields;
}

}  // namespace tokamak
