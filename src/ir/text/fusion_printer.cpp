#include "ir/text/fusion_printer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "ir/fusion.h"
#include "ir/ops/math/pointwise_op.h"
#include "ir/rfactor_chain.h"
#include "ir/text/names.h"
#include "ir/text/op_arguments.h"
#include "ir/text/plain_number.h"
#include "ir/text/type_text.h"

namespace tokamak {

namespace {

class Printer {
 public:
  explicit Printer(const FusionNames& names) : names_(names) {}

  std::string header(const Fusion& fusion) const {
    std::string inputs;
    for (const Val* input : fusion.inputs()) {
      const std::string_view separator = inputs.empty() ? "" : ", ";
      if (input->kind() == ValKind::Tensor)
        inputs += fmt::format("{}{}", separator, typed(static_cast<const TensorView&>(*input)));
      else
        inputs += fmt::format("{}{}: {}", separator, names_.nameOf(static_cast<const Scalar&>(*input)),
                              dataTypeName(input->dtype()));
    }
    const std::vector<Token> name = tokensOf(fusion.name());
    const bool is_word = name.size() == 2 && name[0].kind == TokenKind::Identifier && name[0].text == fusion.name();
    return fmt::format("fusion {}({}) -> {} {{\n", is_word ? fusion.name() : inQuotes(fusion.name()), inputs,
                       outputs(fusion));
  }

  // Symbols that no input's shape declares.
  std::string symbols(const Fusion& fusion) const {
    std::unordered_set<const Scalar*> declared;
    for (const Val* input : fusion.inputs()) {
      if (input->kind() == ValKind::Scalar)
        declared.insert(static_cast<const Scalar*>(input));
      else
        for (const IterDomain* axis : static_cast<const TensorView*>(input)->logical())
          declare(axis->extent(), declared), declare(axis->expandedExtent(), declared);
    }
    std::string text;
    for (const Scalar* symbol : names_.symbols()) {
      if (!declared.contains(symbol))
        text += fmt::format("  symbol {}: {}\n", names_.nameOf(*symbol), dataTypeName(symbol->dtype()));
    }
    return text;
  }

  std::string sizes(const Fusion& fusion) const {
    std::vector<std::string> entries;
    for (const Scalar* symbol : names_.symbols()) {
      const auto found = fusion.defaultSizes().find(const_cast<Scalar*>(symbol));
      if (found != fusion.defaultSizes().end())
        entries.push_back(fmt::format("{} = {}", names_.nameOf(*symbol), found->second));
    }
    return entries.empty() ? "" : fmt::format("sizes {{ {} }}\n", joined(entries));
  }

  std::string statement(const Expr& expr) const {
    std::string results;
    for (Val* output : expr.outputs()) {
      const TensorView* tensor = asTensor(output);
      TK_CHECK(tensor != nullptr, "{}: a result that is no tensor cannot be printed in a fusion", expr.name());
      results += fmt::format("{}{}", results.empty() ? "" : ", ", typed(*tensor));
    }
    const std::string arguments =
        hasSpreadOperands(expr.kind()) ? spreadArguments(expr) : namedArguments(expr.kind(), fieldsOf(expr));
    return fmt::format("{} = {}({})", results, callName(expr), arguments);
  }

  // A reduction that is done in steps stands as the one that the schedule starts from.
  std::string statement(const RfactorChain& chain) const {
    const TensorView& result = *chain.result;
    const Expr& last = *result.definition();
    const std::string type = reducedTypeText(result, chain.parts[0]->domain().root, chain.axes, namer());
    return fmt::format("{}: {} = {}({})", names_.nameOf(result), type, callName(last),
                       namedArguments(last.kind(), fieldsOf(chain)));
  }

  std::string body(const Fusion& fusion) const {
    std::string text;
    for (const Expr* expr : fusion.allExprs()) {
      const TensorView* result = expr->outputs().size() == 1 ? asTensor(expr->output(0)) : nullptr;
      if (result != nullptr && isRfactorPart(*result)) continue;
      const auto chain = result == nullptr ? std::nullopt : rfactorChainOf(*result);
      text += fmt::format("  {}\n", chain ? statement(*chain) : statement(*expr));
    }
    return text;
  }

 private:
  static void declare(const Scalar* scalar, std::unordered_set<const Scalar*>& declared) {
    if (scalar == nullptr || !declared.insert(scalar).second) return;
    for (const Scalar* operand : scalar->operands()) declare(operand, declared);
  }

  SymbolNamer namer() const {
    return [this](const Scalar& symbol) { return names_.nameOf(symbol); };
  }
  std::string text(const Scalar& scalar) const { return scalarText(scalar, namer()); }
  std::string text(const Val& val) const {
    return val.kind() == ValKind::Tensor ? names_.nameOf(static_cast<const TensorView&>(val))
                                         : text(static_cast<const Scalar&>(val));
  }
  std::string typed(const TensorView& tensor) const {
    return fmt::format("{}: {}", names_.nameOf(tensor), tensorTypeText(tensor, namer()));
  }

  std::string outputs(const Fusion& fusion) const {
    std::string list;
    std::unordered_set<const TensorView*> seen;
    for (TensorView* output : fusion.outputs()) {
      list += fmt::format("{}{}", list.empty() ? "" : ", ", names_.nameOf(*output));
      const auto alias = fusion.outputAliases().find(output);
      if (alias == fusion.outputAliases().end() || !seen.insert(output).second) continue;
      list += fmt::format(" aliases {}{}", text(*alias->second.target), alias->second.is_hidden ? " hidden" : "");
    }
    return fusion.outputs().size() == 1 ? list : fmt::format("({})", list);
  }

