#include "oracle/product.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/functions.h"
#include "oracle/library.h"

namespace tokamak::oracle {

namespace {

constexpr long double kNoBound = std::numeric_limits<double>::infinity();

// What orders of multiplication have in common: the product of the large factors and that of the small ones bound every
// partial product; the bits of all factors' odd parts bound those of every partial product.
struct Factors {
  long double product = 1;
  long double upper = 1;  // of |x| + bound
  long double magnitude = 1;
  long double large = 1;
  long double small = 1;
  long double odd_part = 1;
  long double bound = 0;     // the sum of the bounds: is any factor uncertain
  bool has_special = false;  // zero or not finite
  bool has_open_sign = false;

  void add(const Element& term) {
    const long double value = term.number;
    const long double size = std::fabs(value) + boundOf(term);
    product *= value;
    upper *= size;
    magnitude *= std::fabs(value);
    bound += boundOf(term);
    has_open_sign = has_open_sign || isOpenZero(term);
    has_special = has_special || value == 0 || !std::isfinite(value);
    if (size > 1)
      large *= size;
    else if (size > 0)
      small *= size;
    if (value == 0 || !std::isfinite(value)) return;
    int exponent = 0;
    long double odd = std::ldexp(std::frexp(std::fabs(value), &exponent), 53);
    while (std::fmod(odd, 2) == 0) odd /= 2;
    odd_part *= odd;
  }
};

}  // namespace

Element productOf(std::span<const Element> terms, DataType accumulator, DataType result, Mode mode) {
  if (!mode.isExact()) {
    long double product = 1;
    for (const Element& term : terms) product = roundTo(accumulator, product * term.number, mode);
    return {.number = static_cast<double>(roundTo(result, product, mode))};
  }
  Factors factors;
  for (const Element& term : terms) factors.add(term);
  const bool may_leave_range =
      factors.large >= overflowLimit(accumulator) || factors.small < smallestNormal(accumulator);
  if (may_leave_range || factors.bound == kNoBound || (factors.has_special && factors.bound > 0)) {
    return finish(result, factors.product, kNoBound, mode);
  }
  const bool is_exact = factors.bound == 0 &&
                        (factors.has_special || factors.odd_part <= std::ldexp(1.0L, formatOf(accumulator).precision));
  if (is_exact) {
    const bool is_open = factors.has_open_sign && factors.product == 0;
    return convertElement({.number = static_cast<double>(factors.product), .bound = is_open ? kOpenSign : 0},
                          accumulator, result, mode);
  }
  const long double roundings = static_cast<long double>(terms.size() + 1) * epsilonOf(accumulator) * factors.upper;
  return convertElement(finish(accumulator, factors.product, factors.upper - factors.magnitude + roundings, mode),
                        accumulator, result, mode);
}

Element extremeOf(std::span<const Element> terms, Extreme extreme) {
  const bool is_max = extreme == Extreme::Largest;
  const auto choose = [&](double a, double b) { return is_max ? library::maximum(a, b) : library::minimum(a, b); };
  Element result{.number = is_max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()};
  double low = result.number;
  double high = result.number;
  for (const Element& term : terms) {
    if (!std::isfinite(term.bound)) return {.number = term.number, .bound = std::numeric_limits<double>::infinity()};
    result.number = choose(result.number, term.number);
    low = choose(low, term.number - term.bound);
    high = choose(high, term.number + term.bound);
  }
  if (std::isfinite(result.number)) result.bound = std::max(high - result.number, result.number - low);
  return result;
}

}  // namespace tokamak::oracle
