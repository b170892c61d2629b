#include "oracle/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tokamak::oracle {

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

Element finish(DataType floating, long double value, long double bound, Mode mode) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto rounded = static_cast<double>(roundTo(floating, value));
  if (mode == Mode::Typed) return {.number = rounded};
  if (bound == infinity || std::isnan(bound)) return {.number = rounded, .bound = infinity};
  if (!std::isfinite(value)) return {.number = rounded};
  const long double limit = overflowLimit(floating);
  if (std::fabs(value) - bound >= limit) return {.number = std::copysign(infinity, rounded)};
  if (std::fabs(value) + bound >= limit) return {.number = rounded, .bound = infinity};
  const auto kept = static_cast<double>(value);
  const long double total = bound + std::fabs(value - kept);
  auto up = static_cast<double>(total);
  if (up < total) up = std::nextafter(up, infinity);
  return {.number = kept, .bound = up};
}

}  // namespace tokamak::oracle
