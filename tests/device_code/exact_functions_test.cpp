// The functions that are not approximated, against the function table's own formulas: every bit must be the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "device_code/compiled_code.h"
#include "device_code/samples.h"
#include "loops/typed_loops.h"

namespace tokamak::test {
namespace {

template <class T>
inline constexpr DataType type_of = DataType::Bool;
template <>
inline constexpr DataType type_of<float> = DataType::F32;
template <>
inline constexpr DataType type_of<double> = DataType::F64;
template <>
inline constexpr DataType type_of<int32_t> = DataType::I32;
template <>
inline constexpr DataType type_of<int64_t> = DataType::I64;

bool isExact(const FunctionInfo& info, DataType type) {
  if (!hasFunction(info.id, type)) return false;
  return info.accuracy != Accuracy::Approx || !isFloatingType(type);
}

CompiledCode compileExact(DataType type) {
  std::vector<std::string> helpers;
  std::string loops;
  for (const FunctionInfo& info : allFunctions()) {
    if (!isExact(info, type)) continue;
    for (const std::string& helper : functionHelpers(info.id, type)) helpers.push_back(helper);
    loops += functionLoopText(info.id, type);
  }
  return CompiledCode(helpers, loops);
}

// Operands side by side: all pairs of the special values (the third and fourth from elsewhere in the list), then random
// ones.
template <class T>
std::vector<std::vector<T>> operandsOf(const std::vector<T>& special, int random_count, auto draw) {
  std::vector<std::vector<T>> operands(4);
  for (size_t i = 0; i < special.size(); ++i) {
    for (size_t j = 0; j < special.size(); ++j) {
      const size_t at[] = {i, j, (i + 2 * j + 1) % special.size(), (3 * i + j + 2) % special.size()};
      for (size_t k = 0; k < 4; ++k) operands[k].push_back(special[at[k]]);
    }
  }
  for (int i = 0; i < random_count; ++i) {
    for (auto& values : operands) values.push_back(draw());
  }
  return operands;
}

template <class T>
bool isSame(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) && std::isnan(b)) return true;
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
std::string firstDifference(const void* got, const void* expected, size_t n,
                            const std::vector<std::vector<T>>& operands) {
  for (size_t i = 0; i < n; ++i) {
    T a, b;
    std::memcpy(&a, static_cast<const char*>(got) + i * sizeof(T), sizeof(T));
    std::memcpy(&b, static_cast<const char*>(expected) + i * sizeof(T), sizeof(T));
    if (!isSame(a, b)) {
      return fmt::format("at {} {} {} {}: {} instead of {}", operands[0][i], operands[1][i], operands[2][i],
                         operands[3][i], a, b);
    }
  }
  return "";
}

// bool elements as bytes, since vector<bool> has none.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class T>
void compareAll(const std::vector<std::vector<Stored<T>>>& operands) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  constexpr DataType type = type_of<T>;
  const CompiledCode code = compileExact(type);
  const size_t n = operands[0].size();
  std::vector<uint8_t> conditions(n);
  for (size_t i = 0; i < n; ++i) conditions[i] = static_cast<uint8_t>(i % 3 == 0);
  int count = 0;
  for (const FunctionInfo& info : allFunctions()) {
    if (!isExact(info, type)) continue;
    const void* in[4] = {operands[0].data(), operands[1].data(), operands[2].data(), operands[3].data()};
    if (info.rule == TypeRule::Choose) in[0] = conditions.data();
    std::vector<uint64_t> got(n), expected(n);
    code.entry(functionLoopName(info.id, type))(got.data(), in[0], in[1], in[2], in[3], static_cast<int64_t>(n));
    functionLoop(info.id, type)(expected.data(), in, static_cast<int64_t>(n));
    const bool gives_bool = functionTypes(info.id, type)->result == DataType::Bool;
    if (gives_bool) {
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), n), 0) << info.name;
    } else {
      EXPECT_EQ(firstDifference(got.data(), expected.data(), n, operands), "") << info.name;
    }
    ++count;
  }
  EXPECT_GT(count, 10);
}

template <class T>
void compareFloating() {
  std::mt19937_64 random(3);
  compareAll<T>(operandsOf<T>(specialValues<T>(), 20'000, [&]() -> T {
    if (random() % 2 == 0) return std::bit_cast<T>(static_cast<Bits<T>>(random()));
    return std::uniform_real_distribution<T>(-100, 100)(random);
  }));
}

template <class T>
void compareInteger() {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> special = {0,
                                  1,
                                  -1,
                                  2,
                                  -2,
                                  3,
                                  -3,
                                  7,
                                  31,
                                  32,
                                  33,
                                  63,
                                  64,
                                  65,
                                  -31,
                                  100,
                                  -100,
                                  Limits::max(),
                                  Limits::min(),
                                  Limits::max() - 1,
                                  Limits::min() + 1,
                                  Limits::max() / 2,
                                  Limits::min() / 2};
  std::mt19937_64 random(3);
  compareAll<T>(operandsOf<T>(
      special, 20'000, [&] { return static_cast<T>(static_cast<T>(random()) >> (random() % (sizeof(T) * 8))); }));
}

TEST(ExactFunctions, F32FunctionsEqualTheFormulas) { compareFloating<float>(); }
TEST(ExactFunctions, F64FunctionsEqualTheFormulas) { compareFloating<double>(); }
TEST(ExactFunctions, I32FunctionsEqualTheFormulas) { compareInteger<int32_t>(); }
TEST(ExactFunctions, I64FunctionsEqualTheFormulas) { compareInteger<int64_t>(); }
TEST(ExactFunctions, BoolFunctionsEqualTheFormulas) {
  compareAll<bool>(
      operandsOf<uint8_t>({0, 1}, 200, [i = 0]() mutable { return static_cast<uint8_t>((++i * 7 / 3) % 2); }));
}

TEST(ExactFunctions, EveryFunctionOfTheTableIsThereForEveryTypeItComputesWith) {
  for (const FunctionInfo& info : allFunctions()) {
    for (const DataType type : {DataType::F32, DataType::F64, DataType::I32, DataType::I64, DataType::Bool}) {
      const auto types = functionTypes(info.id, type);
      EXPECT_EQ(hasFunction(info.id, type), types.has_value() && types->operand == type)
          << info.name << dataTypeName(type);
    }
  }
}

}  // namespace
}  // namespace tokamak::test
