#include "oracle/sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "oracle/functions.h"

namespace tokamak::oracle {

namespace {

constexpr int kNoQuantum = std::numeric_limits<int>::max();

// D. E. Knuth's two-sum: a + b = sum + error exactly.
struct TwoSum {
  double sum;
  double error;
};
TwoSum twoSum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

long double pairwiseSum(DataType accumulator, std::span<const long double> terms, Mode mode) {
  if (terms.size() <= mode.blockOfSum()) {
    long double sum = roundTo(accumulator, terms[0], mode);
    for (const long double term : terms.subspan(1)) sum = roundTo(accumulator, sum + term, mode);
    return sum;
  }
  const size_t half = terms.size() / 2;
  return roundTo(
      accumulator,
      pairwiseSum(accumulator, terms.first(half), mode) + pairwiseSum(accumulator, terms.subspan(half), mode), mode);
}

int ceilLog2(int64_t n) { return n <= 1 ? 0 : std::bit_width(static_cast<uint64_t>(n - 1)); }

}  // namespace

Summation::Summation(DataType accumulator, Mode mode) : accumulator_(accumulator), mode_(mode), quantum_(kNoQuantum) {}

int quantumOf(double number) {
  int exponent = 0;
  const auto digits = static_cast<int64_t>(std::ldexp(std::frexp(number, &exponent), 53));
  return exponent - 53 + std::countr_zero(static_cast<uint64_t>(digits));
}

void Summation::noteQuantum(double part) {
  if (part != 0) quantum_ = std::min(quantum_, quantumOf(part));
}

void Summation::addProduct(const Element& a, const Element& b) {
  const double product = a.number * b.number;
  const bool is_finite = std::isfinite(product);
  const double error = is_finite ? std::fma(a.number, b.number, -product) : 0;
  const long double a_bound = boundOf(a);
  const long double b_bound = boundOf(b);
  long double bound = (a_bound == 0 ? 0 : std::fabs(static_cast<long double>(b.number)) * a_bound) +
                      (b_bound == 0 ? 0 : std::fabs(static_cast<long double>(a.number)) * b_bound) +
                      (a_bound == 0 || b_bound == 0 ? 0 : a_bound * b_bound);
  if (!std::isfinite(bound) || !std::isfinite(a_bound) || !std::isfinite(b_bound)) {
    bound = std::numeric_limits<double>::infinity();  // also where the other factor is 0
  }
  // The error of a tiny product is below the smallest number; what it is a multiple of tells that it was rounded.
  const bool may_underflow = is_finite && std::fabs(product) < 0x1p-900 && a.number != 0 && b.number != 0;
  if (may_underflow) quantum_ = std::min(quantum_, quantumOf(a.number) + quantumOf(b.number));
  // A fused multiply-add does not round the product, so that it may not overflow.
  if (!is_finite && std::isfinite(a.number) && std::isfinite(b.number)) bound = std::numeric_limits<double>::infinity();
  add(product, error, bound, isOpenZero(a) || isOpenZero(b));
}

void Summation::add(double high, double low, long double bound, bool has_open_sign) {
  ++count_;
  is_minus_zero_ = is_minus_zero_ && high == 0 && (std::signbit(high) || has_open_sign);
  bound_ += bound;
  if (!mode_.isExact()) {
    terms_.push_back(static_cast<long double>(high) + low);
    return;
  }
  if (!std::isfinite(high)) {
    special_ += high;
    has_special_ = true;
    return;
  }
  noteQuantum(high);
  noteQuantum(low);
  magnitude_ += std::fabs(static_cast<long double>(high));
  const TwoSum sum = twoSum(high_, high);
  const TwoSum renormal = twoSum(sum.sum, sum.error + low_ + low);
  high_ = renormal.sum;
  low_ = renormal.error;
}

void Summation::take(const Collected& collected) {
  count_ = collected.count;
  is_minus_zero_ = false;
  if (!mode_.isExact()) {
    terms_ = {collected.sum};
    return;
  }
  high_ = collected.sum;
  magnitude_ = collected.magnitude;
  bound_ = collected.bound;
  quantum_ = collected.quantum;
}

Element Summation::finish(DataType result) const {
  if (!mode_.isExact()) {
    const long double sum = terms_.empty() ? 0 : pairwiseSum(accumulator_, terms_, mode_);
    return {.number = static_cast<double>(roundTo(result, sum, mode_))};
  }
  const long double infinity = std::numeric_limits<double>::infinity();
  const bool may_overflow = magnitude_ + bound_ >= overflowLimit(accumulator_);
  if (has_special_) return oracle::finish(result, special_, bound_ == infinity || may_overflow ? infinity : 0, mode_);
  const long double sum = static_cast<long double>(high_) + low_;
  if (may_overflow) return oracle::finish(result, sum, infinity, mode_);
  const int lowest = formatOf(accumulator_).min_exponent - formatOf(accumulator_).precision + 1;
  const bool has_quantum = quantum_ == kNoQuantum || quantum_ >= lowest;
  const bool is_exact = bound_ == 0 && has_quantum &&
                        (quantum_ == kNoQuantum ||
                         std::ldexp(magnitude_, -quantum_) <= std::ldexp(1.0L, formatOf(accumulator_).precision));
  Element total{.number = static_cast<double>(sum)};
  if (!is_exact) {
    const long double steps = 2 * ceilLog2(count_) + 8;
    // Products below the normal numbers are rounded to multiples of the smallest one.
    const long double underflow = static_cast<long double>(count_) * ulpOf(accumulator_, 0);
    const long double rounding =
        ulpOf(accumulator_, std::fabs(sum) + bound_) / 2 + steps * epsilonOf(accumulator_) * magnitude_ + underflow;
    total = oracle::finish(accumulator_, sum, bound_ + rounding, mode_);
  } else if (count_ > 0 && is_minus_zero_) {
    // Whether a sum of -0s starts from +0 is the implementation's choice.
    total.bound = kOpenSign;
  }
  return convertElement(total, accumulator_, result, mode_);
}

}  // namespace tokamak::oracle
