#include "ir/text/expression_parser.h"

#include <fmt/format.h>

#include "ir/text/division_comment.h"
#include "ir/text/names.h"
#include "ir/text/slice_parser.h"

namespace tokamak {

FieldValue ExpressionParser::parse() { return valueOf(binary(0)); }

FieldValue ExpressionParser::valueOf(const Reading& reading) {
  if (reading.tensor != nullptr) return static_cast<Val*>(reading.tensor);
  const Scalar& scalar = *reading.scalar.scalar;
  const bool is_flag = scalar.isConstant() && scalar.dtype() == DataType::Bool;
  if (is_flag) return std::get<bool>(scalar.value());
  if (!reading.scalar.is_plain_literal) return reading.scalar.scalar;
  if (const auto* integer = std::get_if<int64_t>(&scalar.value())) return *integer;
  return std::get<double>(scalar.value());
}

// x * (1 / 3) would be x * 0.
FieldValue ExpressionParser::operandOf(const Reading& reading) const {
  if (reading.quotient == nullptr) return valueOf(reading);
  tokens_.fail(
      *reading.quotient,
      fmt::format("'{}' between scalars is {}, and an operator uses it with a tensor; expected {}(a, b), or the "
                  "call of that operator, such as mul(x, n / 2)",
                  reading.quotient->text, reading.quotient->is("/") ? "floor division" : "its remainder",
                  reading.quotient->is("/") ? "truediv" : "remainder"));
}

ExpressionParser::Reading ExpressionParser::binary(int lowest_level) {
  Reading left = unary();
  for (;;) {
    const Token& token = tokens_.peek();
    const InfixOperator* row = token.kind == TokenKind::Punctuation ? findInfix(token.text) : nullptr;
    if (row == nullptr) refuseDivisionComment(tokens_, scope_);
    if (row == nullptr || row->level < lowest_level) return left;
    tokens_.next();
    left = combined(token, *row, left, binary(row->level + 1));
  }
}

ExpressionParser::Reading ExpressionParser::combined(const Token& at, const InfixOperator& row, const Reading& left,
                                                     const Reading& right) {
  const bool compares = row.level == kEqualityLevel || row.level == kOrderLevel;
  if (left.tensor != nullptr || right.tensor != nullptr) {
    if (compares && left.is_comparison) {
      tokens_.fail(at, "comparisons of tensors do not chain; expected '&&' between two of them, as in a < b && b < c");
    }
    Reading made = called(at, row.function, {operandOf(left), operandOf(right)});
    made.is_comparison = compares;
    return made;
  }
  if (!row.scalar_op) {
    tokens_.fail(at, fmt::format("'{}' needs a tensor, and both operands are scalars; expected {}(a, b)", row.symbol,
                                 row.function));
  }
  const bool divides = *row.scalar_op == ScalarOp::FloorDiv || *row.scalar_op == ScalarOp::Mod;
  const Token* quotient = left.quotient != nullptr ? left.quotient : right.quotient;
  const ScalarReading made = scalars_.combine(at, row, left.scalar, right.scalar);
  return {.scalar = made, .quotient = divides && quotient == nullptr ? &at : quotient, .is_comparison = compares};
}

ExpressionParser::Reading ExpressionParser::called(const Token& at, std::string_view function,
                                                   std::vector<FieldValue> operands) {
  WrittenCall call{&at, function, {}};
  for (FieldValue& operand : operands) call.arguments.push_back({{}, std::move(operand)});
  return {.tensor = asTensor(arguments_.makeOne(call))};
}

ExpressionParser::Reading ExpressionParser::unary() {
  const Token& sign = tokens_.peek();
  if (!sign.is("-") && !sign.is("!")) return power();
  const TokenKind after = tokens_.peek(1).kind;
  const bool is_number = sign.is("-") && (after == TokenKind::Integer || after == TokenKind::Float);
  const NestingLevel level = arguments_.nest(sign);
  tokens_.next();
  const bool is_literal = is_number && !(tokens_.peek(1).is("*") && tokens_.peek(2).is("*"));
  if (is_literal) return {.scalar = scalars_.parseLiteral(TokenStream::Sign::Minus)};
  Reading operand = unary();
  if (operand.tensor != nullptr) return called(sign, sign.is("-") ? "neg" : "logical_not", {valueOf(operand)});
  return {.scalar = scalars_.prefixed(sign, operand.scalar), .quotient = operand.quotient};
}

bool ExpressionParser::atPower() const {
  return tokens_.at("*") && tokens_.peek(1).is("*") && tokens_.peek(1).offset == tokens_.peek().offset + 1;
}

ExpressionParser::Reading ExpressionParser::power() {
  Reading base = primary();
  while (base.tensor != nullptr && tokens_.at("[")) base = sliced(base);
  if (tokens_.at(".")) arguments_.failMethod();
  if (!atPower()) return base;
  const Token& at = tokens_.next();
  tokens_.next();
  const NestingLevel level = arguments_.nest(at);
  const Reading exponent = unary();
  if (base.tensor == nullptr && exponent.tensor == nullptr) {
    tokens_.fail(at, "'**' needs a tensor, and both operands are scalars; expected pow(a, b)");
  }
  return called(at, "pow", {operandOf(base), operandOf(exponent)});
}

ExpressionParser::Reading ExpressionParser::primary() {
  const Token& token = tokens_.peek();
  if (token.is("(")) {
    const NestingLevel level = arguments_.nest(token);
    tokens_.next();
    Reading inner = binary(0);
    inner.is_comparison = false;
    tokens_.expect(")");
    return inner;
  }
  if (token.kind != TokenKind::Identifier || token.is("true") || token.is("false"))
    return {.scalar = scalars_.parsePrimary()};
  if (tokens_.peek(1).is(".") && token.text != "function") {
    tokens_.next();
    arguments_.failMethod();
  }
  if (arguments_.atCall()) {
    if (arguments_.atScalarCall()) return {.scalar = scalars_.parsePrimary()};
    if (tokens_.peek(1).is(".")) arguments_.failFunction();
    return fromCall();
  }
  const bool is_tensor = tensorNumber(token.text) || scope_.findTensor(token.text) != nullptr;
  if (is_tensor) return {.tensor = arguments_.tensorOf(tokens_.next())};
  if (scope_.findSymbol(token.text) == nullptr) arguments_.failUnknownName(token);
  return {.scalar = scalars_.parsePrimary()};
}

ExpressionParser::Reading ExpressionParser::fromCall() {
  Val* made = arguments_.parseNestedCall();
  if (Scalar* scalar = asScalar(made)) return {.scalar = {scalar}};
  return {.tensor = asTensor(made)};
}

ExpressionParser::Reading ExpressionParser::sliced(const Reading& of) {
  return {.tensor = SliceParser(tokens_, arguments_).parse(*of.tensor)};
}

}  // namespace tokamak
