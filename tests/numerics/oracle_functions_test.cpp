#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "oracle/functions.h"
#include "oracle/rounding.h"
#include "symbolic/function_table.h"

namespace tokamak {
namespace {

using oracle::applyFunction;
using oracle::Element;
using oracle::Mode;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Element apply(FunctionId id, DataType type, const std::vector<double>& numbers, Mode mode = Mode::exact()) {
  const auto types = functionTypes(id, type);
  std::vector<Element> operands;
  for (const double number : numbers) {
    const bool is_condition = functionInfo(id).rule == TypeRule::Choose && operands.empty();
    operands.push_back(is_condition || !isFloatingType(types->operand)
                           ? Element{.integer = static_cast<int64_t>(number)}
                           : Element{.number = number});
  }
  return applyFunction(id, *types, operands, mode);
}

struct Row {
  FunctionId id;
  std::vector<double> operands;
  double expected;
};

class ExactRows : public testing::TestWithParam<Row> {};

// Results that every correct program gives bit by bit: no bound, the sign of zero included.
TEST_P(ExactRows, GiveTheirExactResult) {
  const auto& [id, operands, expected] = GetParam();
  for (const DataType type : {DataType::F32, DataType::F64}) {
    const Element result = apply(id, type, operands);
    const bool is_bool = functionTypes(id, type)->result == DataType::Bool;
    const double number = is_bool ? static_cast<double>(result.integer) : result.number;
    EXPECT_EQ(result.bound, 0) << functionInfo(id).name;
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(number)) << functionInfo(id).name;
    } else {
      EXPECT_EQ(number, expected) << functionInfo(id).name;
      EXPECT_EQ(std::signbit(number), std::signbit(expected)) << functionInfo(id).name;
    }
  }
}

namespace F = function_id;
INSTANTIATE_TEST_SUITE_P(
    Families, ExactRows,
    testing::Values(Row{F::abs, {-3}, 3}, Row{F::neg, {0}, -0.0}, Row{F::relu, {-2}, 0}, Row{F::relu, {kNaN}, kNaN},
                    Row{F::relu, {-0.0}, -0.0}, Row{F::sign, {-2.5}, -1}, Row{F::sign, {-0.0}, 0},
                    Row{F::sign, {kNaN}, kNaN}, Row{F::round, {2.5}, 2}, Row{F::round, {-3.5}, -4},
                    Row{F::ceil, {-0.5}, -0.0}, Row{F::floor, {-0.5}, -1}, Row{F::trunc, {-1.75}, -1},
                    Row{F::frac, {-1.75}, -0.75}, Row{F::frac, {kInf}, kNaN}, Row{F::sqrt, {2.25}, 1.5},
                    Row{F::sqrt, {-1}, kNaN}, Row{F::reciprocal, {-0.0}, -kInf}, Row{F::reciprocal, {4}, 0.25},
                    Row{F::log, {0}, -kInf}, Row{F::log, {1}, 0}, Row{F::exp, {-kInf}, 0}, Row{F::erfinv, {1}, kInf},
                    Row{F::erfinv, {1.5}, kNaN}, Row{F::erfcinv, {2}, -kInf}, Row{F::sin, {-0.0}, -0.0},
                    Row{F::acosh, {0.5}, kNaN}, Row{F::lgamma, {-1}, kInf}, Row{F::isnan, {kNaN}, 1},
                    Row{F::isinf, {-kInf}, 1}, Row{F::isfinite, {kInf}, 0}, Row{F::isneginf, {-kInf}, 1},
                    Row{F::isposinf, {-kInf}, 0}, Row{F::isreal, {kNaN}, 1}, Row{F::signbit, {-0.0}, 1}));
