#include "oracle/compare.h"

#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "oracle/exceptions.h"
#include "oracle/functions.h"
#include "oracle/rounding.h"

namespace tokamak {
namespace {

using oracle::compare;
using oracle::Comparison;
using oracle::Element;
using oracle::OracleTensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

OracleTensor tensorOf(DataType dtype, std::vector<Element> elements) {
  return {.dtype = dtype, .sizes = {static_cast<int64_t>(elements.size())}, .elements = std::move(elements)};
}

Comparison compareNumbers(DataType dtype, const std::vector<double>& actual, std::vector<Element> expected) {
  const OracleTensor reference = tensorOf(dtype, std::move(expected));
  const std::vector<std::byte> bytes = oracle::store(oracle::fromNumbers(dtype, reference.sizes, actual));
  return compare({.dtype = dtype, .sizes = reference.sizes, .strides = {}, .data = bytes.data()}, reference);
}

bool accepts(DataType dtype, double actual, Element expected) {
  return compareNumbers(dtype, {actual}, {expected}).isOk();
}

TEST(Compare, AcceptsTheBoundAndRejectsTheNextNumber) {
  for (const DataType dtype : {DataType::F64, DataType::F32, DataType::F16, DataType::BF16}) {
    const auto ulp = static_cast<double>(oracle::ulpOf(dtype, 1.5));
    const Element expected{.number = 1.5, .bound = 2 * ulp};
    EXPECT_TRUE(accepts(dtype, 1.5 + 2 * ulp, expected)) << dataTypeName(dtype);
    EXPECT_TRUE(accepts(dtype, 1.5 - 2 * ulp, expected)) << dataTypeName(dtype);
    EXPECT_FALSE(accepts(dtype, 1.5 + 3 * ulp, expected)) << dataTypeName(dtype);
    EXPECT_FALSE(accepts(dtype, 1.5 - 3 * ulp, expected)) << dataTypeName(dtype);
    EXPECT_FALSE(accepts(dtype, 1.5 + ulp, {.number = 1.5})) << dataTypeName(dtype);
  }
}

TEST(Compare, AcceptsFunctionsWithinTheirAccuracyOnly) {
  const FunctionTypes types{.operand = DataType::F32, .result = DataType::F32};
  const Element operand{.number = 0.75};
  const Element expected = oracle::applyFunction(FunctionId::exp, types, std::span(&operand, 1), oracle::Mode::exact());
  const auto ulp = static_cast<double>(oracle::ulpOf(DataType::F32, expected.number));
  const double rounded = static_cast<float>(expected.number);
  EXPECT_TRUE(accepts(DataType::F32, rounded + 5 * ulp, expected));
  EXPECT_FALSE(accepts(DataType::F32, rounded + 7 * ulp, expected));
  EXPECT_FALSE(accepts(DataType::F32, rounded - 7 * ulp, expected));
}

TEST(Compare, SpecialsMustBeAtTheReferencesPlaces) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(accepts(DataType::F32, nan, {.number = nan}));
  EXPECT_FALSE(accepts(DataType::F32, 1, {.number = nan}));
  EXPECT_FALSE(accepts(DataType::F32, nan, {.number = 1, .bound = 1e9}));
  EXPECT_TRUE(accepts(DataType::F32, -kInfinity, {.number = -kInfinity}));
  EXPECT_FALSE(accepts(DataType::F32, kInfinity, {.number = -kInfinity}));
  EXPECT_FALSE(accepts(DataType::F32, kInfinity, {.number = 3e38, .bound = 1e38}));
  EXPECT_FALSE(accepts(DataType::F32, 3e38, {.number = kInfinity}));
  EXPECT_TRUE(accepts(DataType::F32, -0.0, {.number = -0.0}));
  EXPECT_FALSE(accepts(DataType::F32, 0.0, {.number = -0.0}));
  EXPECT_TRUE(accepts(DataType::F32, 0.0, {.number = -0.0, .bound = 1e-9}));
  EXPECT_TRUE(accepts(DataType::F32, nan, {.number = 1, .bound = kInfinity}));
}

TEST(Compare, IntegersAndBoolMustBeTheSame) {
  EXPECT_TRUE(compareNumbers(DataType::I64, {7}, {{.integer = 7}}).isOk());
  EXPECT_FALSE(compareNumbers(DataType::I64, {8}, {{.integer = 7}}).isOk());
  EXPECT_TRUE(compareNumbers(DataType::I64, {8}, {{.integer = 7, .bound = 1}}).isOk());
  EXPECT_FALSE(compareNumbers(DataType::Bool, {1}, {{.integer = 0}}).isOk());
  const std::byte byte{2};
  const OracleTensor truth = tensorOf(DataType::Bool, {{.integer = 1}});
  EXPECT_FALSE(compare({.dtype = DataType::Bool, .sizes = truth.sizes, .strides = {}, .data = &byte}, truth).isOk());
}

TEST(Compare, NamesTheFirstMismatchAndCounts) {
  const Comparison comparison =
      compareNumbers(DataType::F32, {1, 2.5, 3, 9},
                     {{.number = 1}, {.number = 2}, {.number = 3, .bound = kInfinity}, {.number = 4, .bound = 0.5}});
  EXPECT_EQ(comparison.count, 4);
  EXPECT_EQ(comparison.mismatches, 2);
  EXPECT_EQ(comparison.exact, 2);
  EXPECT_EQ(comparison.without_promise, 1);
  ASSERT_TRUE(comparison.first.has_value());
  EXPECT_THAT(comparison.first->index, testing::ElementsAre(1));
  EXPECT_EQ(comparison.max_of_bound, 10);
  EXPECT_THAT(toString(comparison), testing::HasSubstr("first at [1]: got 2.5"));
}

TEST(Compare, ReadsStridedResults) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  const int64_t sizes[] = {3, 2};
  const int64_t strides[] = {1, 3};
  const OracleTensor expected = oracle::fromNumbers(DataType::F32, sizes, std::vector<double>{1, 4, 2, 5, 3, 6});
  EXPECT_TRUE(compare({.dtype = DataType::F32,
                       .sizes = sizes,
                       .strides = strides,
                       .data = reinterpret_cast<const std::byte*>(data)},
                      expected)
                  .isOk());
  EXPECT_FALSE(
      compare({.dtype = DataType::F32, .sizes = sizes, .strides = {}, .data = reinterpret_cast<const std::byte*>(data)},
              expected)
          .isOk());
}

