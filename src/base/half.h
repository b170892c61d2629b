// The 16-bit floating-point formats as bit patterns: IEEE binary16 (f16) and bfloat16, with round-to-nearest-even
// conversions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tokamak {

/// IEEE binary16, stored as its bits. Arithmetic is done in float.
struct Half {
  uint16_t bits = 0;
};

/// bfloat16 (the upper half of an IEEE binary32), stored as its bits. Arithmetic is done in float.
struct BFloat16 {
  uint16_t bits = 0;
};

inline float toFloat(BFloat16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16U); }

/// Nearest even; a NaN stays a quiet NaN.
inline BFloat16 toBFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  const uint32_t rounded = bits + 0x7fffU + ((bits >> 16U) & 1U);
  return {static_cast<uint16_t>(is_nan ? (bits >> 16U) | 0x40U : rounded >> 16U)};
}

inline float toFloat(Half value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000U) << 16U;
  const uint32_t magnitude = value.bits & 0x7fffU;
  // Shift exponent and mantissa into place; scale by 2^112 to rebias, which also normalises denormals exactly.
  const float scaled = std::bit_cast<float>(magnitude << 13U) * std::bit_cast<float>(0x77800000U);
  const bool is_special = magnitude >= 0x7c00U;
  const uint32_t bits = is_special ? (magnitude << 13U) | 0x7f800000U : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(bits | sign);
}

/// Nearest even; values above 65519.99 become infinity, a NaN stays a quiet NaN. All cases are computed and one is
/// chosen, so that loops of it vectorise.
inline Half toHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16U) & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  const uint32_t rebiased = magnitude - 0x38000000U;
  const uint32_t normal = (rebiased + 0xfffU + ((rebiased >> 13U) & 1U)) >> 13U;
  // Below 2^-14, a denormal: adding 0.5 lets the hardware round at the right bit.
  const uint32_t denormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const uint32_t nan = 0x7e00U | ((magnitude >> 13U) & 0x3ffU);
  const uint32_t finite = magnitude < 0x38800000U ? denormal : normal;
  const uint32_t number = magnitude >= 0x477ff000U ? 0x7c00U : finite;
  return {static_cast<uint16_t>(sign | (magnitude > 0x7f800000U ? nan : number))};
}

/// The nearest number of a binary format with `precision` bits and exponents from `min_exponent` to `max_exponent`;
/// ties to even. Rounds once, where a conversion by way of float rounds twice.
inline double roundedToFormat(double value, int precision, int min_exponent, int max_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::ilogb(value);
  const int last = (exponent < min_exponent ? min_exponent : exponent) - precision + 1;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  const bool overflows = std::fabs(rounded) >= std::ldexp(1.0, max_exponent + 1);
  return overflows ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}
inline double roundedToHalf(double value) { return roundedToFormat(value, 11, -14, 15); }
inline double roundedToBFloat16(double value) { return roundedToFormat(value, 8, -126, 127); }

}  // namespace tokamak
