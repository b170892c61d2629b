#include "tools/ops_page.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "define/op_reference.h"
#include "ir/text/foreign_names.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/infix.h"
#include "ir/text/scalar_text.h"
#include "symbolic/functions.h"

namespace tokamak::tools {

namespace {

std::string defaultText(const FieldValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return "none";
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return literalText(*number, DataType::F64);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* type = std::get_if<DataType>(&value)) return std::string(dataTypeName(*type));
  if (const auto* name = std::get_if<EnumValue>(&value)) return std::string(name->name());
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) return fmt::format("[{}]", joined(*list));
  if (const auto* val = std::get_if<Val*>(&value)) return *val == nullptr ? "none" : "...";
  const auto* scalar = std::get_if<Scalar*>(&value);
  return scalar != nullptr && *scalar == nullptr ? "none" : "[]";
}

std::string signatureOf(const Callable& callable) {
  std::vector<std::string> parameters;
  for (const Parameter& parameter : callable.parameters) {
    parameters.push_back(parameter.is_required ? std::string(parameter.name)
                                               : fmt::format("{}={}", parameter.name, defaultText(parameter.fallback)));
  }
  return fmt::format("{}({})", callable.name, joined(parameters));
}

// "x + y" of add; empty for most.
std::string infixOf(std::string_view name) {
  if (name == "pow") return "x ** y";
  if (name == "neg") return "-x";
  if (name == "logical_not") return "!x";
  const auto* row = std::ranges::find(kInfixOperators, name, &InfixOperator::function);
  return row == kInfixOperators.end() ? "" : fmt::format("x {} y", row->symbol);
}

std::string resultTypes(const Fusion& fusion) {
  std::vector<std::string_view> types;
  for (const TensorView* output : fusion.outputs()) types.push_back(dataTypeName(output->dtype()));
  return joined(types);
}

// What a program's results are; nothing when it is refused.
std::optional<std::string> resultsOf(const std::string& program) {
  try {
    return resultTypes(*parseFusion(program, "example", {.resolver = &definingResolver()}));
  } catch (const Error&) {
    return std::nullopt;
  }
}

// "f16, bf16 -> f32; bool refused" of the results that each type has: types of the same result stand together.
std::string grouped(const std::vector<std::pair<DataType, std::optional<std::string>>>& results) {
  std::vector<std::pair<std::string, std::vector<std::string_view>>> groups;
  for (const auto& [type, of_type] : results) {
    const std::string result = of_type ? "-> " + *of_type : "refused";
    auto group = std::ranges::find(groups, result, &std::pair<std::string, std::vector<std::string_view>>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {result, {}});
    group->second.push_back(dataTypeName(type));
  }
  std::vector<std::string> texts;
  for (const auto& [result, types] : groups) texts.push_back(fmt::format("{} {}", joined(types), result));
  return joined(texts, "; ");
}

// The type of the example's operands that decides the result's: of the first tensor, but of a choice's second.
std::string_view decidingType(const OpReference& reference, std::string_view inputs) {
  const auto function = functionFromName(reference.name);
  const bool chooses = function && functionInfo(*function).rule == TypeRule::Choose;
  size_t bracket = inputs.find('[');
  if (chooses) bracket = inputs.find('[', bracket + 1);
  if (bracket == std::string_view::npos) return {};
  const size_t colon = inputs.rfind(": ", bracket) + 2;
  return inputs.substr(colon, bracket - colon);
}

// The example with another type in the place of that of some operands.
std::string exampleOf(const OpReference& reference, std::string_view first, DataType type) {
  std::string inputs = exampleInputs(reference);
  const std::string wanted = fmt::format(": {}[", dataTypeName(type));
  const std::string written = fmt::format(": {}[", first);
  for (size_t at = inputs.find(written); at != std::string::npos; at = inputs.find(written, at + wanted.size()))
    inputs.replace(at, written.size(), wanted);
  return exampleProgram(reference, inputs);
}

