// FunctionLoops<T>: a loop for every row of the function table that computes with T; instantiated in one file per type,
// so that no file takes long to compile.
#pragma once

#include "base/require.h"
#include "loops/lane_formulas.h"
#include "symbolic/formulas.h"
#include "symbolic/function_table.h"

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

// A row's loop. Formula: of one element; R and C: the types of the result and of the first operand.
template <FunctionId id, int arity, TypeRule kRule, class R, class C, class T, class Formula>
struct FunctionBody {
  template <int64_t bytes>
  TK_LANES static void run(void* out, const void* const* in, int64_t n) {
    auto* const to = static_cast<R*>(out);
    const auto* const x = static_cast<const C*>(in[0]);
    const auto* const y = arity > 1 ? static_cast<const T*>(in[1]) : nullptr;
    const auto* const z = arity > 2 ? static_cast<const T*>(in[2]) : nullptr;
    const auto* const w = arity > 3 ? static_cast<const T*>(in[3]) : nullptr;
    constexpr int64_t count = lanes::kLaneCount<bytes, T>;
    int64_t i = 0;
    if constexpr (lanes::LaneFormula<id, T, count>::kExists) {
      for (; i + count <= n; i += count) lanes::store(to + i, ofLanes<count>(x, y, z, w, i));
    }
    for (; i < n; ++i) {
      if constexpr (arity == 1) to[i] = Formula{}(x[i], T{}, T{}, T{});
      if constexpr (arity == 2) to[i] = Formula{}(x[i], y[i], T{}, T{});
      if constexpr (arity == 3) to[i] = Formula{}(x[i], y[i], z[i], T{});
      if constexpr (arity == 4) to[i] = Formula{}(x[i], y[i], z[i], w[i]);
    }
  }

 private:
  template <int64_t count>
  TK_LANES static auto ofLanes(const C* x, const T* y, const T* z, const T* w, int64_t i) {
    using V = lanes::Vector<T, count>;
    const auto first = lanes::load<C, count>(x + i);
    V second{};
    V third{};
    V fourth{};
    if constexpr (arity > 1) second = lanes::load<T, count>(y + i);
    if constexpr (arity > 2) third = lanes::load<T, count>(z + i);
    if constexpr (arity > 3) fourth = lanes::load<T, count>(w + i);
    using Lanes = lanes::LaneFormula<id, T, count>;
    if constexpr (kRule == TypeRule::Choose)
      return Lanes::of(lanes::maskOf<T>(first), second, third, fourth);
    else if constexpr (kRule == TypeRule::Test || kRule == TypeRule::Compare || kRule == TypeRule::Logical)
      return lanes::boolsOf(Lanes::of(first, second, third, fourth));
    else
      return Lanes::of(first, second, third, fourth);
  }
};

template <class T>
struct FunctionLoops {
  static FunctionLoop find(FunctionId id, VectorWidth width);
};

// A row's formula as a function object; unused operands are named, so that no row needs to know which it has.
#define TK_FORMULA(name, result, ...)                                                      \
  [](auto x, [[maybe_unused]] T y, [[maybe_unused]] T z, [[maybe_unused]] T w) -> result { \
    using namespace formula;                                                               \
    static_cast<void>(x);                                                                  \
    return static_cast<result>(__VA_ARGS__);                                               \
  }

template <class T>
FunctionLoop FunctionLoops<T>::find(FunctionId id, VectorWidth width) {
  switch (function_table::rowOf(id)) {
#define TK_ROW(name, arity, rule, accuracy, infix, meaning, ...)                                                  \
  case function_table::Row::name:                                                                                 \
    if constexpr (takesType<T>(TypeRule::rule)) {                                                                 \
      constexpr bool gives_bool = TypeRule::rule == TypeRule::Test || TypeRule::rule == TypeRule::Compare ||      \
                                  TypeRule::rule == TypeRule::Logical;                                            \
      using R = std::conditional_t<gives_bool, bool, T>;                                                          \
      using C = std::conditional_t<TypeRule::rule == TypeRule::Choose, bool, T>;                                  \
      constexpr auto of_one = TK_FORMULA(name, R, __VA_ARGS__);                                                   \
      using Body =                                                                                                \
          FunctionBody<function_id::name, arity, TypeRule::rule, R, C, T, std::remove_const_t<decltype(of_one)>>; \
      return lanes::loopOf<Body, FunctionLoop>(width);                                                            \
    }                                                                                                             \
    break;
    TK_FUNCTIONS(TK_ROW)  // NOLINT(google-build-using-namespace): the table's formulas are written in its words
#undef TK_ROW
  }
  TK_RAISE(Internal, "{} does not compute with this type", functionInfo(id).name);
}

}  // namespace tokamak
