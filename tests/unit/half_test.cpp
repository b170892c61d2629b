// The half conversions against arithmetic on values: every bit pattern up, and down from every pattern, its
// neighbours and half-way points.
#include "base/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace tokamak {
namespace {

// A binary floating-point format by its parameters, decoded and encoded by ldexp and comparisons, not by bit tricks.
struct Format {
  int mantissa_bits;
  int exponent_bits;
};
constexpr Format kHalf{.mantissa_bits = 10, .exponent_bits = 5};
constexpr Format kBFloat16{.mantissa_bits = 7, .exponent_bits = 8};

double decode(Format format, uint32_t bits) {
  const int fraction = static_cast<int>(bits & ((1U << format.mantissa_bits) - 1U));
  const int exponent = static_cast<int>((bits >> format.mantissa_bits) & ((1U << format.exponent_bits) - 1U));
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << format.exponent_bits) - 1) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  const int hidden = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  return sign * std::ldexp(hidden + fraction, std::max(exponent, 1) - bias - format.mantissa_bits);
}

// The pattern of the value nearest to `value` (no NaN), ties to the even pattern: by bisection over the ordered
// patterns.
uint16_t encode(Format format, double value) {
  const uint32_t infinity = ((1U << format.exponent_bits) - 1U) << format.mantissa_bits;
  const double magnitude = std::fabs(value);
  uint32_t low = 0;
  uint32_t high = infinity;  // decode(low) <= magnitude, decode(high) > magnitude, unless infinite
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (decode(format, middle) <= magnitude ? low : high) = middle;
  }
  // Infinity stands where the next power of two would.
  const double above =
      high == infinity ? 2 * decode(format, infinity - (1U << format.mantissa_bits)) : decode(format, high);
  const double to_low = magnitude - decode(format, low);
  const double to_high = above - magnitude;
  const bool up = to_high < to_low || (to_high == to_low && low % 2 == 1);
  return static_cast<uint16_t>((up ? high : low) | (std::signbit(value) ? 0x8000U : 0U));
}

std::vector<float> floatsWorthRounding() {
  std::vector<float> values;
  for (uint32_t high = 0; high < 0x10000U; ++high) {
    for (const uint32_t low :
         {0x0000U, 0x0001U, 0x0fffU, 0x1000U, 0x1001U, 0x7fffU, 0x8000U, 0x8001U, 0xf000U, 0xffffU}) {
      values.push_back(std::bit_cast<float>((high << 16U) | low));
    }
  }
  return values;
}

TEST(Half, EveryPatternHasItsValueAndComesBack) {
  for (uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    const double expected = decode(kHalf, bits);
    const float value = toFloat(half);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(toHalf(value).bits, bits | 0x200U) << "a NaN comes back quiet";
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
      ASSERT_EQ(toHalf(value).bits, bits);
    }
  }
}

TEST(BFloat16, EveryPatternHasItsValueAndComesBack) {
  for (uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const BFloat16 half{static_cast<uint16_t>(bits)};
    const double expected = decode(kBFloat16, bits);
    const float value = toFloat(half);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(toBFloat16(value).bits, bits | 0x40U) << "a NaN comes back quiet";
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
      ASSERT_EQ(toBFloat16(value).bits, bits);
    }
  }
}

TEST(Half, FloatsRoundToTheNearestTiesToEven) {
  for (const float value : floatsWorthRounding()) {
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(toFloat(toHalf(value))));
    } else {
      ASSERT_EQ(toHalf(value).bits, encode(kHalf, value)) << value;
    }
  }
}

TEST(BFloat16, FloatsRoundToTheNearestTiesToEven) {
  for (const float value : floatsWorthRounding()) {
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(toFloat(toBFloat16(value))));
    } else {
      ASSERT_EQ(toBFloat16(value).bits, encode(kBFloat16, value)) << value;
    }
  }
}

}  // namespace
}  // namespace tokamak
