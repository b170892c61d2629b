#include "oracle/library.h"

#include <math.h>
#include <limits>
#include <numbers>

namespace tokamak::oracle::library {

namespace {

constexpr long double kLongInfinity = std::numeric_limits<long double>::infinity();
constexpr long double kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi_v<long double>;

// S. Winitzki's approximation of the inverse of erf, good to 2e-3; `product` is (1 - x)(1 + x).
long double startOfRoot(long double product) {
  constexpr long double a = 0.147L;
  const long double logarithm = std::log(product);
  const long double half = 2 / (std::numbers::pi_v<long double> * a) + logarithm / 2;
  return std::sqrt(std::sqrt(half * half - logarithm / a) - half);
}

// y > 0 with erfc(y) = x for 0 < x <= 0.5: Newton on the logarithm, which is nearly a parabola.
long double tailRoot(long double x) {
  const long double wanted = std::log(x);
  long double y = startOfRoot(x * (2 - x));
  for (int i = 0; i < 20; ++i) {
    const long double value = std::erfc(y);
    const long double slope = -kTwoOverSqrtPi * std::exp(-y * y) / value;
    const long double step = (std::log(value) - wanted) / slope;
    y -= step;
    if (std::fabs(step) <= 1e-19L * y) break;
  }
  return y;
}

// y with erf(y) = x for |x| <= 0.5.
long double centralRoot(long double x) {
  long double y = x / kTwoOverSqrtPi;
  for (int i = 0; i < 20; ++i) {
    const long double step = (std::erf(y) - x) / (kTwoOverSqrtPi * std::exp(-y * y));
    y -= step;
    if (std::fabs(step) <= 1e-19L * std::fabs(y)) break;
  }
  return y;
}

}  // namespace

long double inverseOfErf(long double x) {
  const long double magnitude = std::fabs(x);
  if (magnitude == 1) return std::copysign(kLongInfinity, x);
  if (!(magnitude < 1)) return std::numeric_limits<long double>::quiet_NaN();
  if (magnitude <= 0.5L) return x == 0 ? x : centralRoot(x);
  return std::copysign(tailRoot(1 - magnitude), x);
}

long double inverseOfErfc(long double x) {
  if (x == 0) return kLongInfinity;
  if (x == 2) return -kLongInfinity;
  if (!(x > 0 && x < 2)) return std::numeric_limits<long double>::quiet_NaN();
  if (x < 0.5L) return tailRoot(x);
  if (x > 1.5L) return -tailRoot(2 - x);
  return x == 1 ? 0 : centralRoot(1 - x);
}

long double logOfGamma(long double x) {
  int sign = 0;
  return ::lgammal_r(x, &sign);
}

std::array<uint32_t, 4> philoxBlock(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (uint32_t round = 0; round < 10; ++round) {
    const std::array<uint32_t, 2> bumped = {key[0] + round * 0x9E3779B9U, key[1] + round * 0xBB67AE85U};
    const uint64_t even = counter[0] * uint64_t{0xD2511F53};
    const uint64_t odd = counter[2] * uint64_t{0xCD9E8D57};
    counter = {static_cast<uint32_t>(odd >> 32U) ^ counter[1] ^ bumped[0], static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32U) ^ counter[3] ^ bumped[1], static_cast<uint32_t>(even)};
  }
  return counter;
}

}  // namespace tokamak::oracle::library
