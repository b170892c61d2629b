#include "ir/text/scalar_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ir/fusion.h"
#include "ir/text/infix.h"
#include "symbolic/functions.h"

namespace tokamak {

namespace {

struct CallRow {
  std::string_view name;
  ScalarOp op;
  size_t arity;
};

constexpr std::array<CallRow, 4> kCalls = {{
    {"ceilDiv", ScalarOp::CeilDiv, 2},
    {"min", ScalarOp::Min, 2},
    {"max", ScalarOp::Max, 2},
    {"where", ScalarOp::Select, 3},
}};

// Rows of the function table whose name is one of these calls are written function.<name>.
constexpr std::string_view kFunctionPrefix = "function";
constexpr size_t kMaxOperands = 3;

constexpr uint64_t kPlainNaN = 0x7ff8000000000000ULL;
constexpr uint64_t kSignBit = 1ULL << 63U;

std::string floatText(double value, DataType dtype) {
  std::string text = fmt::format("{}", value);
  const auto narrow = static_cast<float>(value);
  if (dtype != DataType::F64 && static_cast<double>(narrow) == value) {
    // The shortest figures for a float, if they also survive being read as a double first.
    std::string shorter = fmt::format("{}", narrow);
    if (static_cast<float>(std::strtod(shorter.c_str(), nullptr)) == narrow) text = std::move(shorter);
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::vector<std::string_view> scalarCallNames() {
  std::vector<std::string_view> names;
  for (const CallRow& row : kCalls) names.push_back(row.name);
  for (const DataType type : kAllDataTypes) names.push_back(dataTypeName(type));
  for (const FunctionInfo& function : allFunctions()) names.push_back(function.name);
  return names;
}

// Insertions, deletions, replacements and exchanges of neighbours that make b of a.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] =
          std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      const bool is_exchange = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchange) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

DataType typeOf(ScalarOp op, const Scalar* a, const Scalar* b, const Scalar* c) {
  const bool is_test = op >= ScalarOp::Equal && op <= ScalarOp::Not;
  if (is_test) return DataType::Bool;
  if (op == ScalarOp::Select) return promoteTypes(b->dtype(), c->dtype());
  return b == nullptr ? a->dtype() : promoteTypes(a->dtype(), b->dtype());
}

// Numbers without a suffix make one without a suffix; a comparison makes a flag.
ScalarReading madeOf(std::span<const ScalarReading> operands, Scalar* made) {
  const bool is_plain = std::ranges::all_of(operands, &ScalarReading::is_plain_literal);
  const bool is_number = made->isConstant() && (made->dtype() == DataType::I64 || made->dtype() == DataType::F64);
  return {made, is_plain && is_number};
}

}  // namespace

bool isScalarFunction(std::string_view name) {
  return std::ranges::find(kCalls, name, &CallRow::name) != kCalls.end() || dataTypeFromName(name) ||
         functionFromName(name) || name == kFunctionPrefix;
}

std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates) {
  constexpr size_t kLongestName = 64;
  if (name.size() > kLongestName) return "";
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const size_t distance = editDistance(name, candidate);
    if (distance >= best_distance || distance >= candidate.size()) continue;
    best = candidate;
    best_distance = distance;
  }
  return best.empty() ? "" : fmt::format("; did you mean '{}'?", best);
}

std::string literalText(const ScalarValue& value, DataType dtype, std::optional<DataType> plain_type) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  const auto* integer = std::get_if<int64_t>(&value);
  const DataType plain = plain_type.value_or(integer != nullptr ? DataType::I64 : DataType::F64);
  const std::string suffix = dtype == plain ? "" : fmt::format("_{}", dataTypeName(dtype));
  if (integer != nullptr) return fmt::format("{}{}", *integer, suffix);
  const double number = std::get<double>(value);
  const std::string_view sign = std::signbit(number) ? "-" : "";
  if (std::isnan(number)) {
    const uint64_t bits = std::bit_cast<uint64_t>(number) & ~kSignBit;
    return fmt::format("{}nan{}{}", sign, suffix, bits == kPlainNaN ? "" : fmt::format("(0x{:x})", bits));
  }
  if (std::isinf(number)) return fmt::format("{}inf{}", sign, suffix);
  return floatText(number, dtype) + suffix;
}

