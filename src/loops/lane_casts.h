// Casts between types on vectors, with the meaning of formula::convert and base/half.h, bit for bit.
#pragma once

#include <bit>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>  // declares the builtins of wide vectors, which are used where the vectors are
#endif

#include "loops/lanes.h"

namespace tokamak::lanes {

template <class T>
inline constexpr bool is_real = std::is_floating_point_v<T> || is_half<T>;

/// Not those between i64 and floating types, nor from what is wider than f32 to half types (those round to odd first).
template <class To, class From>
inline constexpr bool has_lane_cast =
    std::is_same_v<To, From> ||
    !((std::is_same_v<From, int64_t> && is_real<To>) || (std::is_same_v<To, int64_t> && is_real<From>) ||
      (std::is_same_v<From, int32_t> && is_half<To>) || (std::is_same_v<From, double> && is_half<To>));

template <class T, class V>
TK_LANES auto bitsAs(V lanes) {
  return reinterpret_cast<Vector<T, kLanesOf<V>>>(lanes);
}

// As toFloat of base/half.h.
template <class H, class V>
TK_LANES auto floatsOf(V halves) {
  const auto bits = resized<uint32_t>(halves);
  if constexpr (std::is_same_v<H, BFloat16>) {
    return bitsAs<float>(bits << 16U);
  } else {
    const auto magnitude = bits & 0x7fffU;
    const auto scaled = bitsAs<float>(magnitude << 13U) * std::bit_cast<float>(0x77800000U);
    const auto is_special = bitsAs<int32_t>(magnitude) >= 0x7c00;
    const auto number = is_special ? (magnitude << 13U) | 0x7f800000U : bitsAs<uint32_t>(scaled);
    return bitsAs<float>(number | (bits & 0x8000U) << 16U);
  }
}

// As toHalf and toBFloat16 of base/half.h. Magnitudes are compared as signed numbers, which they fit.
template <class H, class V>
TK_LANES auto halvesOf(V floats) {
  const auto bits = bitsAs<uint32_t>(floats);
  const auto magnitude = bits & 0x7fffffffU;
  const auto is_nan = bitsAs<int32_t>(magnitude) > 0x7f800000;
  if constexpr (std::is_same_v<H, BFloat16>) {
    const auto rounded = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
    return resized<uint16_t>(is_nan ? (bits >> 16U) | 0x40U : rounded);
  } else {
    const auto rebiased = magnitude - 0x38000000U;
    const auto normal = (rebiased + 0xfffU + ((rebiased >> 13U) & 1U)) >> 13U;
    const auto denormal = bitsAs<uint32_t>(bitsAs<float>(magnitude) + 0.5F) - 0x3f000000U;
    const auto nan = 0x7e00U | ((magnitude >> 13U) & 0x3ffU);
    const auto finite = bitsAs<int32_t>(magnitude) < 0x38800000 ? denormal : normal;
    const auto number = bitsAs<int32_t>(magnitude) >= 0x477ff000 ? splat<UnsignedLanes<V>>(0x7c00U) : finite;
    return resized<uint16_t>((is_nan ? nan : number) | ((bits >> 16U) & 0x8000U));
  }
}

// Truncates and saturates; NaN gives 0. What does not fit is not given to the processor.
template <class To, class V>
TK_LANES auto saturated(V x) {
  using From = Element<V>;
  using Result = Vector<To, kLanesOf<V>>;
  constexpr From limit = -static_cast<From>(std::numeric_limits<To>::min());
  const auto is_high = resized<To>(x >= limit);
  const auto is_low = resized<To>(x < -limit);
  const V fitting = ((x >= -limit) & (x < limit)) ? x : V{};
  const Result number = __builtin_convertvector(fitting, Result);
  const Result raised = is_low ? splat<Result>(std::numeric_limits<To>::min()) : number;
  return is_high ? splat<Result>(std::numeric_limits<To>::max()) : raised;
}

// Between f32 and f64 a wide vector takes one instruction; gcc makes two of 16 bytes and puts their results together.
template <class To, class V>
TK_LANES auto resizedFloats(V x) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (kLanesOf<V> * sizeof(double) == kWideBytes && sizeof(To) > sizeof(Element<V>))
    return __builtin_ia32_cvtps2pd256(x);
  else if constexpr (kLanesOf<V> * sizeof(double) == kWideBytes && sizeof(To) < sizeof(Element<V>))
    return __builtin_ia32_cvtpd2ps256(x);
  else
#endif
    return __builtin_convertvector(x, Vector<To, kLanesOf<V>>);
}

template <class To, class From, class V>
TK_LANES auto converted(V x) {
  static_assert(has_lane_cast<To, From>);
  constexpr bool to_floating = std::is_floating_point_v<To>;
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (is_half<From>)
    return converted<To, float>(floatsOf<From>(x));
  else if constexpr (is_half<To>)
    return halvesOf<To>(converted<float, From>(x));
  else if constexpr (std::is_same_v<To, bool>)
    return boolsOf(x != 0);
  else if constexpr (to_floating && std::is_same_v<From, bool>)
    return __builtin_convertvector(resized<int32_t>(x), Vector<To, kLanesOf<V>>);
  else if constexpr (to_floating && std::is_floating_point_v<From>)
    return resizedFloats<To>(x);
  else if constexpr (to_floating)
    return __builtin_convertvector(x, Vector<To, kLanesOf<V>>);
  else if constexpr (std::is_floating_point_v<From>)
    return saturated<To>(x);
  else
    return resized<To>(x);
}

}  // namespace tokamak::lanes
