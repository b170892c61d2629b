// Conversions between all pairs of types against those of op-by-op execution.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/half.h"
#include "device_code/compiled_code.h"
#include "device_code/samples.h"
#include "loops/typed_loops.h"

namespace tokamak::test {
namespace {

std::string castName(DataType to, DataType from) {
  return fmt::format("{}_from_{}", dataTypeName(to), dataTypeName(from));
}

// Numbers that sit on or beside halfway points of the formats, and at the ends of integer ranges.
std::vector<double> interestingNumbers() {
  std::vector<double> values;
  for (const float x : sweep<float>(2000)) values.push_back(x);
  for (const double x : sweep<double>(2000)) values.push_back(x);
  for (int exponent = -27; exponent < 66; ++exponent) {
    for (const double step : {0.0, 0x1p-8, 0x1p-9, 0x1.8p-8, 0x1p-11, 0x1.8p-10, 0x1p-24, 0x1p-25, 0x1p-52}) {
      for (const double tiny : {0.0, 0x1p-30, -0x1p-30, 0x1p-52, -0x1p-53}) {
        values.push_back(std::ldexp(1 + step + tiny, exponent));
        values.push_back(-values.back());
      }
    }
  }
  return values;
}

// The samples as elements of `type`: all bit patterns of 16-bit types, else numbers converted from f64 and (integers)
// all over the range.
std::vector<char> samplesOf(DataType type) {
  std::vector<char> bytes;
  const auto append = [&](const void* data, size_t size) {
    bytes.insert(bytes.end(), static_cast<const char*>(data), static_cast<const char*>(data) + size);
  };
  if (isHalfType(type)) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto half = static_cast<uint16_t>(bits);
      append(&half, 2);
    }
    return bytes;
  }
  const std::vector<double> numbers = interestingNumbers();
  bytes.resize(numbers.size() * static_cast<size_t>(sizeOf(type)));
  castLoop(type, DataType::F64)(bytes.data(), numbers.data(), static_cast<int64_t>(numbers.size()));
  if (type == DataType::I64 || type == DataType::I32) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 20'000; ++i) {
      const int64_t wide = static_cast<int64_t>(random()) >> (random() % 64);
      const auto narrow = static_cast<int32_t>(wide);
      append(type == DataType::I64 ? static_cast<const void*>(&wide) : &narrow, static_cast<size_t>(sizeOf(type)));
    }
  }
  return bytes;
}

bool isNaN(DataType type, const char* element) {
  double value = 0;
  castLoop(DataType::F64, type)(&value, element, 1);
  return std::isnan(value);
}

TEST(Casts, EveryPairOfTypesConvertsAsOpByOpExecutionDoes) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  std::vector<std::string> helpers;
  std::string loops;
  for (const DataType to : kAllDataTypes) {
    for (const DataType from : kAllDataTypes) {
      for (const std::string& helper : castHelpers(to, from)) helpers.push_back(helper);
      const LaneType operand = from;
      loops += loopText(castName(to, from), to, std::span(&operand, 1), castCall(to, from, "x[i]"));
    }
  }
  const CompiledCode code(helpers, loops);
  for (const DataType from : kAllDataTypes) {
    const std::vector<char> in = samplesOf(from);
    const auto n = static_cast<int64_t>(in.size()) / sizeOf(from);
    for (const DataType to : kAllDataTypes) {
      std::vector<char> got(static_cast<size_t>(n * sizeOf(to))), expected(got.size());
      code.entry(castName(to, from))(got.data(), in.data(), nullptr, nullptr, nullptr, n);
      castLoop(to, from)(expected.data(), in.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        const char* const a = got.data() + i * sizeOf(to);
        const char* const b = expected.data() + i * sizeOf(to);
        if (std::memcmp(a, b, static_cast<size_t>(sizeOf(to))) == 0) continue;
        // A NaN may carry any payload.
        if (isFloatingType(to) && isNaN(to, a) && isNaN(to, b)) continue;
        ADD_FAILURE() << castName(to, from) << " differs at element " << i;
        break;
      }
    }
  }
}

// Compilers know rules for a conversion of a conversion: (float)(long long)x is no truncation where x is above -1 and
// below 0, since that gives -0.
TEST(Casts, TwoInOneExpressionAreTheTwoInTurn) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  const auto nameOf = [](DataType to, DataType by, DataType from) {
    return fmt::format("{}_by_{}", castName(to, from), dataTypeName(by));
  };
  std::vector<std::string> helpers;
  std::string loops;
  const auto forEach = [](const auto& function) {
    for (const DataType from : kAllDataTypes)
      for (const DataType by : kAllDataTypes)
        for (const DataType to : kAllDataTypes)
          if (from != by && by != to) function(to, by, from);
  };
  forEach([&](DataType to, DataType by, DataType from) {
    for (const auto& needed : {castHelpers(by, from), castHelpers(to, by)})
      helpers.insert(helpers.end(), needed.begin(), needed.end());
    const LaneType operand = from;
    loops += loopText(nameOf(to, by, from), to, std::span(&operand, 1), castCall(to, by, castCall(by, from, "x[i]")));
  });
  const CompiledCode code(helpers, loops);
  forEach([&](DataType to, DataType by, DataType from) {
    const std::vector<char> in = samplesOf(from);
    const auto n = static_cast<int64_t>(in.size()) / sizeOf(from);
    std::vector<char> got(static_cast<size_t>(n * sizeOf(to))), between(static_cast<size_t>(n * sizeOf(by)));
    std::vector<char> expected(got.size());
    code.entry(nameOf(to, by, from))(got.data(), in.data(), nullptr, nullptr, nullptr, n);
    castLoop(by, from)(between.data(), in.data(), n);
    castLoop(to, by)(expected.data(), between.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      const char* const a = got.data() + i * sizeOf(to);
      const char* const b = expected.data() + i * sizeOf(to);
      const bool is_same = std::memcmp(a, b, static_cast<size_t>(sizeOf(to))) == 0;
      if (is_same || (isFloatingType(to) && isNaN(to, a) && isNaN(to, b))) continue;
      ADD_FAILURE() << nameOf(to, by, from) << " differs at element " << i;
      break;
    }
  });
}

TEST(Casts, LanesConvertByHelpersAndByTheBuiltin) {
  EXPECT_EQ(castCall(DataType::BF16, LaneType(DataType::F16, 8), "v"), "tk_to_bf16_f32x8(tk_from_f16_f32x8(v))");
  EXPECT_EQ(castCall(DataType::I32, LaneType(DataType::F32, 16), "v"), "tk_to_i32_f32x16(v)");
  EXPECT_EQ(castCall(DataType::F64, LaneType(DataType::I32, 8), "v"), "tk_to_f64_i32x8(v)");
  EXPECT_EQ(castCall(DataType::F32, LaneType(DataType::I32, 8), "v"), "__builtin_convertvector(v, tk_f32x8)");
  EXPECT_EQ(castCall(DataType::F32, LaneType(DataType::Bool, 8, 8), "v"), "__builtin_convertvector(v & 1, tk_f32x8)");
  EXPECT_EQ(castCall(DataType::Bool, LaneType(DataType::F32, 8, 8), "v"), "__builtin_convertvector(v != 0, tk_i64x8)");
  EXPECT_EQ(maskCall(LaneType(DataType::Bool, 8, 4), 8, "m"), "__builtin_convertvector(m, tk_i64x8)");
  EXPECT_EQ(maskCall(LaneType(DataType::Bool, 8, 4), 4, "m"), "m");
}

}  // namespace
}  // namespace tokamak::test
