#include "ir/text/fusion_parser.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "ir/text/argument_parser.h"
#include "ir/text/division_comment.h"
#include "ir/text/extent_limits.h"
#include "ir/text/foreign_names.h"
#include "ir/text/mesh_text.h"
#include "ir/text/names.h"
#include "ir/text/op_arguments.h"
#include "ir/text/refused_statements.h"
#include "ir/text/schedule_section.h"
#include "ir/text/type_text.h"
#include "ir/text/unnamed_tensors.h"

namespace tokamak {

namespace {

struct WrittenResult {
  const Token* name = nullptr;
  std::optional<WrittenType> type;
};

class FusionParser {
 public:
  FusionParser(TokenStream& tokens, const ParseOptions& options)
      : tokens_(tokens),
        options_(options),
        fusion_(std::make_unique<Fusion>()),
        arguments_(
            tokens, *fusion_, scope_, [this](const WrittenCall& call) { return make(call, {}); },
            [this] { return callNames(); }) {}

  std::unique_ptr<Fusion> parse() {
    setRanks(tokens_, options_.ranks);
    const size_t start = tokens_.position();
    try {
      parseSections();
    } catch (const Error& error) {
      if (!namesUnnumbered(error.what())) throw;
      throw Error(error.code(), numbered(error.what(), start));
    }
    return std::move(fusion_);
  }

 private:
  void parseSections() {
    fusionSection();
    bool has_sizes = false;
    bool has_schedule = false;
    for (;;) {
      if (!has_sizes && tokens_.at("sizes"))
        has_sizes = true, sizesSection();
      else if (!has_schedule && tokens_.at("schedule"))
        has_schedule = true, schedule();
      else
        break;
    }
    numberTensors();
  }

  // --- fusion name(inputs) -> outputs { statements } ---

  void fusionSection() {
    tokens_.expect("fusion");
    const Token& name = tokens_.peek();
    if (name.kind != TokenKind::Identifier && name.kind != TokenKind::String) tokens_.failExpected("the fusion's name");
    fusion_->setName(name.kind == TokenKind::String ? name.string : std::string(name.text));
    tokens_.next();
    tokens_.expect("(");
    for (bool is_first = true; !tokens_.at(")"); is_first = false) {
      if (!is_first) {
        if (!tokens_.at(",")) tokens_.failExpected("',' or ')'");
        tokens_.next();
      }
      inputOrErrors();
    }
    tokens_.next();
    tokens_.expect("->");
    const size_t outputs_at = tokens_.position();
    skipOutputs();
    tokens_.expect("{");
    while (!tokens_.at("}")) statementOrErrors();
    const size_t body_end = tokens_.position();
    tokens_.setPosition(outputs_at);
    try {
      outputs();
    } catch (...) {
      errors_.addCurrent();
    }
    if (!errors_.empty()) errors_.raise();
    tokens_.setPosition(body_end);
    tokens_.next();
  }

  // Reads a statement. One that is refused is skipped, so that the errors of those that do not read its results are
  // told with its own.
  void statementOrErrors() {
    const size_t start = tokens_.position();
    try {
      return statement();
    } catch (...) {
      errors_.addCurrent();
    }
    tokens_.setPosition(start);
    const auto names = skipStatement(tokens_);
    if (!names) errors_.raise();
    for (const std::string& name : *names) {
      // A second definition leaves the first one as it is.
      if (scope_.findTensor(name) == nullptr) scope_.refused.insert(name);
    }
  }

  // Reads an input. One that is refused is skipped; the extents in its type are known to what stands behind it.
  void inputOrErrors() {
    const size_t start = tokens_.position();
    try {
      return input();
    } catch (const Error&) {
      errors_.addCurrent();
    }
    tokens_.setPosition(start);
    const auto names = skipInput(tokens_);
    if (!names) errors_.raise();
    const std::string& own = names->front();
    if (scope_.findTensor(own) == nullptr) scope_.refused.insert(own);
    for (const std::string& name : *names) {
      const bool is_extent = name != own && canNameSymbol(name) && scope_.findTensor(name) == nullptr;
      if (is_extent && scope_.findSymbol(name) == nullptr) scope_.symbols[name] = newExtent(name, DataType::I64);
    }
  }