TEST(Compare, RefusesAnotherShapeOrType) {
  const OracleTensor expected = tensorOf(DataType::F32, {{.number = 1}});
  const float data[] = {1, 1};
  const int64_t two[] = {2};
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  EXPECT_THROW(compare({.dtype = DataType::F32, .sizes = two, .strides = {}, .data = bytes}, expected), Error);
  EXPECT_THROW(compare({.dtype = DataType::I32, .sizes = expected.sizes, .strides = {}, .data = bytes}, expected),
               Error);
}

// Numbers at distances from the expected ones, as parts of a bound of 1e-3, judged with typed evaluations at such
// distances.
class Judged {
 public:
  using Distance = std::function<double(int64_t)>;

  static Comparison judge(const Distance& actual, const std::function<double(int, int64_t)>& typed) {
    std::vector<Element> expected;
    for (int64_t i = 0; i < kCount; ++i) expected.push_back({.number = numberAt(i), .bound = kBound});
    const OracleTensor reference = tensorOf(DataType::F32, expected);
    std::vector<OracleTensor> evaluations;
    for (int number = 0; number <= oracle::kVariations; ++number)
      evaluations.push_back(at(reference, [&](int64_t i) { return typed(number, i); }));
    const std::vector<std::byte> bytes = oracle::store(at(reference, actual));
    return compare({.dtype = DataType::F32, .sizes = reference.sizes, .strides = {}, .data = bytes.data()}, reference,
                   [&](int number) -> const OracleTensor& { return evaluations.at(static_cast<size_t>(number)); });
  }

 private:
  static constexpr int64_t kCount = 256;
  static constexpr double kBound = 1e-3;
  static double numberAt(int64_t i) { return 0.5 + static_cast<double>(i) / 1000; }
  static OracleTensor at(const OracleTensor& reference, const Distance& distance) {
    std::vector<double> numbers;
    for (int64_t i = 0; i < kCount; ++i) numbers.push_back(numberAt(i) + kBound * distance(i));
    return oracle::fromNumbers(DataType::F32, reference.sizes, numbers);
  }
};

double sideOf(int64_t i) { return i % 2 == 0 ? 1 : -1; }

TEST(Compare, TheMeanErrorMustBeNearThatOfTypedEvaluations) {
  const auto typed = [](int, int64_t i) { return 0.02 * sideOf(i / 2); };
  EXPECT_TRUE(Judged::judge([](int64_t i) { return 0.025 * sideOf(i); }, typed).isOk());
  const Comparison far = Judged::judge([](int64_t i) { return 0.06 * sideOf(i); }, typed);
  EXPECT_EQ(far.mismatches, 0);
  EXPECT_FALSE(far.isOk());
  EXPECT_NEAR(*far.rmse, 0.06, 1e-3);
  EXPECT_NEAR(far.rmse_limit, 0.03, 1e-3);
}

TEST(Compare, WhatIsPrintedDecides) {
  for (const double part : {0.01, 0.029, 0.031, 0.3, 0.9}) {
    const Comparison comparison =
        Judged::judge([&](int64_t i) { return part * sideOf(i); }, [](int, int64_t i) { return 0.02 * sideOf(i / 2); });
    ASSERT_EQ(comparison.mismatches, 0);
    EXPECT_EQ(comparison.isOk(), *comparison.rmse <= comparison.rmse_limit) << part;
    EXPECT_THAT(toString(comparison), testing::HasSubstr(fmt::format("rmse {:.4g} of the bound, limit {:.4g}",
                                                                     *comparison.rmse, comparison.rmse_limit)));
  }
}

// All elements share one error, which is larger or smaller by chance: one right program says little about another.
TEST(Compare, AnErrorThatAllElementsShareIsJudgedByHowFarItVaries) {
  const auto shared = [](int number, int64_t) { return number == 0 ? 0.001 : 0.02 * number; };
  EXPECT_TRUE(Judged::judge([](int64_t) { return 0.3; }, shared).isOk());
  const auto steady = [](int, int64_t) { return 0.02; };
  EXPECT_FALSE(Judged::judge([](int64_t) { return 0.3; }, steady).isOk());
}

// Errors below an ulp are those of the last rounding, however exact typed evaluations happen to be.
TEST(Compare, AnUlpIsNeverTooMuch) {
  const double ulp = 0x1p-24 / 1e-3;
  const auto typed = [](int, int64_t) { return 0.0; };
  EXPECT_TRUE(Judged::judge([&](int64_t i) { return ulp * sideOf(i); }, typed).isOk());
  EXPECT_FALSE(Judged::judge([&](int64_t i) { return 5 * ulp * sideOf(i); }, typed).isOk());
}

TEST(Compare, EveryExceptionHasAReason) {
  for (const oracle::Exception& exception : oracle::exceptions()) {
    EXPECT_GT(exception.reason.size(), 20U) << functionInfo(exception.function).name;
    EXPECT_GT(exception.ulps + exception.epsilons + exception.smallest_normals, 0);
  }
}

}  // namespace
}  // namespace tokamak