// The example with this dtype=.
std::string exampleOfDtype(const OpReference& reference, DataType type) {
  std::string program = exampleProgram(reference, exampleInputs(reference));
  const size_t written = program.find("dtype=");
  const size_t close = program.rfind(')');
  if (written == std::string::npos) return program.insert(close, fmt::format(", dtype={}", dataTypeName(type)));
  return program.replace(written, close - written, fmt::format("dtype={}", dataTypeName(type)));
}

// Whether the result has the type that dtype= says, by default one of its own.
bool followsDtype(const OpReference& reference) {
  const Callable* callable = findCallable(reference.name);
  return std::ranges::any_of(callable->parameters, [](const Parameter& parameter) {
    return parameter.name == "dtype" && std::holds_alternative<DataType>(parameter.fallback);
  });
}

std::string typesOf(const OpReference& reference) {
  const std::string inputs = exampleInputs(reference);
  std::vector<std::pair<DataType, std::optional<std::string>>> results;
  if (followsDtype(reference)) {
    for (const DataType type : kAllDataTypes) {
      auto result = resultsOf(exampleOfDtype(reference, type));
      if (result == dataTypeName(type)) result = "that type";
      results.emplace_back(type, std::move(result));
    }
    return fmt::format("{}dtype={}", inputs.find('[') == std::string::npos ? "" : "any operand; ", grouped(results));
  }
  const std::string_view first = decidingType(reference, inputs);
  if (first.empty()) return "-> " + resultsOf(exampleProgram(reference, inputs)).value_or("refused");
  for (const DataType type : kAllDataTypes) results.emplace_back(type, resultsOf(exampleOf(reference, first, type)));
  return grouped(results);
}

const OpReference& referenceOf(const Callable& callable) {
  const OpReference* reference = findReference(callable.name);
  TK_CHECK(reference != nullptr, "'{}' has no row in the references of ops", callable.name);
  return *reference;
}

}  // namespace

std::string opList() {
  std::string text;
  for (const Callable& callable : allCallables())
    text += fmt::format("{}\n    {}\n", signatureOf(callable), referenceOf(callable).meaning);
  return text;
}

std::string opText(const std::string& name) {
  const Callable* callable = findCallable(name);
  if (callable == nullptr) {
    std::vector<std::string_view> names;
    for (const Callable& known : allCallables()) names.push_back(known.name);
    TK_RAISE(Usage, "info: --ops {}: there is no such op; info --ops lists them{}", name,
             suggestionForCall(name, names));
  }
  const OpReference& reference = referenceOf(*callable);
  std::string text = fmt::format("{}\n  {}\n", signatureOf(*callable), reference.meaning);
  if (const std::string infix = infixOf(name); !infix.empty()) text += fmt::format("  also written {}\n", infix);
  text += fmt::format("  types: {}\n\n", typesOf(reference));
  return text + exampleProgram(reference, exampleInputs(reference));
}

std::string opsPage() {
  std::string text =
      "# Ops and composites\n\n"
      "Written by `tokamak info --ops --markdown`; `tokamak info --ops NAME` says the same of one. `axis=` and `dim=` "
      "may be "
      "written for `axes=` where one axis\nis meant. Operators and slices: [text.md](text.md).\n";
  for (const Callable& callable : allCallables()) {
    const OpReference& reference = referenceOf(callable);
    const std::string infix = infixOf(callable.name);
    text += fmt::format("\n## {}\n\n`{}`{}: {}.\n\nTypes: {}.\n\n", callable.name, signatureOf(callable),
                        infix.empty() ? "" : fmt::format(", `{}`", infix), reference.meaning, typesOf(reference));
    std::string program = exampleProgram(reference, exampleInputs(reference));
    for (size_t start = 0; start < program.size(); start = program.find('\n', start) + 1)
      text += fmt::format("    {}", program.substr(start, program.find('\n', start) + 1 - start));
  }
  return text;
}

}  // namespace tokamak::tools
