// Summation: a sum or dot product of one result element, in twice the precision of double.
#pragma once

#include <limits>
#include <vector>

#include "oracle/rounding.h"
#include "oracle/tensor.h"

namespace tokamak::oracle {

/// The largest q of which `number`, finite and not 0, is a multiple of 2^q.
int quantumOf(double number);

/// Collects floating terms; finish() gives their sum as accumulated in `accumulator` and stored as `result`, with the
/// numerics policy's bound for any order of additions: ulp/2 + (2 ceil(log2 n) + 8) epsilon sum|x| + the terms' own
/// bounds. Where no order of additions can round, the sum is exact. In typed mode terms are added pairwise, rounded
/// each time: adding 1,024 equal terms one by one in f32 would already break the bound.
class Summation {
 public:
  Summation(DataType accumulator, Mode mode);

  void add(const Element& term) {
    constexpr double kNoPromise = std::numeric_limits<double>::infinity();
    add(term.number, 0, term.is_overflow ? kNoPromise : boundOf(term), isOpenZero(term));
  }
  void addProduct(const Element& a, const Element& b);
  Element finish(DataType result) const;

  /// What was summed elsewhere: in exact mode finite terms not all zero, of which `quantum` says that each is a
  /// multiple of 2^quantum (it matters where bound is 0); in typed mode a sum that is rounded already.
  struct Collected {
    int64_t count = 0;
    double sum = 0;
    double magnitude = 0;  ///< sum|x|
    double bound = 0;      ///< of all terms, and of `sum`
    int quantum = 0;
  };
  void take(const Collected& collected);

 private:
  void add(double high, double low, long double bound, bool has_open_sign);
  void noteQuantum(double part);

  DataType accumulator_;
  Mode mode_;
  int64_t count_ = 0;
  double high_ = 0;  // the sum is high_ + low_
  double low_ = 0;
  double special_ = 0;         // the sum of the terms that are not finite
  long double magnitude_ = 0;  // sum|x|
  long double bound_ = 0;      // of all terms
  int quantum_;                // every term is a multiple of 2^quantum_
  bool has_special_ = false;
  bool is_minus_zero_ = true;       // every term is, or may be, -0
  std::vector<long double> terms_;  // of typed mode
};

}  // namespace tokamak::oracle
