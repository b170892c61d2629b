// The elementwise functions as a user calls them: one C++ function per row of symbolic/function_table.h.
//
//   TensorView* y = mul(add(x, bias), 0.5);
//
// Operands are tensors, scalars of the fusion and C++ numbers; at least one belongs to a fusion. The result is a tensor
// if an operand is one, else a scalar. Operands become one type (define/promotion.h, and the type rules of the table),
// half types compute in f32 and give f32, and tensors of lower rank get leading broadcast axes.
#pragma once

#include <initializer_list>

#include "base/export.h"
#include "define/operand.h"
#include "symbolic/function_table.h"

namespace tokamak {

/// The function applied to the operands: casts, broadcasts and the op itself; scalars alone give a Scalar.
/// Errors: Definition for a wrong number of operands, a type the rule refuses, and sizes that do not broadcast.
TOKAMAK_EXPORT Val* applyFunction(FunctionId id, std::span<const Operand> operands);

namespace defining {

template <class T>
concept IsNode = std::is_pointer_v<T> && std::is_base_of_v<Val, std::remove_pointer_t<T>>;
template <class T>
concept IsOperand = IsNode<T> || std::is_arithmetic_v<T> || std::is_same_v<T, Operand>;

template <class... Ts>
consteval auto resultOf() {
  if constexpr ((std::is_same_v<Ts, TensorView*> || ...))
    return static_cast<TensorView*>(nullptr);
  else if constexpr (((std::is_same_v<Ts, Scalar*> || std::is_arithmetic_v<Ts>) && ...))
    return static_cast<Scalar*>(nullptr);
  else
    return static_cast<Val*>(nullptr);
}
template <class... Ts>
using ResultOf = decltype(resultOf<Ts...>());

}  // namespace defining

/// C++'s own functions of the same names are not meant by calls without a node of a fusion: those do not compile.
#define TK_DEFINE_FUNCTION(name, arity, ...)                                               \
  template <defining::IsOperand... Ts>                                                     \
    requires(sizeof...(Ts) == (arity) && (defining::IsNode<Ts> || ...))                    \
  defining::ResultOf<Ts...> name(Ts... operands) {                                         \
    const Operand list[] = {Operand(operands)...};                                         \
    return static_cast<defining::ResultOf<Ts...>>(applyFunction(function_id::name, list)); \
  }
TK_FUNCTIONS(TK_DEFINE_FUNCTION)
#undef TK_DEFINE_FUNCTION

}  // namespace tokamak