std::string scalarText(const Scalar& scalar, const SymbolNamer& name) {
  if (scalar.isConstant()) return literalText(scalar.value(), scalar.dtype());
  if (scalar.isSymbol()) return name(scalar);
  const auto* infix = std::ranges::find(kInfixOperators, std::optional(scalar.op()), &InfixOperator::scalar_op);
  if (infix != kInfixOperators.end()) {
    return fmt::format("( {} {} {} )", scalarText(*scalar.operand(0), name), infix->symbol,
                       scalarText(*scalar.operand(1), name));
  }
  if (scalar.op() == ScalarOp::Not) return fmt::format("( !{} )", scalarText(*scalar.operand(0), name));
  std::string text = "( ";
  if (scalar.op() == ScalarOp::Cast) {
    text += dataTypeName(scalar.dtype());
  } else if (scalar.op() == ScalarOp::Function) {
    const std::string_view row = functionInfo(scalar.function()).name;
    if (std::ranges::find(kCalls, row, &CallRow::name) != kCalls.end()) text += fmt::format("{}.", kFunctionPrefix);
    text += row;
  } else {
    text += std::ranges::find(kCalls, scalar.op(), &CallRow::op)->name;
  }
  std::string_view separator = "(";
  for (const Scalar* operand : scalar.operands()) {
    text += separator;
    text += scalarText(*operand, name);
    separator = ", ";
  }
  return text + ") )";
}

bool ScalarParser::atLiteral() const {
  const Token& token = tokens_->at("-") ? tokens_->peek(1) : tokens_->peek();
  return token.kind == TokenKind::Integer || token.kind == TokenKind::Float || tokens_->at("true") ||
         tokens_->at("false");
}

ScalarReading ScalarParser::parseReading() { return binary(0); }

// Operators of one level associate to the left, so a loop reads a chain of them.
ScalarReading ScalarParser::binary(int lowest_level) {
  ScalarReading left = unary();
  for (;;) {
    const Token& token = tokens_->peek();
    const InfixOperator* row = token.kind == TokenKind::Punctuation ? findInfix(token.text) : nullptr;
    if (row == nullptr || !row->scalar_op || row->level < lowest_level) return left;
    tokens_->next();
    left = combine(token, *row, left, binary(row->level + 1));
  }
}

ScalarReading ScalarParser::combine(const Token& at, const InfixOperator& row, const ScalarReading& left,
                                    const ScalarReading& right) {
  ScalarReading operands[] = {row.is_swapped ? right : left, row.is_swapped ? left : right};
  adaptPlainLiterals(operands);
  return madeOf(operands, make(at, *row.scalar_op, operands[0].scalar, operands[1].scalar));
}

// Beside constants that have a type; symbols are computed with as exactly as before.
void ScalarParser::adaptPlainLiterals(std::span<ScalarReading> operands) {
  std::optional<DataType> type;
  for (const ScalarReading& operand : operands) {
    if (form_ == ScalarForm::AsWritten || !operand.scalar->isConstant()) return;
    const DataType own = operand.scalar->dtype();
    if (!operand.is_plain_literal) type = type ? promoteTypes(*type, own) : own;
  }
  if (!type) return;
  for (ScalarReading& operand : operands) {
    const bool fits = isFloatingType(*type) || (isIntegerType(*type) && isIntegerType(operand.scalar->dtype()));
    if (operand.is_plain_literal && fits) operand.scalar = fusion_->constant(operand.scalar->value(), *type);
  }
}

ScalarReading ScalarParser::unary() {
  const Token& token = tokens_->peek();
  if (!token.is("-") && !token.is("!")) return primary();
  const TokenKind after = tokens_->peek(1).kind;
  const bool is_literal = token.is("-") && (after == TokenKind::Integer || after == TokenKind::Float);
  tokens_->next();
  if (is_literal) return literal(TokenStream::Sign::Minus);
  if (++depth_ > kMaxNesting) {
    tokens_->fail(token, fmt::format("nested too deeply; expected at most {} levels", kMaxNesting));
  }
  const ScalarReading operand = unary();
  --depth_;
  return prefixed(token, operand);
}

ScalarReading ScalarParser::prefixed(const Token& sign, const ScalarReading& operand) {
  Scalar* scalar = operand.scalar;
  if (sign.is("!")) return {make(sign, ScalarOp::Not, scalar)};
  if (isFloatingType(scalar->dtype())) return functionCall(sign, {operand});
  Scalar* zero = fusion_->constant(int64_t{0}, scalar->dtype());
  return madeOf({&operand, 1}, make(sign, ScalarOp::Sub, zero, scalar));
}

