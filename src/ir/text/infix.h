// Infix operators: how tightly each binds, and what it stands for between scalars and between tensors.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "symbolic/scalar.h"

namespace tokamak {

struct InfixOperator {
  std::string_view symbol;
  int level;                          ///< the higher, the tighter; operators of one level associate to the left
  std::optional<ScalarOp> scalar_op;  ///< nothing: scalars are not combined by it
  std::string_view function;          ///< the call that it is where an operand is a tensor
  bool is_swapped = false;            ///< the scalar op takes the operands in the other order
};

inline constexpr int kEqualityLevel = 2;
inline constexpr int kOrderLevel = 3;

inline constexpr std::array<InfixOperator, 19> kInfixOperators = {{
    {"||", 0, ScalarOp::Or, "logical_or"},
    {"&&", 1, ScalarOp::And, "logical_and"},
    {"==", kEqualityLevel, ScalarOp::Equal, "eq"},
    {"!=", kEqualityLevel, ScalarOp::NotEqual, "ne"},
    {"<", kOrderLevel, ScalarOp::Less, "lt"},
    {"<=", kOrderLevel, ScalarOp::LessEqual, "le"},
    {">", kOrderLevel, ScalarOp::Less, "gt", true},
    {">=", kOrderLevel, ScalarOp::LessEqual, "ge", true},
    {"|", 4, std::nullopt, "bitwise_or"},
    {"^", 5, std::nullopt, "bitwise_xor"},
    {"&", 6, std::nullopt, "bitwise_and"},
    {"<<", 7, std::nullopt, "bitwise_left_shift"},
    {">>", 7, std::nullopt, "bitwise_right_shift"},
    {"+", 8, ScalarOp::Add, "add"},
    {"-", 8, ScalarOp::Sub, "sub"},
    {"*", 9, ScalarOp::Mul, "mul"},
    {"/", 9, ScalarOp::FloorDiv, "div"},
    {"%", 9, ScalarOp::Mod, "mod"},
    {"@", 9, std::nullopt, "matmul"},
}};

/// The operator that is spelled so; null: none.
constexpr const InfixOperator* findInfix(std::string_view symbol) {
  for (const InfixOperator& row : kInfixOperators) {
    if (row.symbol == symbol) return &row;
  }
  return nullptr;
}

}  // namespace tokamak
