// FunctionLoops<T>: a loop for every row of the function table that computes with T; instantiated in one file per type, so
// that no file takes long to compile.
#pragma once

#include "base/error.h"
#include "ir/formulas.h"
#include "runtime/cpu/typed_loops.h"

namespace tokamak {

template <class T>
constexpr bool takesType(TypeRule rule) {
  constexpr bool is_floating = std::is_floating_point_v<T>;
  constexpr bool is_bool = std::is_same_v<T, bool>;
  switch (rule) {
    case TypeRule::Float: return is_floating;
    case TypeRule::Logical: return is_bool;
    case TypeRule::Numeric: return !is_bool;
    case TypeRule::Bitwise: return !is_floating;
    case TypeRule::Integer: return !is_floating && !is_bool;
    case TypeRule::Any:
    case TypeRule::Test:
    case TypeRule::Compare:
    case TypeRule::Choose: return true;
  }
  return false;
}

template <class T>
struct FunctionLoops {
  // F(first operand, others): a row's formula; C is the first operand's type.
  template <int arity, class C, class F>
  TK_PER_PROCESSOR static void loop(void* out, const void* const* in, int64_t n, F formula) {
    using R = decltype(formula(C{}, T{}, T{}, T{}));
    auto* const to = static_cast<R*>(out);
    const auto* const x = static_cast<const C*>(in[0]);
    const auto* const y = arity > 1 ? static_cast<const T*>(in[1]) : nullptr;
    const auto* const z = arity > 2 ? static_cast<const T*>(in[2]) : nullptr;
    const auto* const w = arity > 3 ? static_cast<const T*>(in[3]) : nullptr;
    TK_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (arity == 1) to[i] = formula(x[i], T{}, T{}, T{});
      if constexpr (arity == 2) to[i] = formula(x[i], y[i], T{}, T{});
      if constexpr (arity == 3) to[i] = formula(x[i], y[i], z[i], T{});
      if constexpr (arity == 4) to[i] = formula(x[i], y[i], z[i], w[i]);
    }
  }

  static FunctionLoop find(FunctionId id);
};

// A row's formula as a function object; unused operands are named, so that no row needs to know which it has.
#define TK_FORMULA(name, result, ...)                                                      \
  [](auto x, [[maybe_unused]] T y, [[maybe_unused]] T z, [[maybe_unused]] T w) -> result { \
    using namespace formula;                                                               \
    static_cast<void>(x);                                                                  \
    return static_cast<result>(__VA_ARGS__);                                               \
  }

template <class T>
FunctionLoop FunctionLoops<T>::find(FunctionId id) {
  switch (id) {
#define TK_ROW(name, arity, rule, accuracy, infix, ...)                                                        \
  case FunctionId::name:                                                                                       \
    if constexpr (takesType<T>(TypeRule::rule)) {                                                              \
      return [](void* out, const void* const* in, int64_t n) {                                                 \
        constexpr bool gives_bool = TypeRule::rule == TypeRule::Test || TypeRule::rule == TypeRule::Compare || \
                                    TypeRule::rule == TypeRule::Logical;                                       \
        using R = std::conditional_t<gives_bool, bool, T>;                                                     \
        using C = std::conditional_t<TypeRule::rule == TypeRule::Choose, bool, T>;                             \
        loop<arity, C>(out, in, n, TK_FORMULA(name, R, __VA_ARGS__));                                          \
      };                                                                                                       \
    }                                                                                                          \
    break;
    TK_FUNCTIONS(TK_ROW)  // NOLINT(google-build-using-namespace): the table's formulas are written in its words
#undef TK_ROW
  }
  TK_RAISE(Internal, "{} does not compute with this type", functionInfo(id).name);
}

}  // namespace tokamak