  const Token& expectTensorName() { return tokens_.expectIdentifier("the name of a tensor"); }

  void input() {
    const Token& name = tokens_.expectIdentifier("an input: 'x: f32[n]' or 'scale: f32'");
    tokens_.expect(":");
    const bool is_tensor = tensorNumber(name.text) || tokens_.peek(1).is("[");
    if (is_tensor) return tensorInput(name);
    requireFreeName(name);
    const DataType dtype = scalarType();
    Scalar*& symbol = scope_.symbols[std::string(name.text)];
    if (symbol == nullptr) symbol = fusion_->symbol(std::string(name.text), dtype);
    if (symbol->isConstant()) return;
    if (symbol->dtype() != dtype || fusion_->isInput(symbol)) {
      tokens_.fail(name,
                   fmt::format("{} is already {} of type {}; expected another name", describeToken(name),
                               fusion_->isInput(symbol) ? "an input" : "an extent", dataTypeName(symbol->dtype())));
    }
    fusion_->addInput(symbol);
  }

  void tensorInput(const Token& name) {
    // Names in an input's shape are the extents' names.
    const auto declare = [this](std::string_view symbol_name) {
      Scalar* known = scope_.findSymbol(symbol_name);
      const bool may_declare = canNameSymbol(symbol_name) && scope_.findTensor(symbol_name) == nullptr;
      if (known != nullptr || !may_declare) return known;
      return scope_.symbols[std::string(symbol_name)] = newExtent(std::string(symbol_name), DataType::I64);
    };
    ScalarParser scalars(tokens_, *fusion_, declare);
    TensorView* tensor = makeTensor(*fusion_, tokens_, parseTensorType(tokens_, scalars));
    defineTensor(name, tensor);
    fusion_->addInput(tensor);
  }

  Scalar* newExtent(const std::string& name, DataType dtype) {
    const bool has_value = options_.extents != nullptr && options_.extents->contains(name);
    if (has_value && options_.extents->at(name) != 1) return fusion_->constant(options_.extents->at(name), dtype);
    return fusion_->symbol(name, dtype);
  }

  // A name that may stand for a scalar or, without a number, for a tensor.
  void requireFreeName(const Token& name) {
    if (!canNameSymbol(name.text)) {
      tokens_.fail(name, fmt::format("{} cannot be a name; expected one that is no type, no number of a tensor and no "
                                     "reserved word",
                                     describeToken(name)));
    }
    if (scope_.findTensor(name.text) == nullptr) return;
    tokens_.fail(name, fmt::format("{} is already a tensor; expected another name", describeToken(name)));
  }

  DataType scalarType() {
    const Token& token = tokens_.peek();
    const auto dtype = token.kind == TokenKind::Identifier ? dataTypeFromName(token.text) : std::nullopt;
    if (!dtype) tokens_.failExpected("a type: f64, f32, f16, bf16, i64, i32 or bool");
    tokens_.next();
    return *dtype;
  }

  void defineTensor(const Token& name, TensorView* tensor) {
    const auto number = tensorNumber(name.text);
    if (scope_.findTensor(name.text) != nullptr) {
      tokens_.fail(name, fmt::format("{} is defined twice; expected a name that is not taken", describeToken(name)));
    }
    if (!number) requireFreeName(name);
    if (!number && scope_.findSymbol(name.text) != nullptr) {
      tokens_.fail(name,
                   fmt::format("{} is already a scalar or an extent; expected another name", describeToken(name)));
    }
    scope_.tensors[std::string(name.text)] = tensor;
    if (hasName(*tensor)) return;
    if (number) return tensor->setLabel(*number);
    tensor->setName(std::string(name.text));
    has_names_ = true;
  }

  static bool hasName(const TensorView& tensor) { return tensor.label() >= 0 || !tensor.name().empty(); }

