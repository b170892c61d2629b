// What is known of an elementwise function: its id, its type rule, its accuracy. The functions are the rows of
// symbolic/function_table.h, which few sources see, so that a new row rebuilds little.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/export.h"
#include "symbolic/data_type.h"

namespace tokamak {

/// Which operand types a function takes and which type it gives. Operands are first promoted to one common type; half
/// types are computed in f32 and give f32.
enum class TypeRule : uint8_t {
  Float,    ///< integers and bool become f32; gives the floating type
  Numeric,  ///< bool becomes i64; gives the common type
  Any,      ///< gives the common type, bool included
  Test,     ///< any type; gives bool
  Compare,  ///< any common type; gives bool
  Logical,  ///< operands become bool (non-zero is true); gives bool
  Bitwise,  ///< integers and bool; gives the common type; floating types are refused
  Integer,  ///< integers; gives the common type; bool and floating types are refused
  Choose,   ///< operand 0 becomes bool; the others and the result have the common type of the others
};

/// What the numerics policy may assume of one function.
enum class Accuracy : uint8_t {
  Exact,    ///< the result is one of the operands, or differs in sign only
  Rounded,  ///< the exact result rounded once (or a few times, for formulas of several operations)
  Approx,   ///< within 4 ulp of f32 (or of f64)
  Step,     ///< discontinuous: compared on exact values
};

/// A function. The compiler knows those that have a name here; every other row of the table has an id above them
/// (function_id of symbolic/function_table.h).
enum class FunctionId : uint8_t {
  abs,
  add,
  add_alpha,
  addcmul,
  bitwise_right_shift,
  ceil,
  cos,
  div,
  eq,
  erf,
  exp,
  exp2,
  exp_term,
  floor,
  fmax,
  fmin,
  ge,
  gt,
  isfinite,
  isinf,
  isnan,
  isneginf,
  isposinf,
  isreal,
  le,
  lerp,
  lgamma,
  logical_and,
  logical_not,
  logical_or,
  logical_right_shift,
  lt,
  maximum,
  minimum,
  mul,
  ne,
  neg,
  philox,
  pow,
  reciprocal,
  relu,
  round,
  rsqrt,
  sigmoid,
  sign,
  signbit,
  silu,
  sin,
  sqrt,
  sub,
  sub_alpha,
  tan,
  tanh,
  threshold,
  truediv,
  trunc,
  where,
};

struct FunctionInfo {
  FunctionId id;
  std::string_view name;
  int arity;
  TypeRule rule;
  Accuracy accuracy;
  std::string_view infix;    ///< the symbol in dumps, or ""
  std::string_view meaning;  ///< in words, for docs/ops.md
};

/// All functions, in the order of the table: by arity, then by name.
TOKAMAK_EXPORT std::span<const FunctionInfo> allFunctions();
/// The names, by id.
TOKAMAK_EXPORT std::span<const std::string_view> functionNames();

TOKAMAK_EXPORT const FunctionInfo& functionInfo(FunctionId id);
TOKAMAK_EXPORT std::optional<FunctionId> functionFromName(std::string_view name);
TOKAMAK_EXPORT std::optional<FunctionId> functionFromInfix(std::string_view symbol, int arity);

/// The types a function computes with: of operand `i` and of the result, given the promoted type of all operands (for
/// Choose: of all but operand 0). Nothing when the rule refuses the type.
struct FunctionTypes {
  DataType operand;
  DataType result;
};
TOKAMAK_EXPORT std::optional<FunctionTypes> functionTypes(FunctionId id, DataType promoted);

}  // namespace tokamak