INSTANTIATE_TEST_SUITE_P(
    Binary, ExactRows,
    testing::Values(Row{F::add, {1.5, 2}, 3.5}, Row{F::add, {kInf, -kInf}, kNaN}, Row{F::sub, {1, 1}, 0},
                    Row{F::mul, {-0.0, 5}, -0.0}, Row{F::div, {1, 4}, 0.25}, Row{F::truediv, {1, 0}, kInf},
                    Row{F::fmod, {-5.5, 2}, -1.5}, Row{F::remainder, {-5.5, 2}, 0.5},
                    Row{F::remainder, {5.5, -2}, -0.5}, Row{F::maximum, {-0.0, 0.0}, 0},
                    Row{F::minimum, {0.0, -0.0}, -0.0}, Row{F::maximum, {1, kNaN}, kNaN},
                    Row{F::minimum, {kNaN, 1}, kNaN}, Row{F::fmax, {kNaN, 1}, 1}, Row{F::fmax, {1, kNaN}, 1},
                    Row{F::fmax, {kNaN, kNaN}, kNaN}, Row{F::fmin, {kNaN, 1}, 1}, Row{F::fmin, {1, kNaN}, 1},
                    Row{F::fmin, {kNaN, kNaN}, kNaN}, Row{F::fmax, {-0.0, 0.0}, 0}, Row{F::fmax, {0.0, -0.0}, 0},
                    Row{F::fmin, {0.0, -0.0}, -0.0}, Row{F::fmin, {-0.0, 0.0}, -0.0}, Row{F::eq, {0.0, -0.0}, 1},
                    Row{F::ne, {kNaN, kNaN}, 1}, Row{F::lt, {1, 2}, 1}, Row{F::ge, {kNaN, 1}, 0}, Row{F::le, {2, 2}, 1},
                    Row{F::gt, {2, 2}, 0}, Row{F::logical_and, {1, 0}, 0}, Row{F::logical_or, {1, 0}, 1}));
INSTANTIATE_TEST_SUITE_P(More, ExactRows,
                         testing::Values(Row{F::where, {1, 5, 7}, 5}, Row{F::where, {0, 5, 7}, 7},
                                         Row{F::clamp, {9, 0, 6}, 6}, Row{F::clamp, {kNaN, 0, 6}, kNaN},
                                         Row{F::threshold, {1, 1, 8}, 8}, Row{F::threshold, {2, 1, 8}, 2},
                                         Row{F::lerp, {2, 4, 0.25}, 2.5}, Row{F::lerp, {2, 4, 1}, 4},
                                         Row{F::add_alpha, {1, 2, 3}, 7}, Row{F::sub_alpha, {1, 2, 3}, -5},
                                         Row{F::addcmul, {1, 2, 3, 0.5}, 4}));

TEST(OracleFunctions, IntegersWrapAndHaveTheirTable) {
  const auto i32 = [](FunctionId id, const std::vector<double>& v) { return apply(id, DataType::I32, v).integer; };
  constexpr double lowest = INT32_MIN;
  EXPECT_EQ(i32(F::add, {2147483647.0, 1}), INT32_MIN);
  EXPECT_EQ(i32(F::mul, {65536, 65537}), 65536);
  EXPECT_EQ(i32(F::neg, {lowest}), INT32_MIN);
  EXPECT_EQ(i32(F::abs, {lowest}), INT32_MIN);
  EXPECT_EQ(i32(F::div, {-7, 2}), -3);
  EXPECT_EQ(i32(F::div, {7, 0}), 0);
  EXPECT_EQ(i32(F::div, {lowest, -1}), INT32_MIN);
  EXPECT_EQ(i32(F::mod, {-7, 2}), -1);
  EXPECT_EQ(i32(F::mod, {lowest, -1}), 0);
  EXPECT_EQ(i32(F::remainder, {-7, 3}), 2);
  EXPECT_EQ(i32(F::remainder, {7, -3}), -2);
  EXPECT_EQ(i32(F::remainder, {7, 0}), 0);
  EXPECT_EQ(i32(F::gcd, {-12, 18}), 6);
  EXPECT_EQ(i32(F::gcd, {0, 0}), 0);
  EXPECT_EQ(i32(F::bitwise_left_shift, {1, 31}), INT32_MIN);
  EXPECT_EQ(i32(F::bitwise_left_shift, {1, 32}), 0);
  EXPECT_EQ(i32(F::bitwise_right_shift, {-8, 1}), -4);
  EXPECT_EQ(i32(F::bitwise_right_shift, {-8, 99}), -1);
  EXPECT_EQ(i32(F::logical_right_shift, {-1, 28}), 15);
  EXPECT_EQ(i32(F::bitwise_not, {5}), -6);
  EXPECT_EQ(i32(F::bitwise_xor, {6, 3}), 5);
  EXPECT_EQ(i32(F::pow, {3, 20}), static_cast<int32_t>(3486784401LL));
  EXPECT_EQ(i32(F::pow, {-1, -3}), -1);
  EXPECT_EQ(i32(F::pow, {2, -1}), 0);
  EXPECT_EQ(i32(F::floor, {lowest}), INT32_MIN);
  EXPECT_EQ(apply(F::ceil, DataType::I64, {9007199254740992.0}).integer, 9007199254740992);
  EXPECT_EQ(apply(F::bitwise_not, DataType::Bool, {1}).integer, 0);
  EXPECT_EQ(apply(F::maximum, DataType::Bool, {0, 1}).integer, 1);
}

