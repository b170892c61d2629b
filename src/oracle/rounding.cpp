#include "oracle/rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tokamak::oracle {

long double Mode::draw(long double value) const {
  // Some only sum in another order: where terms are equal, roundings to nearest all go the same way.
  constexpr uint64_t kOnlyOrders = 4;
  if (!isVaried() || seed_ % kOnlyOrders == 0) return 0;
  // The finaliser of MurmurHash3 over the bits of the value and the seed.
  uint64_t hash = std::bit_cast<uint64_t>(static_cast<double>(value)) ^ (seed_ * 0x9E3779B97F4A7C15ULL);
  hash = (hash ^ (hash >> 33U)) * 0xFF51AFD7ED558CCDULL;
  hash = (hash ^ (hash >> 33U)) * 0xC4CEB9FE1A85EC53ULL;
  hash ^= hash >> 33U;
  return std::ldexp(static_cast<long double>(hash >> 11U), -52) - 1;
}

FloatFormat formatOf(DataType floating) {
  switch (floating) {
    case DataType::F32: return {.precision = 24, .min_exponent = -126, .max_exponent = 127};
    case DataType::F16: return {.precision = 11, .min_exponent = -14, .max_exponent = 15};
    case DataType::BF16: return {.precision = 8, .min_exponent = -126, .max_exponent = 127};
    default: return {.precision = 53, .min_exponent = -1022, .max_exponent = 1023};
  }
}

long double ulpOf(DataType floating, long double value) {
  const FloatFormat format = formatOf(floating);
  const int exponent = value == 0 ? format.min_exponent : std::ilogb(value);
  return std::ldexp(1.0L, std::clamp(exponent, format.min_exponent, format.max_exponent) - format.precision + 1);
}

long double overflowLimit(DataType floating) {
  const FloatFormat format = formatOf(floating);
  return std::ldexp(1.0L, format.max_exponent + 1) - std::ldexp(1.0L, format.max_exponent - format.precision);
}

long double epsilonOf(DataType floating) { return std::ldexp(1.0L, 1 - formatOf(floating).precision); }
long double smallestNormal(DataType floating) { return std::ldexp(1.0L, formatOf(floating).min_exponent); }

long double roundTo(DataType floating, long double value) {
  if (floating == DataType::F64) return static_cast<double>(value);
  if (floating == DataType::F32) return static_cast<float>(value);
  if (!std::isfinite(value) || value == 0) return value;
  if (std::fabs(value) >= overflowLimit(floating))
    return std::copysign(std::numeric_limits<long double>::infinity(), value);
  const long double ulp = ulpOf(floating, value);
  return std::copysign(std::nearbyint(value / ulp) * ulp, value);
}

long double roundTo(DataType floating, long double value, Mode mode) {
  const long double nearest = roundTo(floating, value);
  if (!mode.isVaried() || nearest == value || !std::isfinite(value)) return nearest;
  return roundTo(floating, value + mode.draw(value) * ulpOf(floating, value) / 2);
}

double roundedUp(long double bound) {
  const auto nearest = static_cast<double>(bound);
  return nearest < bound ? std::nextafter(nearest, std::numeric_limits<double>::infinity()) : nearest;
}

Element finish(DataType floating, long double value, long double bound, Mode mode) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto rounded = static_cast<double>(roundTo(floating, value, mode));
  if (!mode.isExact()) return {.number = rounded};
  if (bound == infinity || std::isnan(bound)) return {.number = rounded, .bound = infinity};
  if (!std::isfinite(value)) return {.number = rounded};
  const long double limit = overflowLimit(floating);
  if (std::fabs(value) - bound >= limit) return {.number = std::copysign(infinity, rounded)};
  if (std::fabs(value) + bound >= limit) return {.number = rounded, .bound = infinity};
  const auto kept = static_cast<double>(value);
  return {.number = kept, .bound = roundedUp(bound + std::fabs(value - kept))};
}

}  // namespace tokamak::oracle
