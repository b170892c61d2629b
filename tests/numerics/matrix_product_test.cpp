// The products of whole matrices give what a Dot per element gives.
#include <cmath>

#include <gtest/gtest.h>

#include "oracle/dot.h"
#include "oracle/matrix_product.h"

namespace tokamak::oracle {
namespace {

constexpr int64_t kRows = 37;
constexpr int64_t kColumns = 41;
constexpr int64_t kInner = 53;

// Numbers that are spread, but the same in every run.
class Numbers {
 public:
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(static_cast<int64_t>(state_) >> 11) * 0x1p-52;
  }

 private:
  uint64_t state_ = 7;
};

struct Problem {
  std::vector<Element> a = std::vector<Element>(kRows * kInner);
  std::vector<Element> b = std::vector<Element>(kColumns * kInner);
  std::vector<Element> bias = {};

  Lines left() const { return {.elements = a, .count = kRows, .inner = kInner, .stride = kInner, .inner_stride = 1}; }
  Lines right() const {
    return {.elements = b, .count = kColumns, .inner = kInner, .stride = 1, .inner_stride = kColumns};
  }
  std::vector<Element> product(const ProductTypes& types, Mode mode) const {
    std::vector<Element> out(kRows * kColumns);
    multiplyLines(types, mode, left(), right(), bias, out);
    return out;
  }
  Element dot(const ProductTypes& types, Mode mode, int64_t i, int64_t j) const {
    Dot dot(types.operands, types.result, mode);
    for (int64_t k = 0; k < kInner; ++k)
      dot.add(a[static_cast<size_t>(i * kInner + k)], b[static_cast<size_t>(k * kColumns + j)]);
    return dot.finish(bias.empty() ? nullptr : &bias[static_cast<size_t>(j)]);
  }
};

Problem randomProblem(double scale, bool is_whole) {
  Problem problem;
  Numbers numbers;
  for (auto* elements : {&problem.a, &problem.b}) {
    for (Element& e : *elements)
      e.number = static_cast<double>(
          roundTo(DataType::BF16, is_whole ? std::round(scale * numbers.next()) : scale * numbers.next()));
  }
  return problem;
}

constexpr ProductTypes kSingle = {};

void expectDots(const Problem& problem, const ProductTypes& types) {
  const std::vector<Element> exact = problem.product(types, Mode::exact());
  const std::vector<Element> typed = problem.product(types, Mode::typed());
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      const Element is = exact[static_cast<size_t>(i * kColumns + j)];
      const Element should = problem.dot(types, Mode::exact(), i, j);
      const auto at = ::testing::Message() << "at [" << i << ", " << j << "]";
      if (std::isnan(should.number)) {
        EXPECT_TRUE(std::isnan(is.number)) << at;
      } else if (should.bound == 0 || should.bound == kOpenSign || std::isinf(should.bound)) {
        EXPECT_EQ(is.number, should.number) << at;
        EXPECT_EQ(std::signbit(is.number), std::signbit(should.number)) << at;
        EXPECT_EQ(is.bound, should.bound) << at;
      } else {
        EXPECT_NEAR(is.number, should.number, 1e-7 * should.bound) << at;
        EXPECT_GE(is.bound, should.bound * (1 - 1e-12)) << at;
        EXPECT_LE(is.bound, should.bound * (1 + 1e-7)) << at;
      }
      const Element rounded = problem.dot(types, Mode::typed(), i, j);
      const double typed_number = typed[static_cast<size_t>(i * kColumns + j)].number;
      if (std::isfinite(rounded.number))
        EXPECT_NEAR(typed_number, rounded.number, 1e-5 + 1e-2 * std::fabs(rounded.number)) << at;
      else
        EXPECT_FALSE(std::isfinite(typed_number)) << at;
    }
  }
}

TEST(MatrixProduct, NumbersThatRoundHaveTheBoundOfADot) { expectDots(randomProblem(3, false), kSingle); }

TEST(MatrixProduct, WholeNumbersAreExact) {
  const Problem problem = randomProblem(20, true);
  expectDots(problem, kSingle);
  for (const Element& element : problem.product(kSingle, Mode::exact()))
    EXPECT_EQ(element.bound == kOpenSign ? 0 : element.bound, 0);
}

TEST(MatrixProduct, SomeElementsAreExactAndOthersRound) {
  Problem problem = randomProblem(20, true);
  for (int64_t k = 0; k < kInner; ++k) problem.a[static_cast<size_t>(5 * kInner + k)].number *= 1 + 0x1p-20;
  expectDots(problem, kSingle);
}

TEST(MatrixProduct, UncertainOperandsWidenTheBound) {
  Problem problem = randomProblem(2, false);
  for (size_t n = 0; n < problem.a.size(); n += 3) problem.a[n].bound = 1e-4;
  for (size_t n = 0; n < problem.b.size(); n += 7) problem.b[n].bound = 1e-3;
  expectDots(problem, kSingle);
}

TEST(MatrixProduct, NumbersThatAreNotFiniteStayInTheirLines) {
  Problem problem = randomProblem(2, false);
  problem.a[3 * kInner + 2].number = std::numeric_limits<double>::infinity();
  problem.b[5].number = std::numeric_limits<double>::quiet_NaN();
  problem.a[7 * kInner].bound = std::numeric_limits<double>::infinity();
  expectDots(problem, kSingle);
}

TEST(MatrixProduct, LinesOfZerosKeepTheirSigns) {
  Problem problem = randomProblem(2, false);
  for (int64_t k = 0; k < kInner; ++k) {
    problem.a[static_cast<size_t>(4 * kInner + k)].number = -0.0;
    problem.b[static_cast<size_t>(k * kColumns + 9)] = {.number = 0, .bound = kOpenSign};
    problem.b[static_cast<size_t>(k * kColumns + 10)].number =
        std::fabs(problem.b[static_cast<size_t>(k * kColumns + 10)].number);
  }
  expectDots(problem, kSingle);
}

TEST(MatrixProduct, HalvesMayBeRoundedBeforeTheirBias) {
  Problem problem = randomProblem(3, false);
  Numbers numbers;
  for (int64_t j = 0; j < kColumns; ++j)
    problem.bias.push_back({.number = static_cast<double>(roundTo(DataType::BF16, numbers.next()))});
  expectDots(problem, {DataType::BF16, DataType::BF16});
  Problem whole = randomProblem(2, true);
  whole.bias = problem.bias;
  expectDots(whole, {DataType::F16, DataType::F16});
}

TEST(MatrixProduct, OfHalvesThatGiveSinglesIsNotRoundedToHalves) {
  Problem problem = randomProblem(3, false);
  Numbers numbers;
  for (int64_t j = 0; j < kColumns; ++j)
    problem.bias.push_back({.number = static_cast<double>(roundTo(DataType::BF16, numbers.next()))});
  constexpr ProductTypes kWidening = {.operands = DataType::BF16, .result = DataType::F32};
  expectDots(problem, kWidening);
  // The same numbers as singles have the same products.
  const std::vector<Element> of_halves = problem.product(kWidening, Mode::exact());
  const std::vector<Element> of_singles = problem.product(kSingle, Mode::exact());
  for (size_t n = 0; n < of_halves.size(); ++n) {
    EXPECT_EQ(of_halves[n].number, of_singles[n].number);
    EXPECT_EQ(of_halves[n].bound, of_singles[n].bound);
  }
}

}  // namespace
}  // namespace tokamak::oracle