  NumberPlace numberPlace() const { return has_names_ ? NumberPlace::AroundWritten : NumberPlace::BehindWritten; }

  // As numberTensors would do it if the rest of the text were read.
  std::string numbered(std::string_view message, size_t start) {
    std::unordered_set<int64_t> written;
    tokens_.setPosition(start);
    for (size_t ahead = 0; tokens_.peek(ahead).kind != TokenKind::End; ++ahead) {
      if (const auto number = tensorNumber(tokens_.peek(ahead).text)) written.insert(*number);
    }
    return withNumbers(message, numbersOf(*fusion_, numberPlace(), std::move(written)));
  }

  // Dumps of host programs and kernels, messages and --print use the numbers.
  void numberTensors() {
    if (!has_names_ && !options_.numbers_unnamed) return;
    for (const auto& [tensor, number] : numbersOf(*fusion_, numberPlace())) tensor->setLabel(number);
  }

  void skipOutputs() {
    while (!tokens_.at("{")) {
      if (tokens_.atEnd() || tokens_.at("}")) tokens_.failExpected("the outputs, then '{'");
      tokens_.next();
    }
  }

  void outputs() {
    const bool has_parentheses = tokens_.accept("(");
    if (has_parentheses && tokens_.accept(")")) return expectBody();
    do output();
    while (tokens_.accept(","));
    if (has_parentheses) {
      if (!tokens_.at(")")) tokens_.failExpected("',' or ')'");
      tokens_.next();
    }
    expectBody();
  }

  void expectBody() {
    if (!tokens_.at("{")) tokens_.failExpected("',' or '{'");
  }

  void output() {
    const Token& name = expectTensorName();
    TensorView* tensor = arguments_.tensorOf(name);
    if (!tokens_.accept("aliases")) return fusion_->addOutput(tensor);
    const Token& target_name = expectTensorName();
    TensorView* target = arguments_.tensorOf(target_name);
    const bool is_hidden = tokens_.accept("hidden");
    if (fusion_->outputAliases().contains(tensor)) {
      tokens_.fail(name,
                   fmt::format("{} already aliases an input; expected one alias for each output", describeToken(name)));
    }
    fusion_->addOutput(tensor);
    tokens_.noted(target_name, [&] { fusion_->aliasOutput(tensor, target, is_hidden); });
  }

  // --- statements ---

  void statement() {
    if (tokens_.at("symbol")) return symbolDeclaration();
    std::vector<WrittenResult> results;
    do results.push_back(result());
    while (tokens_.accept(","));
    if (!tokens_.at("=")) tokens_.failExpected(results.back().type ? "'='" : "'=' or ':'");
    tokens_.next();
    const Token& start = tokens_.peek();
    const std::vector<Val*> made = atWholeCall() ? make(arguments_.parseCall(), results) : std::vector{expression()};
    refuseDivisionComment(tokens_, scope_);
    if (made.size() != results.size()) {
      tokens_.fail(start, fmt::format("{} gives {} results; expected as many names on the left of '=', not {}",
                                      describeToken(start), made.size(), results.size()));
    }
    for (size_t i = 0; i < made.size(); ++i) nameResult(results[i], made[i]);
  }

  // Whether the right side is one call, of any number of results, and no operator or slice follows it.
  bool atWholeCall() const {
    if (tokens_.peek().kind != TokenKind::Identifier || !tokens_.peek(1).is("(")) return false;
    int64_t open = 0;
    for (size_t ahead = 1;; ++ahead) {
      const Token& token = tokens_.peek(ahead);
      if (token.kind == TokenKind::End) return true;
      if (token.is("(")) ++open;
      if (!token.is(")") || --open > 0) continue;
      const Token& after = tokens_.peek(ahead + 1);
      return after.kind != TokenKind::Punctuation || (!after.is("[") && findInfix(after.text) == nullptr);
    }
  }

