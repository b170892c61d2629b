#include "oracle/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"
#include "oracle/index.h"
#include "oracle/rounding.h"

namespace tokamak::oracle {

namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kRmseFactor = 1.5;
constexpr int64_t kFewestOfRmse = 32;

std::string textOf(DataType dtype, const Element& element) {
  if (dtype == DataType::Bool)
    return element.integer == 1 ? "true" : element.integer == 0 ? "false" : fmt::format("byte {}", element.integer);
  if (!isFloatingType(dtype)) return fmt::to_string(element.integer);
  return fmt::format("{} ({:a})", element.number, element.number);
}

// Why an element is wrong; empty when it is right.
std::string faultOf(DataType dtype, const Element& actual, const Element& expected) {
  if (dtype == DataType::Bool && (actual.integer < 0 || actual.integer > 1)) return "a bool must be 0 or 1";
  if (expected.bound == kUnbounded) return "";
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
  if (expected.bound == kUnbounded) {
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

// Whether an error of the element can be a part of its bound.
bool hasBound(const Element& expected) {
  return expected.bound > 0 && std::isfinite(expected.bound) && std::isfinite(expected.number) && !isOpenZero(expected);
}

// The root of the mean of part(i)^2 over the elements with a bound. Elements of which the same number is expected share
// their error, as the largest of each row may: they count as one. Of few numbers, or where a part is no number,
// nothing.
template <class Part>
std::optional<double> rootOfMean(const OracleTensor& expected, const Part& part) {
  std::vector<std::pair<double, long double>> squares;  // by the number that is expected
  for (size_t i = 0; i < expected.elements.size(); ++i) {
    const Element& element = expected.elements[i];
    if (!hasBound(element)) continue;
    const long double of_bound = part(i) / element.bound;
    squares.emplace_back(element.number, of_bound * of_bound);
  }
  std::ranges::stable_sort(squares, {}, &std::pair<double, long double>::first);
  long double sum = 0;
  int64_t numbers = 0;
  for (size_t begin = 0, end = 0; begin < squares.size(); begin = end) {
    long double of_number = 0;
    for (; end < squares.size() && squares[end].first == squares[begin].first; ++end) of_number += squares[end].second;
    sum += of_number / static_cast<long double>(end - begin);
    ++numbers;
  }
  if (numbers < kFewestOfRmse || !std::isfinite(sum)) return std::nullopt;
  return static_cast<double>(std::sqrt(sum / numbers));
}

std::optional<double> rmseOf(const OracleTensor& tensor, const OracleTensor& expected) {
  return rootOfMean(expected, [&](size_t i) {
    return static_cast<long double>(tensor.elements[i].number) - expected.elements[i].number;
  });
}

void judgeMean(const OracleTensor& actual, const OracleTensor& expected, const TypedOutputs& typed,
               Comparison& comparison) {
  const auto rmse = rmseOf(actual, expected);
  const auto of_typed = rmseOf(typed(0), expected);
  if (!rmse || !of_typed) return;
  comparison.rmse = rmse;
  const double ulp =
      rootOfMean(expected, [&](size_t i) { return ulpOf(expected.dtype, expected.elements[i].number); }).value();
  comparison.rmse_limit = std::max(kRmseFactor * *of_typed, ulp);
  // An error below what the last rounding leaves on the mean, about a quarter of an ulp, says nothing of chance.
  double largest = std::max(*of_typed, ulp / 4);
  double smallest = largest;
  for (int i = 1; i <= kVariations && *rmse > comparison.rmse_limit; ++i) {
    const double of_varied = std::max(rmseOf(typed(i), expected).value_or(kUnbounded), ulp / 4);
    largest = std::max(largest, of_varied);
    smallest = i == 1 ? of_varied : std::min(smallest, of_varied);
    comparison.rmse_limit = std::min(1.0, kRmseFactor * std::max(largest, ulp) * (largest / smallest));
    comparison.limit_is_varied = true;
  }
}

}  // namespace

Comparison compare(const StoredTensor& stored, const OracleTensor& expected, const TypedOutputs& typed) {
  TK_REQUIRE(stored.dtype == expected.dtype && std::ranges::equal(stored.sizes, expected.sizes), Bind,
             "compare: the result is {}[{}], the reference {}[{}]", dataTypeName(stored.dtype), joined(stored.sizes),
             dataTypeName(expected.dtype), joined(expected.sizes));
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
  if (typed && isFloatingType(expected.dtype) && expected.dtype != DataType::F64)
    judgeMean(actual, expected, typed, comparison);
  return comparison;
}

std::string toString(const Comparison& comparison) {
  std::string text = fmt::format(
      "{} of {} elements differ ({} compared bitwise, {} without promise); max error {:.3g} ulp, {:.3g} of the bound",
      comparison.mismatches, comparison.count, comparison.exact, comparison.without_promise, comparison.max_ulps,
      comparison.max_of_bound);
  if (comparison.first) {
    const Mismatch& first = *comparison.first;
    text += fmt::format("\n  first at [{}]: got {}, expected {} within {:.4g}: {}", joined(first.index), first.actual,
                        first.expected, first.bound, first.reason);
  }
  if (comparison.rmse)
    text += fmt::format("\n  rmse {:.4g} of the bound, limit {:.4g}", *comparison.rmse, comparison.rmse_limit);
  return text;
}

}  // namespace tokamak::oracle