struct Approx {
  FunctionId id;
  std::vector<double> operands;
  double expected;
};

// Constants to 17 digits; that of erfcinv by bisection of erfc.
TEST(OracleFunctions, ApproximationsHaveTheirValuesAndBounds) {
  const Approx rows[] = {{F::exp, {1}, 2.7182818284590452},
                         {F::sin, {1}, 0.84147098480789651},
                         {F::tanh, {0.5}, 0.46211715726000976},
                         {F::erf, {0.5}, 0.52049987781304654},
                         {F::erfc, {2}, 0.0046777349810472658},
                         {F::erfinv, {0.5}, 0.47693627620446987},
                         {F::erfcinv, {0.0009765625}, 2.3314677736219475},
                         {F::sigmoid, {1}, 0.73105857863000488},
                         {F::silu, {1}, 0.73105857863000488},
                         {F::rsqrt, {2}, 0.70710678118654752},
                         {F::lgamma, {0.5}, 0.57236494292470009},
                         {F::pow, {2, 0.5}, 1.4142135623730950},
                         {F::atan2, {1, -1}, 2.3561944901923449},
                         {F::log1p, {1}, 0.69314718055994531},
                         {F::exp2, {0.5}, 1.4142135623730950}};
  for (const auto& [id, operands, expected] : rows) {
    const Element f64 = apply(id, DataType::F64, operands);
    EXPECT_NEAR(f64.number, expected, 4e-16 * expected) << functionInfo(id).name;
    const Element f32 = apply(id, DataType::F32, operands);
    EXPECT_GE(f32.bound, 6 * 0x1p-24 * expected) << functionInfo(id).name;
    EXPECT_LE(f32.bound, 8 * 0x1p-23 + 6 * 0x1p-23 * expected) << functionInfo(id).name;
    EXPECT_EQ(apply(id, DataType::F32, operands, Mode::typed()).number,
              static_cast<double>(static_cast<float>(f64.number)));
  }
}

// Exponents around the range of int64_t, where mathematical libraries tell odd from even by integers.
// Products that are only added to something may be multiplied and added in one step, which does not see that they
// overflow.
TEST(OracleFunctions, PromiseNothingOfSumsWithAProductThatOverflows) {
  const Element product = apply(F::mul, DataType::F32, {3e38, 2});
  EXPECT_EQ(product.number, kInf);
  EXPECT_EQ(product.bound, 0);
  const auto types = functionTypes(F::sub, DataType::F32);
  const std::vector<Element> operands = {{.number = 3e38}, product};
  EXPECT_EQ(applyFunction(F::sub, *types, operands, Mode::exact()).bound, kInf);
  EXPECT_EQ(apply(F::sub_alpha, DataType::F32, {3e38, 3e38, 2}).bound, kInf);
  EXPECT_EQ(apply(F::add_alpha, DataType::F32, {-3e38, 3e38, 2}).bound, kInf);
  // An infinite operand is no overflow, and f64 has room.
  EXPECT_EQ(
      applyFunction(F::sub, *types, std::vector<Element>{{.number = 3e38}, {.number = kInf}}, Mode::exact()).bound, 0);
  EXPECT_FALSE(apply(F::mul, DataType::F32, {kInf, 2}).is_overflow);
  EXPECT_FALSE(apply(F::mul, DataType::F64, {3e38, 2}).is_overflow);
  const std::vector<Element> larger = {product, {.number = 0}};
  EXPECT_EQ(applyFunction(F::maximum, *types, larger, Mode::exact()).bound, 0);
}

