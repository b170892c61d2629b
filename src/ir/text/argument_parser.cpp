#include "ir/text/argument_parser.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/text/expression_parser.h"
#include "ir/text/foreign_names.h"
#include "ir/text/mesh_text.h"
#include "ir/text/names.h"
#include "ir/text/refused_statements.h"

namespace tokamak {

Scalar* TextScope::findSymbol(std::string_view name) const {
  const auto found = symbols.find(std::string(name));
  return found == symbols.end() ? nullptr : found->second;
}

ScalarParser ArgumentParser::scalars() const {
  return {tokens_, fusion_, [this](std::string_view name) { return scope_.findSymbol(name); }};
}

TensorView* TextScope::findTensor(std::string_view name) const {
  const auto found = tensors.find(std::string(name));
  return found == tensors.end() ? nullptr : found->second;
}

std::vector<std::string_view> TextScope::names() const {
  std::vector<std::string_view> known;
  for (const auto& [name, symbol] : symbols) known.push_back(name);
  for (const auto& [name, tensor] : tensors) known.push_back(name);
  std::ranges::sort(known);
  return known;
}

NestingLevel::NestingLevel(const TokenStream& tokens, const Token& at, int& depth) : depth_(depth) {
  if (depth >= kMaxNesting) tokens.fail(at, fmt::format("nested too deeply; expected at most {} levels", kMaxNesting));
  ++depth;
}

TensorView* ArgumentParser::tensorOf(const Token& name) const {
  if (TensorView* tensor = scope_.findTensor(name.text)) return tensor;
  if (scope_.refused.contains(std::string(name.text))) throw ReadsRefused{};
  // One number is no misspelling of another.
  const std::string hint = tensorNumber(name.text) ? "" : suggestion(name.text, scope_.names());
  tokens_.fail(name, fmt::format("{} is not defined; expected an input or a result of a line above{}",
                                 describeToken(name), hint));
}

void ArgumentParser::failUnknownName(const Token& name) const {
  if (scope_.refused.contains(std::string(name.text))) throw ReadsRefused{};
  tokens_.fail(name, fmt::format("unknown name {}; expected a tensor, an extent, a scalar input or a type{}",
                                 describeToken(name), suggestion(name.text, scope_.names())));
}

void ArgumentParser::failMethod() const {
  size_t last = 1;  // of torch.nn.functional.gelu the last name
  while (tokens_.peek(last + 1).is(".")) last += 2;
  tokens_.fail(tokens_.peek(),
               fmt::format("there are no methods and no modules; expected a call such as exp(x) or sum(x, axis=0){}",
                           suggestionForMethod(tokens_.peek(last).text, call_names_())));
}

void ArgumentParser::failFunction() const {
  const Token& name = tokens_.peek(2);
  const auto names = call_names_();
  const bool is_known = std::ranges::find(names, name.text) != names.end();
  if (is_known) {
    tokens_.fail(
        tokens_.peek(),
        fmt::format("'function.' stands before functions of scalars alone; expected {}(...) of tensors", name.text));
  }
  tokens_.fail(name, fmt::format("unknown function {}; expected an elementwise function of scalars{}",
                                 describeToken(name), suggestionForCall(name.text, names)));
}

WrittenCall ArgumentParser::parseCall(BareNames bare_names) {
  const Token& name = tokens_.next();
  WrittenCall call{&name, name.text, {}};
  const NestingLevel level(tokens_, name, call_depth_);
  tokens_.expect("(");
  while (!tokens_.at(")")) {
    if (!call.arguments.empty()) {
      if (!tokens_.at(",")) tokens_.failExpected("',' or ')'");
      tokens_.next();
    }
    call.arguments.push_back(argument(bare_names));
  }
  tokens_.next();
  return call;
}

FieldValue ArgumentParser::parseExpression() { return ExpressionParser(tokens_, scope_, *this).parse(); }

CallArgument ArgumentParser::argument(BareNames bare_names) {
  const bool is_named = tokens_.peek().kind == TokenKind::Identifier && tokens_.peek(1).is("=");
  if (!is_named) return {{}, value(bare_names == BareNames::Everywhere)};
  const std::string_view name = tokens_.next().text;
  tokens_.next();
  return {name, value(true)};
}

bool ArgumentParser::atCall() const {
  return tokens_.peek().kind == TokenKind::Identifier && (tokens_.peek(1).is("(") || tokens_.peek(1).is("."));
}

// Whether the next token begins an expression: all but the names of types and enumerators.
bool ArgumentParser::atOperand() const {
  const Token& token = tokens_.peek();
  return token.kind != TokenKind::Identifier || atCall() || token.is("true") || token.is("false") ||
         tensorNumber(token.text) || scope_.findTensor(token.text) != nullptr ||
         scope_.findSymbol(token.text) != nullptr;
}

FieldValue ArgumentParser::value(bool takes_bare_name) {
  const Token& token = tokens_.peek();
  if (token.kind == TokenKind::String) return tokens_.next().string;
  if (token.is("[")) return list();
  if (token.kind == TokenKind::End || token.is(")") || token.is("]") || token.is(",")) {
    tokens_.failExpected("an argument: a tensor, a scalar, a list, a call or a name");
  }
  if (tokens_.accept("none")) return std::monostate{};
  if (takes_bare_name && token.is(kMeshWord) && tokens_.peek(1).is("(")) {
    tokens_.next();
    return printMesh(parseMesh(tokens_));
  }
  if (atOperand()) return parseExpression();
  if (const auto type = dataTypeFromName(token.text)) {
    tokens_.next();
    return *type;
  }
  if (!takes_bare_name) failUnknownName(token);
  return std::string(tokens_.next().text);
}

Scalar* ArgumentParser::toScalar(const FieldValue& element) {
  if (const auto* integer = std::get_if<int64_t>(&element)) return fusion_.constant(*integer);
  if (const auto* number = std::get_if<double>(&element)) return fusion_.constant(*number, DataType::F64);
  if (const auto* flag = std::get_if<bool>(&element)) return fusion_.constant(*flag, DataType::Bool);
  const auto* scalar = std::get_if<Scalar*>(&element);
  return scalar != nullptr ? *scalar : nullptr;
}

namespace {

template <class T>
std::optional<std::vector<T>> listOf(const std::vector<FieldValue>& elements) {
  std::vector<T> list;
  for (const FieldValue& element : elements) {
    const T* value = std::get_if<T>(&element);
    if (value == nullptr) return std::nullopt;
    list.push_back(*value);
  }
  return list;
}

}  // namespace

FieldValue ArgumentParser::list() {
  tokens_.next();
  std::vector<FieldValue> elements;
  while (!tokens_.at("]")) {
    if (!elements.empty()) {
      if (!tokens_.at(",")) tokens_.failExpected("',' or ']'");
      tokens_.next();
    }
    const Token& start = tokens_.peek();
    if (start.is("[") || start.kind == TokenKind::String) tokens_.failExpected("a tensor, a scalar or true or false");
    elements.push_back(value(false));
    const FieldValue& last = elements.back();
    if (std::holds_alternative<DataType>(last) || std::holds_alternative<std::monostate>(last)) {
      tokens_.fail(start, fmt::format("{} cannot stand in a list; expected tensors or scalars", describeToken(start)));
    }
  }
  tokens_.next();
  if (auto integers = listOf<int64_t>(elements)) return *std::move(integers);
  if (auto flags = listOf<bool>(elements)) return *std::move(flags);
  const bool has_tensor =
      std::ranges::any_of(elements, [](const FieldValue& v) { return std::holds_alternative<Val*>(v); });
  std::vector<Val*> vals;
  std::vector<Scalar*> scalars;
  for (const FieldValue& element : elements) {
    const auto* val = std::get_if<Val*>(&element);
    if (val == nullptr) scalars.push_back(toScalar(element));
    if (has_tensor) vals.push_back(val != nullptr ? *val : scalars.back());
  }
  if (has_tensor) return vals;
  return scalars;
}

Val* ArgumentParser::parseNestedCall() { return makeOne(parseCall()); }

Val* ArgumentParser::makeOne(const WrittenCall& call) {
  const std::vector<Val*> results = make_call_(call);
  if (results.size() == 1) return results[0];
  tokens_.fail(*call.at,
               fmt::format("'{}' gives {} results; expected one where it is an argument", call.name, results.size()));
}

// A call is one of scalars when no tensor and no call that scalars cannot make is in it.
bool ArgumentParser::atScalarCall() const {
  int open = 0;
  for (size_t ahead = 0;; ++ahead) {
    const Token& token = tokens_.peek(ahead);
    if (token.kind == TokenKind::End) return true;
    if (token.is("(") && ++open > kMaxNesting) return false;
    if (token.is(")") && --open == 0) return true;
    if (token.kind == TokenKind::String || token.is("=") || token.is("[")) return false;
    if (token.kind != TokenKind::Identifier) continue;
    if (tokens_.peek(ahead + 1).is("(")) {
      if (!isScalarFunction(token.text)) return false;
    } else if (tensorNumber(token.text) || scope_.findTensor(token.text) != nullptr ||
               scope_.refused.contains(std::string(token.text))) {
      return false;
    }
  }
}

}  // namespace tokamak