  Val* expression() {
    const Token& start = tokens_.peek();
    const bool begins = start.kind == TokenKind::Identifier || start.kind == TokenKind::Integer ||
                        start.kind == TokenKind::Float || start.is("(") || start.is("-") || start.is("!");
    if (!begins) tokens_.failExpected("a call such as add(T0, T1) or an expression such as T0 * 2");
    const FieldValue value = arguments_.parseExpression();
    const auto* val = std::get_if<Val*>(&value);
    if (val == nullptr)
      tokens_.fail(start, "this is a scalar; expected a tensor, which full(shape, value) makes of it");
    const TensorView* tensor = asTensor(*val);
    const bool is_old = tensor != nullptr && hasName(*tensor);
    return is_old ? arguments_.makeOne({&start, "set", {{{}, *val}}}) : *val;
  }

  void symbolDeclaration() {
    tokens_.next();
    const Token& name = tokens_.expectIdentifier("the name of a symbol");
    requireFreeName(name);
    tokens_.expect(":");
    const DataType dtype = scalarType();
    const bool is_new = scope_.symbols.emplace(std::string(name.text), nullptr).second;
    if (!is_new)
      tokens_.fail(name, fmt::format("{} is declared twice; expected a name that is not taken", describeToken(name)));
    scope_.symbols[std::string(name.text)] = newExtent(std::string(name.text), dtype);
  }

  WrittenResult result() {
    const bool begins = tokens_.peek().kind == TokenKind::Identifier &&
                        (tokens_.peek(1).is("=") || tokens_.peek(1).is(":") || tokens_.peek(1).is(","));
    if (!begins && !tensorNumber(tokens_.peek().text))
      tokens_.failExpected("a statement such as 'y = exp(x)', 'symbol', or '}'");
    WrittenResult result{&tokens_.next(), std::nullopt};
    if (!tokens_.accept(":")) return result;
    ScalarParser scalars = arguments_.scalars();
    result.type = parseTensorType(tokens_, scalars);
    return result;
  }

  void nameResult(const WrittenResult& result, Val* made) {
    TensorView* tensor = asTensor(made);
    if (tensor == nullptr) tokens_.fail(*result.name, "the call gives a scalar; expected one that gives a tensor");
    const bool is_copied = hasName(*tensor) && !tensorNumber(result.name->text);
    // A function may give back its operand. A name of its own is a tensor of its own.
    if (is_copied) tensor = asTensor(arguments_.makeOne({result.name, "set", {{{}, made}}}));
    const bool is_fresh = !hasName(*tensor);
    defineTensor(*result.name, tensor);
    if (!result.type) return;
    // An operand that was given back keeps its own type.
    if (is_fresh) return applyType(tokens_, *tensor, *result.type);
    if (result.type->dtype != tensor->dtype() || result.type->axes.size() != tensor->logical().size()) {
      tokens_.fail(result.type->offset,
                   fmt::format("this is not the type of what is computed; expected that of {}", toString(*tensor)));
    }
  }

  // --- calls ---

  std::vector<Val*> make(const WrittenCall& call, std::span<const WrittenResult> results) {
    auto made = tokens_.noted(*call.at, [&] { return tryMake(call, results); });
    if (!made) failUnknownCall(call);
    if (options_.places != nullptr) notePlaces(*made, call.at->offset);
    for (const Val* val : *made) {
      const auto* tensor = val->kind() == ValKind::Tensor ? static_cast<const TensorView*>(val) : nullptr;
      if (tensor == nullptr) continue;
      for (const IterDomain* axis : tensor->logical()) {
        if (limits_.allows(*axis->visibleExtent())) continue;
        tokens_.fail(*call.at, fmt::format("an extent of the result of '{}' has become too large to be written; "
                                           "expected fewer operations on one size",
                                           call.name));
      }
    }
    return *std::move(made);
  }

  // Ops of nested calls were made before, and keep their place.
  void notePlaces(const std::vector<Val*>& results, size_t offset) {
    std::vector<const Val*> open(results.begin(), results.end());
    while (!open.empty()) {
      const Expr* expr = open.back()->definition();
      open.pop_back();
      if (expr == nullptr || !options_.places->emplace(expr, offset).second) continue;
      open.insert(open.end(), expr->inputs().begin(), expr->inputs().end());
    }
  }