ScalarReading ScalarParser::primary() {
  const Token& token = tokens_->peek();
  if (token.kind == TokenKind::Integer || token.kind == TokenKind::Float) return literal(TokenStream::Sign::Plus);
  if (token.is("true") || token.is("false")) {
    tokens_->next();
    return {fusion_->constant(ScalarValue{token.is("true")}, DataType::Bool)};
  }
  if (token.is("(")) {
    tokens_->next();
    if (++depth_ > kMaxNesting) {
      tokens_->fail(token, fmt::format("nested too deeply; expected at most {} levels", kMaxNesting));
    }
    const ScalarReading inner = binary(0);
    --depth_;
    tokens_->expect(")");
    return inner;
  }
  if (token.kind != TokenKind::Identifier) tokens_->failExpected("a scalar: a number, a name, a call or '('");
  tokens_->next();
  if (tokens_->at("(") || (token.text == kFunctionPrefix && tokens_->at("."))) return call(token);
  Scalar* symbol = lookup_(token.text);
  if (symbol == nullptr) {
    tokens_->fail(token, fmt::format("unknown scalar {}; expected the name of an extent or of a scalar input",
                                     describeToken(token)));
  }
  return {symbol};
}

ScalarReading ScalarParser::literal(TokenStream::Sign sign) {
  const Token& token = tokens_->next();
  const bool is_integer = token.kind == TokenKind::Integer;
  std::optional<DataType> type;
  if (!token.suffix.empty()) {
    type = dataTypeFromName(token.suffix);
    const bool fits_form = type && *type != DataType::Bool && (is_integer || isFloatingType(*type));
    if (!fits_form) {
      tokens_->fail(
          token, fmt::format("the number {} cannot have the type '{}'; expected {}", describeToken(token), token.suffix,
                             is_integer ? "f64, f32, f16, bf16, i64 or i32" : "f64, f32, f16 or bf16"));
    }
  }
  ScalarValue value;
  if (is_integer) {
    value = tokens_->integerOf(token, sign);
  } else {
    double number = token.number;
    const bool has_bits = token.text == "nan" && tokens_->at("(") && tokens_->peek(1).kind == TokenKind::Integer;
    if (has_bits) {
      tokens_->next();
      number = std::bit_cast<double>(tokens_->next().integer & ~kSignBit);
      tokens_->expect(")");
      if (!std::isnan(number))
        tokens_->fail(token, "these are not the bits of a NaN; expected 0x7ff0000000000001 to 0x7fffffffffffffff");
    }
    value = sign == TokenStream::Sign::Minus ? -number : number;
  }
  const DataType dtype = type.value_or(is_integer ? DataType::I64 : DataType::F64);
  const ScalarValue converted = convertValue(value, dtype);
  const bool overflows = is_integer ? isIntegerType(dtype) && converted != value
                                    : std::isinf(asDouble(converted)) && !std::isinf(asDouble(value));
  if (overflows)
    tokens_->fail(token, fmt::format("the number {} does not fit into {}; expected one in its range",
                                     describeToken(token), dataTypeName(dtype)));
  return {fusion_->constant(converted, dtype), !type.has_value()};
}

std::vector<ScalarReading> ScalarParser::operandList() {
  const Token& open = tokens_->expect("(");
  if (++depth_ > kMaxNesting) {
    tokens_->fail(open, fmt::format("nested too deeply; expected at most {} levels", kMaxNesting));
  }
  std::vector<ScalarReading> operands;
  if (!tokens_->at(")")) {
    do operands.push_back(binary(0));
    while (tokens_->accept(","));
  }
  --depth_;
  tokens_->expect(")");
  return operands;
}

