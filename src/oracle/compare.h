// The numerics policy as the one comparison of a program's result with the reference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracle/tensor.h"

namespace tokamak::oracle {

struct Mismatch {
  std::vector<int64_t> index;
  std::string actual;
  std::string expected;
  double bound = 0;
  std::string reason;  ///< "differs by 3.1e-05, more than the bound", "NaN is expected", ...
};

/// What a comparison found. Elements pass within the reference's bound; NaN, infinities, zeros without a bound, integers and
/// bool are the same. The root of the mean squared error is at most 1.5 times that of the typed reference + 1e-7 x scale
/// (for f16, bf16 and f32, where a typed reference is given; scale is the largest magnitude). That is not asked where it would be a matter of chance: of
/// fewer than 32 elements, and of ones that share an error, such as that of a sum that all are computed from, which is less than a quarter of its bound.
struct Comparison {
  int64_t count = 0;
  int64_t mismatches = 0;
  int64_t exact = 0;            ///< elements without any tolerance
  int64_t without_promise = 0;  ///< elements that nothing is promised of
  std::optional<Mismatch> first;
  double max_ulps = 0;      ///< the largest error, in ulps of the type at the expected value
  double max_of_bound = 0;  ///< the largest error as a part of its bound
  std::optional<double>
      rmse;  ///< of the elements with a finite expected value, if they are enough; only with a typed reference
  double rmse_limit = 0;
  bool is_shared = false;  ///< the elements' errors are about the same: one number's, of which a mean says nothing

  bool isRmseKept() const { return !rmse || *rmse <= rmse_limit || (is_shared && max_of_bound < 0.25); }
  bool isOk() const { return mismatches == 0 && isRmseKept(); }
};

/// Compares stored elements with the reference of an evaluation in exact mode; `typed`, if given, is the same output in
/// typed mode. Errors: Bind when type or sizes differ.
Comparison compare(const StoredTensor& actual, const OracleTensor& expected, const OracleTensor* typed = nullptr);

/// The report for people: counts, the first mismatch with its index and bound, the errors.
std::string toString(const Comparison& comparison);

}  // namespace tokamak::oracle