  std::optional<std::vector<Val*>> tryMake(const WrittenCall& call, std::span<const WrittenResult> results) {
    const std::string_view name = call.name;
    if (const auto op = findOp(name)) {
      std::vector<DataType> types;
      for (const WrittenResult& result : results) {
        if (result.type) types.push_back(result.type->dtype);
      }
      const bool has_types = !results.empty() && types.size() == results.size();
      if (options_.resolver == nullptr || (has_types && isExactCall(*op, call.arguments, types))) {
        return opResolver().call(*fusion_, name, call.arguments);
      }
    }
    if (options_.resolver != nullptr) {
      if (auto made = options_.resolver->call(*fusion_, name, call.arguments)) return made;
    }
    return opResolver().call(*fusion_, name, call.arguments);
  }

  std::vector<std::string_view> callNames() const {
    std::vector<std::string_view> names = opResolver().names();
    if (options_.resolver != nullptr) {
      const auto more = options_.resolver->names();
      names.insert(names.end(), more.begin(), more.end());
    }
    return names;
  }

  [[noreturn]] void failUnknownCall(const WrittenCall& call) {
    tokens_.fail(*call.at, fmt::format("unknown function '{}'; expected an op or a function{}", call.name,
                                       suggestionForCall(call.name, callNames())));
  }

  void schedule() {
    const auto define = [this](const Token& name, TensorView* tensor) { defineTensor(name, tensor); };
    ScheduleSection(tokens_, *fusion_, scope_, arguments_, {.scheduler = options_.scheduler, .define = define}).read();
  }

  // --- sizes { i0 = 4 } ---

  void sizesSection() {
    tokens_.next();
    tokens_.expect("{");
    bool is_first = true;
    while (!tokens_.accept("}")) {
      if (!is_first && !tokens_.accept(",")) tokens_.failExpected("',' or '}'");
      is_first = false;
      if (tokens_.accept("}")) return;
      const Token& name = tokens_.expectIdentifier("the name of an extent");
      Scalar* symbol = scope_.findSymbol(name.text);
      if (symbol == nullptr || !isIntegerType(symbol->dtype())) {
        std::vector<std::string_view> known;
        for (const auto& [known_name, known_symbol] : scope_.symbols) {
          if (isIntegerType(known_symbol->dtype())) known.push_back(known_name);
        }
        std::ranges::sort(known);
        tokens_.fail(name, fmt::format("{} is no extent; expected one of the fusion's{}", describeToken(name),
                                       suggestion(name.text, known)));
      }
      tokens_.expect("=");
      const Token& start = tokens_.peek();
      const int64_t size = tokens_.expectInteger("a size");
      if (size < 0) tokens_.fail(start, "the size is negative; expected 0 or more");
      if (symbol->isConstant()) continue;
      if (!fusion_->defaultSizes().emplace(symbol, size).second) {
        tokens_.fail(name, fmt::format("the size of {} is given twice; expected it once", describeToken(name)));
      }
    }
  }

  TokenStream& tokens_;
  const ParseOptions& options_;
  std::unique_ptr<Fusion> fusion_;
  TextScope scope_;
  ArgumentParser arguments_;
  ExtentLimits limits_;
  RefusedStatements errors_;
  bool has_names_ = false;
};

}  // namespace

std::unique_ptr<Fusion> parseFusion(TokenStream& tokens, const ParseOptions& options) {
  return FusionParser(tokens, options).parse();
}

std::unique_ptr<Fusion> parseFusion(std::string_view text, std::string_view file, const ParseOptions& options) {
  TokenStream tokens(text, file);
  auto fusion = parseFusion(tokens, options);
  if (!tokens.atEnd()) tokens.failExpected("'sizes', 'schedule' or the end of the text, each once");
  return fusion;
}

}  // namespace tokamak
