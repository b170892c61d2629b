// The approximated functions against a wider reference; prints the largest error of each.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device_code/compiled_code.h"
#include "device_code/reference.h"
#include "device_code/samples.h"

namespace tokamak::test {
namespace {

std::vector<FunctionId> approximated(int arity) {
  std::vector<FunctionId> ids;
  for (const FunctionInfo& info : allFunctions()) {
    if (info.accuracy == Accuracy::Approx && info.arity == arity) ids.push_back(info.id);
  }
  return ids;
}

CompiledCode compileApproximated(DataType type) {
  std::vector<std::string> helpers;
  std::string loops;
  for (const int arity : {1, 2}) {
    for (const FunctionId id : approximated(arity)) {
      for (const std::string& helper : functionHelpers(id, type)) helpers.push_back(helper);
      loops += functionLoopText(id, type);
    }
  }
  return CompiledCode(helpers, loops);
}

// The promise: 2 ulp in f32 (3 for sigmoid and silu, 4 for tanh, erf and what is rarely used), 4 in f64.
double boundOf(FunctionId id, DataType type) {
  if (type == DataType::F64) return 4;
  if (id == FunctionId::sigmoid || id == FunctionId::silu) return 3;
  return id == FunctionId::tanh || id == FunctionId::erf ? 4 : 2;
}

template <class T>
struct Worst {
  double error = 0;
  T x = 0, y = 0, got = 0;
};

template <class T, class W>
void note(Worst<T>& worst, FunctionId id, T x, T y, T got) {
  const W expected = reference<W>(id, x, y);
  auto error = static_cast<double>(errorInUlp<T, W>(got, expected));
  // Left of 0 lgamma crosses zero where its terms cancel: in f64 the error is one of the terms.
  if (id == FunctionId::lgamma && x < 0 && sizeof(T) == 8 && error < 1e20) {
    const W term = std::max(W(1), std::fabs(reference<W>(id, -x, y)));
    error *= static_cast<double>(std::min(W(1), std::fabs(expected) / term));
  }
  if (error > worst.error) worst = {error, x, y, got};
}

template <class T, class W>
void sweepFunctions(DataType type, const std::vector<T>& xs, const std::vector<std::pair<T, T>>& pairs) {
  const CompiledCode code = compileApproximated(type);
  std::vector<T> first, second;
  for (const auto& [x, y] : pairs) {
    first.push_back(x);
    second.push_back(y);
  }
  std::string report;
  for (const int arity : {1, 2}) {
    const std::vector<T>& x = arity == 1 ? xs : first;
    std::vector<T> got(x.size());
    for (const FunctionId id : approximated(arity)) {
      Worst<T> worst;
      code.entry(functionLoopName(id, type))(got.data(), x.data(), second.data(), nullptr, nullptr,
                                             static_cast<int64_t>(x.size()));
      for (size_t i = 0; i < x.size(); ++i) note<T, W>(worst, id, x[i], arity == 1 ? T(0) : second[i], got[i]);
      report += fmt::format("  {} {:.3f}", functionInfo(id).name, worst.error);
      EXPECT_LE(worst.error, boundOf(id, type)) << functionInfo(id).name << "("
                                                << fmt::format("{}, {}) = {}, expected {}", worst.x, worst.y, worst.got,
                                                               static_cast<double>(reference<W>(id, worst.x, worst.y)));
    }
  }
  fmt::print("largest errors in ulp of {}:{}\n", dataTypeName(type), report);
}

template <class T>
std::vector<std::pair<T, T>> somePairs(int count) {
  std::vector<std::pair<T, T>> pairs;
  for (const T x : specialValues<T>()) {
    for (const T y : specialValues<T>()) pairs.emplace_back(x, y);
  }
  std::mt19937_64 random(11);
  const auto anyBits = [&] { return std::bit_cast<T>(static_cast<Bits<T>>(random())); };
  for (int i = 0; i < count; ++i) {
    pairs.emplace_back(anyBits(), anyBits());
    std::uniform_real_distribution<double> near_one(0.5, 2.0), exponent(-200, 200), wide(-20, 20);
    pairs.emplace_back(static_cast<T>(near_one(random)), static_cast<T>(exponent(random)));
    pairs.emplace_back(static_cast<T>(std::exp2(wide(random))), static_cast<T>(wide(random)));
    pairs.emplace_back(static_cast<T>(-std::exp2(wide(random))), std::round(static_cast<T>(wide(random))));
  }
  return pairs;
}

TEST(FunctionAccuracy, F32FunctionsAreWithinTheirBounds) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  const uint64_t stride = sweepStride();
  constexpr uint64_t block = uint64_t{1} << 26;
  for (uint64_t begin = 0; begin < (uint64_t{1} << 32); begin += block * stride) {
    std::vector<float> xs = sweep<float>(begin == 0 ? 100'000 : 0);
    for (uint64_t i = 0, bits = begin; i < block && bits < (uint64_t{1} << 32); ++i, bits += stride) {
      xs.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    }
    sweepFunctions<float, double>(DataType::F32, xs, somePairs<float>(begin == 0 ? 100'000 : 0));
  }
}

// 1 + erf and 1 + tanh, whose error is absolute: in 2^-24, half an ulp of 1. (2 is 2 ulp of what lies from 1 to 2.)
TEST(FunctionAccuracy, SumsWithOneAreWithinTheirBounds) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  const LaneType f32 = DataType::F32;
  std::vector<float> xs = sweep<float>(1'000'000);
  for (int i = 0; i <= 4'000'000; ++i) xs.push_back(static_cast<float>((i - 2'000'000) * 5e-6));
  std::vector<float> got(xs.size());
  for (const FunctionId id : {function_id::erf, function_id::tanh}) {
    const std::optional<std::string> helper = onePlusHelper(Dialect::C, id, 1);
    ASSERT_TRUE(helper.has_value());
    const CompiledCode code(std::vector{*helper},
                            loopText("sum", f32, std::span(&f32, 1), fmt::format("tk_{}(x[i])", *helper)));
    code.entry("sum")(got.data(), xs.data(), nullptr, nullptr, nullptr, static_cast<int64_t>(xs.size()));
    double most = 0;
    for (size_t i = 0; i < xs.size(); ++i) {
      const double x = xs[i];
      const double exact = id == function_id::erf ? std::erfc(-x) : 2 / (1 + std::exp(-2 * x));
      if (std::isnan(exact)) {
        EXPECT_TRUE(std::isnan(got[i])) << x;
        continue;
      }
      if (x == 0 || std::isinf(x)) {
        EXPECT_EQ(got[i], exact) << x;
      }
      const double error = std::fabs(got[i] - exact) * 0x1p24;
      EXPECT_LE(error, 4) << *helper << "(" << x << ") = " << got[i] << ", expected " << exact;
      most = std::max(most, error);
    }
    fmt::print("largest error of {} in 2^-24: {:.3f}\n", *helper, most);
  }
}

TEST(FunctionAccuracy, F64FunctionsAreWithinTheirBounds) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "long double is no wider than double here";
  sweepFunctions<double, long double>(DataType::F64, sweep<double>(60'000), somePairs<double>(30'000));
}

}  // namespace
}  // namespace tokamak::test