TEST(OracleFunctions, PowersOfMinusInfinity) {
  const Row rows[] = {{F::pow, {-kInf, -0x1p63}, 0}, {F::pow, {-kInf, 0x1p63}, kInf}, {F::pow, {-kInf, -0x1p62}, 0},
                      {F::pow, {-kInf, -0x1p64}, 0}, {F::pow, {-kInf, -3}, -0.0},     {F::pow, {-kInf, 3}, -kInf},
                      {F::pow, {-kInf, -0.5}, 0},    {F::pow, {-kInf, 0.5}, kInf},    {F::pow, {-kInf, 0}, 1},
                      {F::pow, {-kInf, -kInf}, 0},   {F::pow, {-kInf, kInf}, kInf}};
  for (const auto& [id, operands, expected] : rows) {
    for (const DataType type : {DataType::F32, DataType::F64}) {
      const double number = apply(id, type, operands).number;
      EXPECT_EQ(number, expected) << "exponent " << operands[1];
      EXPECT_EQ(std::signbit(number), std::signbit(expected)) << "exponent " << operands[1];
    }
  }
  EXPECT_TRUE(std::isnan(apply(F::pow, DataType::F64, {-kInf, kNaN}).number));
}

TEST(OracleFunctions, InversesReturn) {
  for (double x = -0.999; x < 1; x += 0.0371) {
    EXPECT_NEAR(std::erf(apply(F::erfinv, DataType::F64, {x}).number), x, 4e-16) << x;
  }
  for (double x = 1e-300; x < 2; x = x < 0.1 ? x * 1e10 : x + 0.1) {
    EXPECT_NEAR(std::erfc(apply(F::erfcinv, DataType::F64, {x}).number) / x, 1, x < 1e-3 ? 1e-12 : 1e-14) << x;
  }
}

TEST(OracleFunctions, EveryRowTakesEveryTypeOfItsRule) {
  for (const FunctionInfo& info : allFunctions()) {
    for (const DataType type : kAllDataTypes) {
      const auto types = functionTypes(info.id, type);
      if (!types) continue;
      std::vector<Element> operands(static_cast<size_t>(info.arity), Element{.number = 0.5, .integer = 1});
      for (const Mode mode : {Mode::exact(), Mode::typed()}) {
        const Element result = applyFunction(info.id, *types, operands, mode);
        EXPECT_TRUE(mode == Mode::exact() || result.bound == 0) << info.name;
        if (isFloatingType(types->result) && mode == Mode::exact() && result.bound == 0) {
          EXPECT_TRUE(oracle::isRepresentable(types->result, result.number)) << info.name;
        }
      }
    }
  }
}

TEST(OracleFunctions, BoundsOfOperandsPassThroughTheFunction) {
  const auto with = [](FunctionId id, std::vector<Element> operands) {
    return applyFunction(id, *functionTypes(id, DataType::F64), operands, Mode::exact());
  };
  // exp(1 +- 1e-6) spreads by e * 1e-6.
  EXPECT_NEAR(with(F::exp, {{.number = 1, .bound = 1e-6}}).bound, std::exp(1) * 1e-6, 1e-11);
  EXPECT_NEAR(with(F::mul, {{.number = 3, .bound = 0.01}, {.number = 5, .bound = 0.02}}).bound, 0.11 + 0.0002, 1e-12);
  // A pole within the interval: nothing is promised.
  EXPECT_EQ(with(F::reciprocal, {{.number = 1e-9, .bound = 1e-6}}).bound, kInf);
  EXPECT_EQ(with(F::sqrt, {{.number = 1e-9, .bound = 1e-6}}).bound, kInf);
  // Powers of negative numbers are numbers at whole exponents only: is there one within the interval?
  EXPECT_EQ(with(F::pow, {{.number = -2}, {.number = -100.5, .bound = 1}}).bound, kInf);
  EXPECT_EQ(with(F::pow, {{.number = -2}, {.number = -100.5, .bound = 0.25}}).bound, 0);
  // Discontinuities: certain away from them, open across them.
  EXPECT_EQ(with(F::floor, {{.number = 1.5, .bound = 0.1}}).bound, 0);
  EXPECT_EQ(with(F::floor, {{.number = 1.05, .bound = 0.1}}).bound, 1);
  EXPECT_EQ(with(F::lt, {{.number = 1, .bound = 0.1}, {.number = 2}}).bound, 0);
  EXPECT_EQ(with(F::lt, {{.number = 1, .bound = 0.1}, {.number = 1.05}}).bound, 1);
  EXPECT_EQ(with(F::eq, {{.number = 1, .bound = 0.1}, {.number = 1.05}}).bound, 1);
  EXPECT_EQ(with(F::eq, {{.number = 1, .bound = 0.1}, {.number = 1.2}}).bound, 0);
  const Element open{.integer = 1, .bound = 1};
  EXPECT_NEAR(with(F::where, {open, {.number = 3}, {.number = 4, .bound = 0.5}}).bound, 1.5, 1e-15);
  EXPECT_EQ(applyFunction(F::logical_and, *functionTypes(F::logical_and, DataType::Bool),
                          std::vector<Element>{open, {}}, Mode::exact())
                .bound,
            0);
  EXPECT_EQ(applyFunction(F::logical_or, *functionTypes(F::logical_or, DataType::Bool), std::vector<Element>{open, {}},
                          Mode::exact())
                .bound,
            1);
}

