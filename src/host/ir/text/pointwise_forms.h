// Pointwise forms: elementwise functions and casts as infix symbols and calls.
#pragma once

#include "host/ir/text/math_forms.h"

namespace tokamak {

/// True for expressions that this file writes: rows of the function table and casts.
bool isPointwise(const Expr& expr);
std::string pointwiseText(TextWriter& writer, const Expr& expr, const std::string& indent);

/// What a call's name stands for: "exp", "expf", "__float2half".
struct PointwiseName {
  OpKind kind;
  FunctionId function{};
  DataType from{};
  DataType to{};
};
std::optional<PointwiseName> pointwiseName(std::string_view name);
/// Reads the operands after '('.
Fields readPointwise(TextReader& reader, const PointwiseName& name, const TensorView* out, const Token& at);
/// Reads "-T0" or "T0 + T1" after "=" and appends the expression.
Expr* readInfix(TextReader& reader, TensorView* out, const Token& start);

}  // namespace tokamak
