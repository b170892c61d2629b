#include "oracle/compare.h"

#include <cmath>
#include <limits>

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
  const Element expected = oracle::applyFunction(FunctionId::exp, types, std::span(&operand, 1), oracle::Mode::Exact);
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

TEST(Compare, TheMeanErrorMustBeNearThatOfTheTypedReference) {
  const int64_t n = 256;
  std::vector<Element> expected;
  std::vector<double> near;
  std::vector<double> far;
  std::vector<double> shifted;
  std::vector<double> scattered;
  for (int64_t i = 0; i < n; ++i) {
    const double x = 0.5 + static_cast<double>(i) / 1000;  // far below the scale of 100
    expected.push_back({.number = x, .bound = 1e-3});
    near.push_back(x);
    far.push_back(x + 9e-4);
    shifted.push_back(x + 9e-5);
    scattered.push_back(x + (i % 2 == 0 ? 9e-5 : 0));
  }
  const OracleTensor reference = tensorOf(DataType::F32, expected);
  const OracleTensor typed = oracle::fromNumbers(DataType::F32, reference.sizes, near);
  const auto run = [&](const std::vector<double>& numbers) {
    const std::vector<std::byte> bytes = oracle::store(oracle::fromNumbers(DataType::F32, reference.sizes, numbers));
    return compare({.dtype = DataType::F32, .sizes = reference.sizes, .strides = {}, .data = bytes.data()}, reference,
                   &typed);
  };
  EXPECT_TRUE(run(near).isOk());
  EXPECT_EQ(run(far).mismatches, 0);
  EXPECT_FALSE(run(far).isRmseKept());
  // A small error that all have is one error.
  EXPECT_TRUE(run(shifted).isRmseKept());
  EXPECT_FALSE(run(scattered).isRmseKept());
}

TEST(Compare, EveryExceptionHasAReason) {
  for (const oracle::Exception& exception : oracle::exceptions()) {
    EXPECT_GT(exception.reason.size(), 20U) << functionInfo(exception.function).name;
    EXPECT_GT(exception.ulps + exception.epsilons + exception.smallest_normals, 0);
  }
}

}  // namespace
}  // namespace tokamak