  // Numbers of the type that a plain number would take are written plainly, all of them or none.
  std::string spreadArguments(const Expr& expr) const {
    const auto isNumber = [](const Val* val) {
      const auto* scalar = val->kind() == ValKind::Scalar ? static_cast<const Scalar*>(val) : nullptr;
      return scalar != nullptr && scalar->isConstant() && !std::holds_alternative<bool>(scalar->value());
    };
    std::vector<FunctionOperand> forms;
    for (const Val* val : expr.inputs()) {
      FunctionOperand form;
      if (isNumber(val))
        form.is_floating_number = isFloatingType(val->dtype());
      else
        form.dtype = val->dtype();
      forms.push_back(form);
    }
    bool is_plain = expr.is<PointwiseOp>();
    for (size_t i = 0; is_plain && i < forms.size(); ++i) {
      if (!forms[i].dtype)
        is_plain = plainNumberType(expr.as<PointwiseOp>()->function, forms, i) == expr.input(i)->dtype();
    }
    std::vector<std::string> list;
    for (const Val* val : expr.inputs()) {
      // bool is no number's plain type, so that then the suffix is always there.
      const DataType plain = is_plain ? val->dtype() : DataType::Bool;
      if (isNumber(val))
        list.push_back(literalText(static_cast<const Scalar*>(val)->value(), val->dtype(), plain));
      else
        list.push_back(text(*val));
    }
    return joined(list);
  }

  std::string namedArguments(OpKind kind, const Fields& fields) const {
    std::vector<std::string> list;
    bool is_positional = true;
    for (const Field* pattern : argumentFields(kind)) {
      const Field& field = *std::ranges::find(fields, pattern->name, &Field::name);
      is_positional = is_positional && (field.role == FieldRole::Operand || field.role == FieldRole::OperandList);
      if (!is_positional && !isAlwaysWritten(field) && isSame(field.value, pattern->value)) continue;
      const std::string value = std::visit([this](const auto& held) { return valueText(held); }, field.value);
      list.push_back(is_positional ? value : fmt::format("{}={}", field.name, value));
    }
    return joined(list);
  }

  // Axes and types say most about an op: they are written also where they are the default.
  static bool isAlwaysWritten(const Field& field) {
    return field.role == FieldRole::AxisNumber || field.role == FieldRole::AxisNumbers ||
           std::holds_alternative<DataType>(field.value);
  }

  static bool isSame(const FieldValue& a, const FieldValue& b) {
    if (a.index() != b.index()) return false;
    return std::visit(
        [&b]<class T>(const T& held) {
          if constexpr (std::is_same_v<T, Block>)
            return false;
          else
            return held == std::get<T>(b);
        },
        a);
  }

  template <class T>
  std::string valueText(const T& value) const {
    if constexpr (std::is_same_v<T, std::monostate>)
      return "none";
    else if constexpr (std::is_same_v<T, Val*> || std::is_same_v<T, Scalar*>)
      return value == nullptr ? "none" : text(*value);
    else if constexpr (std::is_same_v<T, std::vector<Val*>> || std::is_same_v<T, std::vector<Scalar*>>) {
      std::vector<std::string> list;
      for (const auto* element : value) list.push_back(text(*element));
      return fmt::format("[{}]", joined(list));
    } else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
      return fmt::format("[{}]", joined(value));
    else if constexpr (std::is_same_v<T, std::vector<bool>>) {
      std::vector<std::string_view> list;
      for (const bool flag : value) list.push_back(flag ? "true" : "false");
      return fmt::format("[{}]", joined(list));
    } else if constexpr (std::is_same_v<T, int64_t>)
      return literalText(value, DataType::I64);
    else if constexpr (std::is_same_v<T, bool>)
      return value ? "true" : "false";
    else if constexpr (std::is_same_v<T, double>)
      return literalText(value, DataType::F64);
    else if constexpr (std::is_same_v<T, std::string>)
      return inQuotes(value);
    else if constexpr (std::is_same_v<T, DataType>)
      return std::string(dataTypeName(value));
    else if constexpr (std::is_same_v<T, EnumValue>)
      return nameText(value.name());
    else
      TK_RAISE(Internal, "an argument of this form cannot be printed in a fusion");
  }

  // A name that could be taken for a symbol, a type or a tensor is quoted.
  std::string nameText(std::string_view name) const {
    const auto hasName = [&](const auto* node) { return names_.nameOf(*node) == name; };
    const bool is_taken =
        std::ranges::any_of(names_.symbols(), hasName) || std::ranges::any_of(names_.tensors(), hasName);
    return is_taken || !canNameSymbol(name) ? inQuotes(name) : std::string(name);
  }

  const FusionNames& names_;
};

}  // namespace

std::string statementText(const Expr& expr, const FusionNames& names) { return Printer(names).statement(expr); }

std::string printFusion(const Fusion& fusion) {
  const FusionNames names(fusion);
  const Printer printer(names);
  std::string text = printer.header(fusion) + printer.symbols(fusion);
  text += printer.body(fusion) + "}\n" + printer.sizes(fusion);
  const std::string schedule = scheduleText(fusion, names);
  return schedule.empty() ? text : fmt::format("{}schedule {{\n{}}}\n", text, schedule);
}

}  // namespace tokamak
