#include "oracle/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "oracle/index.h"
#include "oracle/rounding.h"

namespace tokamak::oracle {

namespace {

constexpr double kRmseFactor = 1.5;
constexpr double kRmseOfScale = 1e-7;
constexpr int64_t kFewestOfRmse = 32;
constexpr double kShared =
    0.8;  // of the mean squared error, by the square of the mean; it is three quarters where all is rounded down

std::string textOf(DataType dtype, const Element& element) {
  if (dtype == DataType::Bool)
    return element.integer == 1 ? "true" : element.integer == 0 ? "false" : fmt::format("byte {}", element.integer);
  if (!isFloatingType(dtype)) return fmt::to_string(element.integer);
  return fmt::format("{} ({:a})", element.number, element.number);
}

// Why an element is wrong; empty when it is right.
std::string faultOf(DataType dtype, const Element& actual, const Element& expected) {
  if (dtype == DataType::Bool && (actual.integer < 0 || actual.integer > 1)) return "a bool must be 0 or 1";
  if (expected.bound == std::numeric_limits<double>::infinity()) return "";
  if (!isFloatingType(dtype)) {
    if (actual.integer == expected.integer) return "";
    const long double distance = std::fabs(static_cast<long double>(actual.integer) - expected.integer);
    return distance <= expected.bound ? "" : "the values must be the same";
  }
  if (std::isnan(expected.number)) return std::isnan(actual.number) ? "" : "NaN is expected";
  if (std::isnan(actual.number)) return "NaN is not expected";
  if (std::isinf(expected.number) || std::isinf(actual.number)) {
    return actual.number == expected.number ? "" : "infinities must be at the same places";
  }
  if (expected.bound == 0) {
    if (actual.number != expected.number) return "the values must be the same";
    return std::signbit(actual.number) == std::signbit(expected.number) ? "" : "the signs of zero must be the same";
  }
  const long double distance = std::fabs(static_cast<long double>(actual.number) - expected.number);
  if (distance <= expected.bound) return "";
  return fmt::format("differs by {:.4g}, more than the bound", static_cast<double>(distance));
}

void noteError(DataType dtype, const Element& actual, const Element& expected, Comparison& comparison) {
  if (expected.bound == std::numeric_limits<double>::infinity()) {
    ++comparison.without_promise;
    return;
  }
  comparison.exact += static_cast<int64_t>(expected.bound == 0);
  if (!isFloatingType(dtype) || !std::isfinite(expected.number) || !std::isfinite(actual.number)) return;
  const long double distance = std::fabs(static_cast<long double>(actual.number) - expected.number);
  const auto ulps = static_cast<double>(distance / ulpOf(dtype, expected.number));
  comparison.max_ulps = std::max(comparison.max_ulps, ulps);
  if (expected.bound > 0) {
    comparison.max_of_bound = std::max(comparison.max_of_bound, static_cast<double>(distance / expected.bound));
  }
}

// Only over elements that the reference promises something of, where all three are finite.
void noteRmse(const OracleTensor& actual, const OracleTensor& expected, const OracleTensor& typed,
              Comparison& comparison) {
  long double actual_sum = 0;
  long double actual_squares = 0;
  long double typed_squares = 0;
  long double scale = 0;
  int64_t count = 0;
  for (size_t i = 0; i < expected.elements.size(); ++i) {
    const Element& reference = expected.elements[i];
    const long double error = static_cast<long double>(actual.elements[i].number) - reference.number;
    const long double typed_error = static_cast<long double>(typed.elements[i].number) - reference.number;
    if (!std::isfinite(error) || !std::isfinite(typed_error) || !std::isfinite(reference.bound)) continue;
    actual_sum += error;
    actual_squares += error * error;
    typed_squares += typed_error * typed_error;
    scale = std::max<long double>(scale, std::fabs(reference.number));
    ++count;
  }
  if (count < kFewestOfRmse) return;
  comparison.rmse = static_cast<double>(std::sqrt(actual_squares / count));
  const long double mean = actual_sum / count;
  comparison.is_shared = mean * mean >= kShared * (actual_squares / count);
  comparison.rmse_limit = static_cast<double>(kRmseFactor * std::sqrt(typed_squares / count) + kRmseOfScale * scale);
}

}  // namespace

Comparison compare(const StoredTensor& stored, const OracleTensor& expected, const OracleTensor* typed) {
  TK_REQUIRE(stored.dtype == expected.dtype && std::ranges::equal(stored.sizes, expected.sizes), Bind,
             "compare: the result is {}[{}], the reference {}[{}]", dataTypeName(stored.dtype),
             fmt::join(stored.sizes, ", "), dataTypeName(expected.dtype), fmt::join(expected.sizes, ", "));
  const OracleTensor actual = load(stored);
  Comparison comparison{.count = actual.count(), .first = {}, .rmse = {}};
  size_t flat = 0;
  forEachIndex(expected.sizes, [&](std::span<const int64_t> index) {
    const Element& is = actual.elements[flat];
    const Element& should = expected.elements[flat++];
    noteError(expected.dtype, is, should, comparison);
    std::string reason = faultOf(expected.dtype, is, should);
    if (reason.empty()) return;
    if (comparison.mismatches++ > 0) return;
    comparison.first = Mismatch{.index = {index.begin(), index.end()},
                                .actual = textOf(expected.dtype, is),
                                .expected = textOf(expected.dtype, should),
                                .bound = should.bound,
                                .reason = std::move(reason)};
  });
  const bool has_rmse = typed != nullptr && isFloatingType(expected.dtype) && expected.dtype != DataType::F64;
  if (has_rmse) noteRmse(actual, expected, *typed, comparison);
  return comparison;
}

std::string toString(const Comparison& comparison) {
  std::string text = fmt::format(
      "{} of {} elements differ ({} compared bitwise, {} without promise); max error {:.3g} ulp, {:.3g} of the bound",
      comparison.mismatches, comparison.count, comparison.exact, comparison.without_promise, comparison.max_ulps,
      comparison.max_of_bound);
  if (comparison.first) {
    const Mismatch& first = *comparison.first;
    text += fmt::format("\n  first at [{}]: got {}, expected {} within {:.4g}: {}", fmt::join(first.index, ", "),
                        first.actual, first.expected, first.bound, first.reason);
  }
  if (comparison.rmse) text += fmt::format("\n  rmse {:.4g}, limit {:.4g}", *comparison.rmse, comparison.rmse_limit);
  return text;
}

}  // namespace tokamak::oracle
