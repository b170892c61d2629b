// Reference values of the approximated functions in a wider format: f64 for f32, the 64-bit mantissa of long double for
// f64.
#pragma once

#include <math.h>

#include <cmath>

#include "symbolic/formulas.h"
#include "symbolic/function_table.h"

namespace tokamak::test {

inline double logGammaOf(double x) { return formula::logGammaDouble(x); }
inline long double logGammaOf(long double x) {
  int sign = 0;
  return lgammal_r(x, &sign);
}

inline double inverseErfOf(double x) { return formula::inverseErfDouble(x); }
inline double inverseErfcOf(double x) { return formula::inverseErfcDouble(x); }
/// One step of Newton from the value in double precision.
inline long double inverseErfOf(long double x) {
  const long double y = formula::inverseErfDouble(static_cast<double>(x));
  if (!std::isfinite(y) || y == 0) return y;
  const long double slope = 2 / std::sqrt(3.14159265358979323846264338L) * std::exp(-y * y);
  const long double rest =
      std::fabs(x) < 0.5L ? std::erf(y) - x : std::copysign(1 - std::fabs(x) - std::erfc(std::fabs(y)), x);
  return y - rest / slope;
}
inline long double inverseErfcOf(long double x) {
  const long double y = formula::inverseErfcDouble(static_cast<double>(x));
  if (!std::isfinite(y) || y == 0) return y;
  const long double slope = 2 / std::sqrt(3.14159265358979323846264338L) * std::exp(-y * y);
  return x < 0.5L || x > 1.5L ? y + (std::erfc(y) - x) / slope : y - (std::erf(y) - (1 - x)) / slope;
}

template <class W>
W reference(FunctionId id, W x, W y) {
  using function_table::Row;
  switch (function_table::rowOf(id)) {
    case Row::acos: return std::acos(x);
    case Row::acosh: return std::acosh(x);
    case Row::asin: return std::asin(x);
    case Row::asinh: return std::asinh(x);
    case Row::atan: return std::atan(x);
    case Row::atan2: return std::atan2(x, y);
    case Row::atanh: return std::atanh(x);
    case Row::cos: return std::cos(x);
    case Row::cosh: return std::cosh(x);
    case Row::erf: return std::erf(x);
    case Row::erfc: return std::erfc(x);
    case Row::erfcinv: return inverseErfcOf(x);
    case Row::erfinv: return inverseErfOf(x);
    case Row::exp: return std::exp(x);
    case Row::exp_term: return std::exp(x);
    case Row::exp2: return std::exp2(x);
    case Row::expm1: return std::expm1(x);
    case Row::lgamma: return logGammaOf(x);
    case Row::log: return std::log(x);
    case Row::log10: return std::log10(x);
    case Row::log1p: return std::log1p(x);
    case Row::log2: return std::log2(x);
    case Row::pow: return std::pow(x, y);
    case Row::rsqrt: return 1 / std::sqrt(x);
    case Row::sigmoid: return 1 / (1 + std::exp(-x));
    case Row::silu: return x / (1 + std::exp(-x));
    case Row::sin: return std::sin(x);
    case Row::sinh: return std::sinh(x);
    case Row::tan: return std::tan(x);
    case Row::tanh: return std::tanh(x);
    default: return std::numeric_limits<W>::signaling_NaN();
  }
}

/// Distance of a result from the reference, in units of the last place of T at the reference.
template <class T, class W>
W errorInUlp(T got, W expected) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got) ? 0 : 1e30;
  if (std::isinf(expected)) return std::isinf(got) && (got > 0) == (expected > 0) ? 0 : 1e30;
  // Zeros have a sign, wherever the reference says which.
  if (got == 0 && std::signbit(got) != std::signbit(expected)) return 1e30;
  const W above_all = std::ldexp(W(1), Limits::max_exponent);
  const W value = std::isinf(got) ? std::copysign(above_all, W(got)) : W(got);
  const W bounded = std::fabs(expected) > above_all ? std::copysign(above_all, expected) : expected;
  int exponent = 0;
  std::frexp(bounded, &exponent);
  exponent = std::min(std::max(exponent, Limits::min_exponent), Limits::max_exponent);
  return std::fabs(value - bounded) / std::ldexp(W(1), exponent - Limits::digits);
}

}  // namespace tokamak::test
