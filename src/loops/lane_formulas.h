// The rows of the function table that are computed on vectors, with the meaning of their formulas
// (symbolic/formulas.h), bit for bit. What is not here is computed element by element: functions of the C library,
// remainders, integer division and powers.
#pragma once

#include <limits>

#include "loops/lanes.h"
#include "symbolic/function_table.h"

namespace tokamak::lanes {

template <class V>
inline constexpr bool is_floating = std::is_floating_point_v<Element<V>>;

template <class V>
TK_LANES V add(V x, V y) {
  if constexpr (is_floating<V>)
    return x + y;
  else
    return reinterpret_cast<V>(reinterpret_cast<UnsignedLanes<V>>(x) + reinterpret_cast<UnsignedLanes<V>>(y));
}

template <class V>
TK_LANES V subtract(V x, V y) {
  if constexpr (is_floating<V>)
    return x - y;
  else
    return reinterpret_cast<V>(reinterpret_cast<UnsignedLanes<V>>(x) - reinterpret_cast<UnsignedLanes<V>>(y));
}

template <class V>
TK_LANES V multiply(V x, V y) {
  if constexpr (is_floating<V>)
    return x * y;
  else
    return reinterpret_cast<V>(reinterpret_cast<UnsignedLanes<V>>(x) * reinterpret_cast<UnsignedLanes<V>>(y));
}

template <class V>
TK_LANES V negate(V x) {
  if constexpr (is_floating<V>)
    return -x;
  else
    return subtract(V{}, x);
}

template <class V>
TK_LANES auto signMask(V x) {
  return reinterpret_cast<SignedLanes<V>>(x) < 0;
}

template <class V>
TK_LANES V absolute(V x) {
  using Bits = UnsignedOf<sizeof(Element<V>)>;
  if constexpr (is_floating<V>)
    return reinterpret_cast<V>(reinterpret_cast<UnsignedLanes<V>>(x) & static_cast<Bits>(~Bits{0} >> 1U));
  else
    return signMask(x) ? negate(x) : x;
}

template <class V>
TK_LANES auto isNaN(V x) {
  return x != x;
}

template <class V>
TK_LANES auto isInfinite(V x) {
  using Limits = std::numeric_limits<Element<V>>;
  if constexpr (is_floating<V>)
    return absolute(x) == Limits::infinity();
  else
    return isNaN(x);
}

template <class V>
TK_LANES auto isFinite(V x) {
  using Limits = std::numeric_limits<Element<V>>;
  if constexpr (is_floating<V>)
    return absolute(x) <= Limits::max();
  else
    return x == x;
}

// NaN if either is NaN: a comparison with one is false and gives y, so that only x is asked. Of two zeros the positive
// one is the larger.
template <class V>
TK_LANES V larger(V x, V y) {
  if constexpr (is_floating<V>) {
    const V unequal = x > y ? x : y;
    const V number = x == y ? (signMask(x) ? y : x) : unequal;
    return isNaN(x) ? x : number;
  } else {
    return x > y ? x : y;
  }
}

template <class V>
TK_LANES V smaller(V x, V y) {
  if constexpr (is_floating<V>) {
    const V unequal = x < y ? x : y;
    const V number = x == y ? (signMask(x) ? x : y) : unequal;
    return isNaN(x) ? x : number;
  } else {
    return x < y ? x : y;
  }
}

template <class V>
TK_LANES V largerNumber(V x, V y) {
  return isNaN(x) ? y : (isNaN(y) ? x : larger(x, y));
}

template <class V>
TK_LANES V smallerNumber(V x, V y) {
  return isNaN(x) ? y : (isNaN(y) ? x : smaller(x, y));
}

template <class V>
TK_LANES V signOf(V x) {
  const V sign = x > 0 ? splat<V>(1) : (x < 0 ? splat<V>(-1) : V{});
  return isNaN(x) ? x : sign;
}

template <class V>
TK_LANES V interpolate(V x, V y, V t) {
  return absolute(t) < Element<V>(0.5) ? x + t * (y - x) : y - (y - x) * (Element<V>(1) - t);
}

template <class V>
TK_LANES V withSignOf(V magnitude, V x) {
  using Bits = UnsignedOf<sizeof(Element<V>)>;
  const auto sign = reinterpret_cast<UnsignedLanes<V>>(x) & (Bits{1} << (sizeof(Bits) * 8 - 1));
  return reinterpret_cast<V>(reinterpret_cast<UnsignedLanes<V>>(absolute(magnitude)) | sign);
}

// To the nearest integer, halves to the even one: beside so large a number there is room for integers only. What is as
// large is one.
template <class V>
TK_LANES V nearest(V x) {
  if constexpr (is_floating<V>) {
    constexpr Element<V> large = Element<V>(1) / std::numeric_limits<Element<V>>::epsilon();
    const V magnitude = absolute(x);
    return magnitude < large ? withSignOf(magnitude + large - large, x) : x;
  } else {
    return x;
  }
}

template <class V>
TK_LANES V floorOf(V x) {
  const V near = nearest(x);
  if constexpr (is_floating<V>)
    return near > x ? near - Element<V>(1) : near;
  else
    return near;
}

template <class V>
TK_LANES V ceilOf(V x) {
  if constexpr (is_floating<V>)
    return -floorOf(-x);
  else
    return x;
}

template <class V>
TK_LANES V truncated(V x) {
  if constexpr (is_floating<V>)
    return withSignOf(floorOf(absolute(x)), x);
  else
    return x;
}

template <class T, class V>
TK_LANES V bitNot(V x) {
  if constexpr (std::is_same_v<T, bool>)
    return x ^ 1;
  else
    return ~x;
}

// A count outside [0, width) becomes one that a processor shifts by, and the result 0.
template <class V, class Shift>
TK_LANES V shifted(V x, V count, Shift shift) {
  using U = UnsignedLanes<V>;
  const auto bits = reinterpret_cast<U>(count);
  const auto in_range = bits < static_cast<Element<U>>(sizeof(Element<V>) * 8);
  return in_range ? reinterpret_cast<V>(shift(reinterpret_cast<U>(x), in_range ? bits : U{})) : V{};
}

struct ToTheLeft {
  template <class U>
  TK_LANES U operator()(U x, U count) const {
    return x << count;
  }
};
struct ToTheRight {
  template <class U>
  TK_LANES U operator()(U x, U count) const {
    return x >> count;
  }
};

// Signs are shifted in as zeros of the complement: not every processor shifts them in by itself.
template <class V>
TK_LANES V shiftRight(V x, V count) {
  const V sign = reinterpret_cast<V>(signMask(x));
  return shifted(x ^ sign, count, ToTheRight()) ^ sign;
}

// As formula::philoxWord; the words are the lower halves of 64-bit lanes. Two lanes are slower than one element after
// the other.
template <class V>
TK_LANES V philoxWord(V index, V number, V seed, V offset) {
  using U = UnsignedLanes<V>;
  constexpr uint64_t word = 0xFFFFFFFF;
  const U position = reinterpret_cast<U>(index);
  const U low = (position >> 2U) + reinterpret_cast<U>(offset);
  U counter[4] = {low & word, low >> 32U, reinterpret_cast<U>(number) & word, reinterpret_cast<U>(number) >> 32U};
  U keys[2] = {reinterpret_cast<U>(seed) & word, reinterpret_cast<U>(seed) >> 32U};
  for (int round = 0; round < 10; ++round) {
    const U first = counter[0] * uint64_t{0xD2511F53};
    const U second = counter[2] * uint64_t{0xCD9E8D57};
    counter[0] = (second >> 32U) ^ counter[1] ^ keys[0];
    counter[1] = second & word;
    counter[2] = (first >> 32U) ^ counter[3] ^ keys[1];
    counter[3] = first & word;
    keys[0] = (keys[0] + uint64_t{0x9E3779B9}) & word;
    keys[1] = (keys[1] + uint64_t{0xBB67AE85}) & word;
  }
  const U lower = (position & 1U) == 0 ? counter[0] : counter[1];
  const U upper = (position & 1U) == 0 ? counter[2] : counter[3];
  return reinterpret_cast<V>((position & 2U) == 0 ? lower : upper);
}

/// X(name, for which T and numbers of lanes, formula over vectors x, y, z, w). What tests give, and x of `where`, are
/// masks.
// clang-format off
#define TK_LANE_FUNCTIONS(X) \
  X(abs, true, absolute(x)) \
  X(bitwise_not, true, bitNot<T>(x)) \
  X(ceil, true, ceilOf(x)) \
  X(floor, true, floorOf(x)) \
  X(frac, true, subtract(x, truncated(x))) \
  X(isfinite, true, isFinite(x)) \
  X(isinf, true, isInfinite(x)) \
  X(isnan, true, isNaN(x)) \
  X(isneginf, true, isInfinite(x) & (x < 0)) \
  X(isposinf, true, isInfinite(x) & (x > 0)) \
  X(logical_not, true, x == 0) \
  X(neg, true, negate(x)) \
  X(reciprocal, true, T(1) / x) \
  X(relu, true, x < 0 ? V{} : x) \
  X(round, true, nearest(x)) \
  X(rsqrt, true, T(1) / squareRoot(x)) \
  X(sign, true, signOf(x)) \
  X(signbit, !is_bool, signMask(x)) \
  X(sqrt, true, squareRoot(x)) \
  X(trunc, true, truncated(x)) \
  X(add, true, add(x, y)) \
  X(bitwise_and, true, x & y) \
  X(bitwise_left_shift, true, shifted(x, y, ToTheLeft())) \
  X(bitwise_or, true, x | y) \
  X(bitwise_right_shift, true, shiftRight(x, y)) \
  X(bitwise_xor, true, x ^ y) \
  X(div, std::is_floating_point_v<T>, x / y) \
  X(eq, true, x == y) \
  X(fmax, true, largerNumber(x, y)) \
  X(fmin, true, smallerNumber(x, y)) \
  X(ge, true, x >= y) \
  X(gt, true, x > y) \
  X(le, true, x <= y) \
  X(logical_and, true, (x & y) != 0) \
  X(logical_or, true, (x | y) != 0) \
  X(logical_right_shift, true, shifted(x, y, ToTheRight())) \
  X(lt, true, x < y) \
  X(maximum, true, larger(x, y)) \
  X(minimum, true, smaller(x, y)) \
  X(mul, true, multiply(x, y)) \
  X(ne, true, x != y) \
  X(sub, true, subtract(x, y)) \
  X(truediv, true, x / y) \
  X(add_alpha, true, add(x, multiply(y, z))) \
  X(clamp, true, smaller(larger(x, y), z)) \
  X(lerp, true, interpolate(x, y, z)) \
  X(sub_alpha, true, subtract(x, multiply(y, z))) \
  X(threshold, true, x <= y ? z : x) \
  X(where, true, x ? y : z) \
  X(addcmul, true, add(x, multiply(w, multiply(y, z)))) \
  X(philox, (std::is_same_v<T, int64_t> && count >= 4), philoxWord(x, y, z, w))
// clang-format on

/// Of a row, the type that it computes with and a number of lanes: whether it has a formula over vectors, and that.
template <FunctionId id, class T, int64_t count>
struct LaneFormula {
  static constexpr bool kExists = false;
};

#define TK_ROW(name, over, ...)                                                                      \
  template <class T, int64_t count>                                                                  \
  struct LaneFormula<function_id::name, T, count> {                                                  \
    static constexpr bool is_bool = std::is_same_v<T, bool>;                                         \
    static constexpr bool kExists = over;                                                            \
    template <class X, class V>                                                                      \
    TK_LANES static auto of(X x, [[maybe_unused]] V y, [[maybe_unused]] V z, [[maybe_unused]] V w) { \
      return __VA_ARGS__;                                                                            \
    }                                                                                                \
  };
TK_LANE_FUNCTIONS(TK_ROW)
#undef TK_ROW

}  // namespace tokamak::lanes