ScalarReading ScalarParser::call(const Token& name) {
  const bool is_row = name.text == kFunctionPrefix && tokens_->accept(".");
  const Token& called = is_row ? tokens_->expectIdentifier("the name of a function") : name;
  std::vector<ScalarReading> operands = operandList();
  const auto requireCount = [&](size_t count) {
    if (operands.size() == count) return;
    tokens_->fail(called,
                  fmt::format("{} is given {} operands; expected {}", describeToken(called), operands.size(), count));
  };
  if (!is_row) {
    const auto* row = std::ranges::find(kCalls, called.text, &CallRow::name);
    if (row != kCalls.end()) {
      requireCount(row->arity);
      const auto values = std::span(operands).subspan(row->op == ScalarOp::Select ? 1 : 0);
      adaptPlainLiterals(values);
      Scalar* third = operands.size() > 2 ? operands[2].scalar : nullptr;
      return madeOf(values, make(called, row->op, operands[0].scalar, operands[1].scalar, third));
    }
    if (const auto type = dataTypeFromName(called.text)) {
      requireCount(1);
      return {castOf(called, operands[0].scalar, *type)};
    }
  }
  const auto function = functionFromName(called.text);
  if (!function) {
    tokens_->fail(
        called,
        fmt::format(
            "unknown function {} of scalars; expected ceilDiv, min, max, where, a type or an elementwise function{}",
            describeToken(called), suggestion(called.text, scalarCallNames())));
  }
  requireCount(std::min(static_cast<size_t>(functionInfo(*function).arity), kMaxOperands));
  return functionCall(called, std::move(operands));
}

Scalar* ScalarParser::castOf(const Token& name, Scalar* operand, DataType dtype) {
  if (form_ == ScalarForm::Simplified && operand->isConstant()) return fusion_->constant(operand->value(), dtype);
  return checked(name, fusion_->rawScalar(ScalarOp::Cast, dtype, {&operand, 1}));
}

ScalarReading ScalarParser::functionCall(const Token& name, std::vector<ScalarReading> operands) {
  const FunctionId function = name.is("-") ? FunctionId::neg : *functionFromName(name.text);
  const FunctionInfo& info = functionInfo(function);
  if (static_cast<size_t>(info.arity) > kMaxOperands) {
    tokens_->fail(name, fmt::format("'{}' takes {} operands; expected a function of at most {}", info.name, info.arity,
                                    kMaxOperands));
  }
  const auto values = std::span(operands).subspan(info.rule == TypeRule::Choose ? 1 : 0);
  const bool is_plain = std::ranges::all_of(values, &ScalarReading::is_plain_literal);
  adaptPlainLiterals(values);
  DataType promoted = values.back().scalar->dtype();
  for (const ScalarReading& operand : values) promoted = promoteTypes(promoted, operand.scalar->dtype());
  auto types = functionTypes(function, promoted);
  if (!types) {
    tokens_->fail(name, fmt::format("'{}' is not defined on {}; expected operands of another type", info.name,
                                    dataTypeName(promoted)));
  }
  // What is made of plain integers is as exact as what is made of 1.0.
  const bool becomes_floating = isIntegerType(promoted) && isFloatingType(types->result);
  if (is_plain && becomes_floating && form_ == ScalarForm::Simplified) {
    for (ScalarReading& operand : values) operand.scalar = castOf(name, operand.scalar, DataType::F64);
    types = functionTypes(function, DataType::F64);
  }
  std::vector<Scalar*> scalars;
  for (const ScalarReading& operand : operands) scalars.push_back(operand.scalar);
  Scalar* made = fusion_->rawScalar(ScalarOp::Function, types->result, scalars, function);
  const bool is_constant = std::ranges::all_of(scalars, &Scalar::isConstant);
  if (form_ == ScalarForm::AsWritten || !is_constant) return {checked(name, made)};
  return madeOf(values, fusion_->constant(*evaluate(*made, {}), types->result));
}

int ScalarParser::treeDepth(const Scalar& scalar) {
  if (const auto found = tree_depth_.find(&scalar); found != tree_depth_.end()) return found->second;
  int depth = 0;
  for (const Scalar* operand : scalar.operands()) depth = std::max(depth, treeDepth(*operand) + 1);
  return tree_depth_[&scalar] = depth;
}

Scalar* ScalarParser::checked(const Token& at, Scalar* scalar) {
  if (treeDepth(*scalar) <= kMaxNesting) return scalar;
  tokens_->fail(at, fmt::format("the expression is too long; expected at most {} levels of operators", kMaxNesting));
}

Scalar* ScalarParser::make(const Token& at, ScalarOp op, Scalar* a, Scalar* b, Scalar* c) {
  Scalar* operands[] = {a, b, c};
  const size_t count = c != nullptr ? 3 : b != nullptr ? 2 : 1;
  if (form_ == ScalarForm::AsWritten)
    return checked(at, fusion_->rawScalar(op, typeOf(op, a, b, c), {operands, count}));
  return checked(at, fusion_->scalar(op, a, b, c));
}

}  // namespace tokamak