// The property behind all bounds: whatever the operands are within theirs, the typed result lies within the result's.
TEST(OracleFunctions, TypedResultsOfMovedOperandsLieWithinTheBound) {
  const double points[] = {-2.75, -0.3, 0.2, 0.9, 1.7, 31.25};
  int64_t checked = 0;
  for (const FunctionInfo& info : allFunctions()) {
    const auto types = functionTypes(info.id, DataType::F32);
    if (!types || !isFloatingType(types->operand) || !isFloatingType(types->result) || info.rule == TypeRule::Choose)
      continue;
    for (size_t p = 0; p < 36; ++p) {
      std::vector<Element> operands;
      for (int i = 0; i < info.arity; ++i) {
        const double x = static_cast<float>(points[i == 0 ? p % 6 : (p / 6 + static_cast<size_t>(i)) % 6]);
        operands.push_back({.number = x, .bound = std::fabs(x) * 1e-5});
      }
      const Element result = applyFunction(info.id, *types, operands, Mode::exact());
      for (const double side : {-1.0, -0.5, 0.0, 0.7, 1.0}) {
        std::vector<Element> moved;
        for (size_t i = 0; i < operands.size(); ++i) {
          const double sign = i % 2 == 0 ? side : -side;
          moved.push_back({.number = static_cast<float>(operands[i].number + 0.99 * sign * operands[i].bound)});
        }
        const double there = applyFunction(info.id, *types, moved, Mode::typed()).number;
        if (!std::isfinite(result.number) || result.bound == kInf) continue;
        EXPECT_LE(std::fabs(there - result.number), result.bound) << info.name << " at " << operands[0].number;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 4000);
}

// Whatever number within its bound an operand is, what the cast gives of it lies within the bound of the result; above
// a power of two, too, where numbers are further apart than at the operand itself.
TEST(OracleFunctions, CastsOfMovedOperandsLieWithinTheBound) {
  int64_t crossed = 0;
  for (const DataType to : {DataType::F16, DataType::BF16, DataType::F32}) {
    for (int step = 1; step < 400; ++step) {
      const double ulp = static_cast<double>(oracle::ulpOf(to, 1));
      const Element operand{.number = 1 - step * ulp / 128, .bound = step * ulp / 100};
      const Element result = oracle::convertElement(operand, DataType::F64, to, Mode::exact());
      for (const double side : {-1.0, -0.7, 0.0, 0.7, 1.0}) {
        const double moved = operand.number + side * operand.bound;
        const auto there = static_cast<double>(oracle::roundTo(to, moved));
        EXPECT_LE(std::fabs(there - result.number), result.bound) << dataTypeName(to) << " of " << moved;
        crossed += static_cast<int64_t>(there > 1);
      }
    }
  }
  EXPECT_GT(crossed, 100);
}

// A base that may be 1 makes every power 1, that of a NaN included.
TEST(OracleFunctions, PowersOfNearlyOneHaveNoPromiseAtNaN) {
  const FunctionTypes types = *functionTypes(FunctionId::pow, DataType::F64);
  const Element nearly_one[] = {{.number = 1 - 1e-9, .bound = 1e-8}, {.number = kNaN}};
  EXPECT_EQ(applyFunction(FunctionId::pow, types, nearly_one, Mode::exact()).bound, kInf);
  const Element two[] = {{.number = 2, .bound = 1e-8}, {.number = kNaN}};
  EXPECT_EQ(applyFunction(FunctionId::pow, types, two, Mode::exact()).bound, 0);
}

}  // namespace
}  // namespace tokamak
