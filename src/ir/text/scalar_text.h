// Scalars as text: "( i0 * 8 )", "( ceilDiv(i0, 4) )", "0.5_f32".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "ir/text/infix.h"
#include "ir/text/lexer.h"
#include "symbolic/scalar.h"

namespace tokamak {

/// The name a symbol is printed with.
using SymbolNamer = std::function<std::string(const Scalar&)>;

/// The canonical text: every operation in parentheses with blanks inside. What is no symbol needs no name; a constant
/// has its type as a suffix unless it is that of its form (4: i64, 0.5: f64, true: bool).
std::string scalarText(const Scalar& scalar, const SymbolNamer& name);

/// A constant: "4", "0.5", "-0.0", "inf", "nan", "nan(0x7ff0000000000001)" (a NaN with other bits), "true", "0.5_f32".
/// The suffix is left out when the type is `plain_type`, or, without one, the type of the form.
std::string literalText(const ScalarValue& value, DataType dtype, std::optional<DataType> plain_type = std::nullopt);

/// A scalar read from a text.
struct ScalarReading {
  Scalar* scalar = nullptr;
  /// A number without a type suffix, or made of such numbers alone: it takes the type of what it meets.
  bool is_plain_literal = false;
};

/// Whether the nodes read are made by Fusion::scalar or exactly as written.
enum class ScalarForm : uint8_t { Simplified, AsWritten };

/// Reads scalars: parentheses are free, || && == != < <= > >= + - * / % bind as in C; `/` is floor division. Calls:
/// ceilDiv, min, max, where, a type's name (a cast) and rows of the function table.
class ScalarParser {
 public:
  /// The symbol of this name, or null.
  using Lookup = std::function<Scalar*(std::string_view name)>;

  ScalarParser(TokenStream& tokens, Fusion& fusion, Lookup lookup, ScalarForm form = ScalarForm::Simplified)
      : tokens_(&tokens), fusion_(&fusion), lookup_(std::move(lookup)), form_(form) {}

  /// Errors: Parse.
  Scalar* parse() { return parseReading().scalar; }
  ScalarReading parseReading();
  /// One number, name or call, without signs and operators. Errors: Parse.
  ScalarReading parsePrimary() { return primary(); }
  /// A number behind its sign. Errors: Parse.
  ScalarReading parseLiteral(TokenStream::Sign sign) { return literal(sign); }
  /// What an operator that stands at `at` makes of scalars. Errors: Parse.
  ScalarReading combine(const Token& at, const InfixOperator& row, const ScalarReading& left,
                        const ScalarReading& right);
  /// What '-' or '!' makes of a scalar. Errors: Parse.
  ScalarReading prefixed(const Token& sign, const ScalarReading& operand);
  /// True when the next tokens are a literal (with an optional minus).
  bool atLiteral() const;

 private:
  ScalarReading binary(int lowest_level);
  ScalarReading unary();
  ScalarReading primary();
  ScalarReading literal(TokenStream::Sign sign);
  ScalarReading call(const Token& name);
  ScalarReading functionCall(const Token& name, std::vector<ScalarReading> operands);
  void adaptPlainLiterals(std::span<ScalarReading> operands);
  Scalar* castOf(const Token& name, Scalar* operand, DataType dtype);
  int treeDepth(const Scalar& scalar);
  /// Errors: Parse when the scalar is too deep to be printed.
  Scalar* checked(const Token& at, Scalar* scalar);
  Scalar* make(const Token& at, ScalarOp op, Scalar* a, Scalar* b = nullptr, Scalar* c = nullptr);
  std::vector<ScalarReading> operandList();

  TokenStream* tokens_;
  Fusion* fusion_;
  Lookup lookup_;
  ScalarForm form_;
  int depth_ = 0;
  std::unordered_map<const Scalar*, int> tree_depth_;
};

/// Whether scalars can be given to a function of this name: ceilDiv, a type, a row of the function table, ...
bool isScalarFunction(std::string_view name);

/// How many levels of parentheses, calls and operators a text may nest: reading and printing are recursive.
inline constexpr int kMaxNesting = 200;

/// The name of the candidates that is most like `name`, as "; did you mean 'softmax'?"; empty when none is like it.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace tokamak
