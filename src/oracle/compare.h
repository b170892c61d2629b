// The numerics policy as the one comparison of a program's result with the reference.
#pragma once

#include <cstdint>
#include <functional>
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

/// What a comparison found. Elements pass within the reference's bound; NaN, infinities, zeros without a bound,
/// integers and bool are the same.
///
/// Errors within their bounds may still be larger, all in all, than those of right programs: the root of the mean
/// squared error, each error as a part of its element's bound, is at most `rmse_limit`. That is 1.5 times what typed
/// evaluations of the same inputs have, but at least one ulp of each element. Elements of which the same number is
/// expected count as one.
struct Comparison {
  int64_t count = 0;
  int64_t mismatches = 0;
  int64_t exact = 0;            ///< elements without any tolerance
  int64_t without_promise = 0;  ///< elements that nothing is promised of
  std::optional<Mismatch> first;
  double max_ulps = 0;      ///< the largest error, in ulps of the type at the expected value
  double max_of_bound = 0;  ///< the largest error as a part of its bound
  /// Over finite elements with a bound, 32 different ones at least; f16, bf16 and f32 with typed evaluations only.
  std::optional<double> rmse;
  double rmse_limit = 0;
  bool limit_is_varied = false;  ///< varied evaluations decided it, not the one that is rounded to nearest

  bool isOk() const { return mismatches == 0 && (!rmse || *rmse <= rmse_limit); }
};

/// One output in typed mode, by number: 0 is rounded to nearest; 1 to kVariations are in varied mode. They are asked
/// for in this order, and only those that decide: what chance does to one number that all elements share is seen by how
/// far the varied ones are apart, and the limit grows by that factor.
using TypedOutputs = std::function<const OracleTensor&(int)>;
inline constexpr int kVariations = 32;

/// Compares stored elements with the reference of an evaluation in exact mode. Errors: Bind when type or sizes differ.
Comparison compare(const StoredTensor& actual, const OracleTensor& expected, const TypedOutputs& typed = {});

/// The report for people: counts, the first mismatch with its index and bound, the errors.
std::string toString(const Comparison& comparison);

}  // namespace tokamak::oracle
