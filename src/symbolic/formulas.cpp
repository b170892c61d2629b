#include "symbolic/formulas.h"

#include <math.h>
#include <cmath>
#include <limits>
#include <numbers>

namespace tokamak::formula {

namespace {

// Giles' single-precision polynomial for erfinv gives a start value good to 1e-7; two Halley steps end at double
// precision.
double startOfInverseErf(double x, double w) {
  constexpr double central[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  constexpr double tail[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                             -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  const bool is_central = w < 5.0;
  const double t = is_central ? w - 2.5 : std::sqrt(w) - 3.0;
  double p = 0;
  for (const double c : is_central ? central : tail) p = p * t + c;
  return p * x;
}

// Where erfc is subnormal it has too few bits to be iterated: Newton steps on its logarithm, by the asymptotic series
// erfc(y) = exp(-y^2) / (y sqrt(pi)) * (1 - 1/t + 3/t^2 - 15/t^3 + ...), t = 2 y^2, whose terms are below 1e-17 from
// the seventh on.
double inverseErfcOfSubnormal(double x) {
  const double logarithm = std::log(x) + std::log(std::numbers::pi) / 2;
  double y = 26.5;
  for (int i = 0; i < 5; ++i) {
    const double t = 2 * y * y;
    double series = 0;
    for (int k = 6; k > 0; --k) series = -(2 * k - 1) / t * (1 + series);
    const double error = y * y + std::log(y) - std::log1p(series) + logarithm;
    y -= error / (2 * y + 1 / y);
  }
  return y;
}

}  // namespace

double logGammaDouble(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

double inverseErfDouble(double x) {
  if (!(std::fabs(x) < 1.0)) {
    if (std::fabs(x) == 1.0) return std::copysign(std::numeric_limits<double>::infinity(), x);
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (std::fabs(x) > 0.5) return std::copysign(inverseErfcDouble(1.0 - std::fabs(x)), x);
  double y = startOfInverseErf(x, -std::log((1.0 - x) * (1.0 + x)));
  for (int i = 0; i < 2; ++i) {
    const double error = (std::erf(y) - x) / (2.0 / std::sqrt(std::numbers::pi) * std::exp(-y * y));
    y -= error / (1.0 + y * error);
  }
  return y;
}

double inverseErfcDouble(double x) {
  if (!(x > 0.0 && x < 2.0)) {
    if (x == 0.0) return std::numeric_limits<double>::infinity();
    if (x == 2.0) return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (x > 1.0) return -inverseErfcDouble(2.0 - x);
  if (x > 0.5) return inverseErfDouble(1.0 - x);
  if (x < 1e-300) return inverseErfcOfSubnormal(x);
  // For small x: erfc(y) ~ exp(-y^2) / (y sqrt(pi)); iterate the logarithm of it for the start value.
  double y = std::sqrt(-std::log(x));
  for (int i = 0; i < 4; ++i) y = std::sqrt(std::fmax(0.1, -std::log(x * y * std::sqrt(std::numbers::pi))));
  for (int i = 0; i < 4; ++i) {
    const double error = (std::erfc(y) - x) / (-2.0 / std::sqrt(std::numbers::pi) * std::exp(-y * y));
    y -= error / (1.0 + y * error);
  }
  return y;
}

}  // namespace tokamak::formula
