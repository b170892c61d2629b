#include "host/ir/text/pointwise_forms.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/math/cast_op.h"
#include "ir/ops/math/pointwise_op.h"
#include "symbolic/functions.h"

namespace tokamak {

namespace {

std::string castName(DataType from, DataType to) {
  const auto bare = [](DataType type) {
    const std::string_view name = dumpName(type);
    return name.substr(std::min(name.find_first_not_of('_'), name.size()));
  };
  return fmt::format("__{}2{}", bare(from), bare(to));
}

// A function of float operands has the suffix of C's function for float.
bool hasFloatSuffix(const PointwiseOp& op) {
  return op.ins.size() == 1 && functionInfo(op.function).rule == TypeRule::Float && op.out->dtype() == DataType::F32;
}

EnumValue functionValue(FunctionId id) {
  for (const Field& field : defaultFields(OpKind::PointwiseOp)) {
    if (field.role != FieldRole::Spelling) continue;
    EnumValue value = std::get<EnumValue>(field.value);
    value.index = static_cast<size_t>(id);
    return value;
  }
  return {};
}

Fields pointwiseFields(FunctionId id, std::vector<Val*> ins) {
  return {{FieldRole::Spelling, "function", functionValue(id)}, {FieldRole::OperandList, "in", std::move(ins)}};
}

}  // namespace

bool isPointwise(const Expr& expr) { return expr.is<PointwiseOp>() || expr.is<CastOp>(); }

std::string pointwiseText(TextWriter& writer, const Expr& expr, const std::string& indent) {
  if (const auto* cast = expr.as<CastOp>()) {
    return fmt::format("{}({});", castName(cast->in->dtype(), cast->dtype), writer.tensor(*cast->in));
  }
  const auto& op = *expr.as<PointwiseOp>();
  const FunctionInfo& info = functionInfo(op.function);
  const std::vector<std::string> ins = textsOf(op.ins, [&](const Val* in) { return writer.val(in); });
  if (ins.size() == 1 && op.function == FunctionId::neg && asTensor(op.ins[0]) != nullptr)
    return fmt::format("-{};", ins[0]);
  if (ins.size() == 2 && !info.infix.empty()) return fmt::format("{}\n{}   {} {};", ins[0], indent, info.infix, ins[1]);
  return fmt::format("{}{}({});", info.name, hasFloatSuffix(op) ? "f" : "",
                     joined(ins, fmt::format("\n{}  , ", indent)));
}

std::optional<PointwiseName> pointwiseName(std::string_view name) {
  if (const auto function = functionFromName(name))
    return PointwiseName{.kind = OpKind::PointwiseOp, .function = *function};
  if (name.ends_with('f')) {
    const auto function = functionFromName(name.substr(0, name.size() - 1));
    const bool takes_suffix =
        function && functionInfo(*function).rule == TypeRule::Float && functionInfo(*function).arity == 1;
    if (takes_suffix) return PointwiseName{.kind = OpKind::PointwiseOp, .function = *function};
  }
  if (!name.starts_with("__")) return std::nullopt;
  for (const DataType from : kAllDataTypes) {
    for (const DataType to : kAllDataTypes) {
      if (castName(from, to) == name) return PointwiseName{.kind = OpKind::CastOp, .from = from, .to = to};
    }
  }
  return std::nullopt;
}

Fields readPointwise(TextReader& reader, const PointwiseName& name, const TensorView* out, const Token& at) {
  TokenStream& tokens = reader.tokens();
  if (name.kind == OpKind::CastOp) {
    TensorView* in = reader.tensor();
    if (in->dtype() != name.from) {
      tokens.fail(at, fmt::format("'{}' converts {}, but its operand is {}", at.text, dumpName(name.from),
                                  dumpName(in->dtype())));
    }
    if (out->dtype() != name.to) {
      tokens.fail(
          at, fmt::format("'{}' gives {}, but its result is {}", at.text, dumpName(name.to), dumpName(out->dtype())));
    }
    return {{FieldRole::Operand, "in", in}, {FieldRole::Attribute, "dtype", name.to}};
  }
  std::vector<Val*> ins;
  do ins.push_back(reader.val());
  while (tokens.accept(","));
  const auto arity = static_cast<size_t>(functionInfo(name.function).arity);
  if (ins.size() != arity)
    tokens.fail(at, fmt::format("'{}' is given {} operands; it takes {}", at.text, ins.size(), arity));
  return pointwiseFields(name.function, std::move(ins));
}

Expr* readInfix(TextReader& reader, TensorView* out, const Token& start) {
  TokenStream& tokens = reader.tokens();
  const auto finish = [&](FunctionId function, std::vector<Val*> ins) {
    tokens.accept(";");
    Fields fields = pointwiseFields(function, std::move(ins));
    fields.push_back({FieldRole::Result, "out", out});
    return appendFields(reader, OpKind::PointwiseOp, fields, start);
  };
  const auto operand = [&]() -> Val* {
    const Token& token = tokens.peek();
    const bool is_val = reader.atTensor() || token.is("(") || token.is("-") || token.kind == TokenKind::Identifier ||
                        token.kind == TokenKind::Integer;
    if (!is_val) tokens.failExpected("an operation or an operand");
    return reader.val();
  };
  if (tokens.at("-") && startsTensor(tokens.peek(1))) {
    tokens.next();
    return finish(FunctionId::neg, {reader.tensor()});
  }
  Val* left = operand();
  const Token& symbol = tokens.peek();
  const auto function = symbol.kind == TokenKind::Punctuation ? functionFromInfix(symbol.text, 2) : std::nullopt;
  if (!function) tokens.failExpected("an infix symbol such as '+'");
  tokens.next();
  return finish(*function, {left, operand()});
}

}  // namespace tokamak
