// Functions of several lanes give, bit by bit, what the function of one lane gives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "device_code/compiled_code.h"
#include "device_code/samples.h"

namespace tokamak::test {
namespace {

std::vector<FunctionId> laneFunctions() {
  std::vector<FunctionId> ids;
  for (const FunctionInfo& info : kFunctions) {
    const bool gives_f32 =
        info.rule != TypeRule::Compare && info.rule != TypeRule::Choose && info.rule != TypeRule::Test;
    if (gives_f32 && hasFunction(info.id, LaneType(DataType::F32, 8))) ids.push_back(info.id);
  }
  return ids;
}

// A loop over vectors of `lanes` elements, loaded and stored as a kernel would.
std::string vectorLoop(const std::string& name, int lanes, const std::string& result_type,
                       const std::string& operand_type, const std::string& expression) {
  return fmt::format(
      "void {0}(void* out, const void* x, const void* y, const void* z, const void* w, long n) {{\n"
      "  for (long i = 0; i < n / {1}; ++i) {{\n    {2} r; {3} a, b = {{0}}, c = {{0}}, d = {{0}};\n"
      "    __builtin_memcpy(&a, (const char*)x + i * (long)sizeof a, sizeof a);\n"
      "    if (y) __builtin_memcpy(&b, (const char*)y + i * (long)sizeof b, sizeof b);\n"
      "    if (z) __builtin_memcpy(&c, (const char*)z + i * (long)sizeof c, sizeof c);\n"
      "    if (w) __builtin_memcpy(&d, (const char*)w + i * (long)sizeof d, sizeof d);\n"
      "    (void)b; (void)c; (void)d;\n"
      "    r = {4};\n    __builtin_memcpy((char*)out + i * (long)sizeof r, &r, sizeof r);\n  }}\n}}\n",
      name, lanes, result_type, operand_type, expression);
}

std::vector<float> operand(int shift) {
  std::vector<float> values = sweep<float>(20'000);
  values.resize(values.size() / 16 * 16);
  std::vector<float> rotated(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    rotated[i] = values[(i + static_cast<size_t>(shift) * 977) % values.size()];
  return rotated;
}

template <class T>
int64_t firstDifference(const std::vector<T>& a, const std::vector<T>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if constexpr (std::is_same_v<T, float>) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    }
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0) return static_cast<int64_t>(i);
  }
  return -1;
}

class Lanes : public testing::TestWithParam<const char*> {};

TEST_P(Lanes, FunctionsOfLanesEqualThoseOfOneLane) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  std::vector<std::string> helpers = {"basics_f32x8", "basics_f32x16"};
  std::string loops;
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  for (const FunctionId id : laneFunctions()) {
    const auto arity = static_cast<size_t>(functionInfo(id).arity);
    loops += functionLoopText(id, DataType::F32);
    for (const std::string& helper : functionHelpers(id, DataType::F32)) helpers.push_back(helper);
    for (const int lanes : {8, 16}) {
      const LaneType type(DataType::F32, lanes);
      for (const std::string& helper : functionHelpers(id, type)) helpers.push_back(helper);
      loops += vectorLoop(fmt::format("lanes_{}_{}", functionInfo(id).name, lanes), lanes, deviceTypeName(type),
                          deviceTypeName(type), functionCall(id, type, std::span(names).first(arity)));
    }
  }
  const CompiledCode code(helpers, loops, GetParam());
  const std::vector<float> x = operand(0), y = operand(1), z = operand(2), w = operand(3);
  const auto n = static_cast<int64_t>(x.size());
  for (const FunctionId id : laneFunctions()) {
    std::vector<float> expected(x.size()), got(x.size());
    code.entry(functionLoopName(id, DataType::F32))(expected.data(), x.data(), y.data(), z.data(), w.data(), n);
    for (const int lanes : {8, 16}) {
      code.entry(fmt::format("lanes_{}_{}", functionInfo(id).name, lanes))(got.data(), x.data(), y.data(), z.data(),
                                                                           w.data(), n);
      EXPECT_EQ(firstDifference(got, expected), -1) << functionInfo(id).name << " of " << lanes << " lanes";
    }
  }
  EXPECT_GE(laneFunctions().size(), 20U);
}

TEST_P(Lanes, MasksChooseAndHalfTypesConvert) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  std::vector<std::string> helpers;
  std::string loops;
  const auto need = [&](const std::vector<std::string>& names) {
    helpers.insert(helpers.end(), names.begin(), names.end());
  };
  for (const int lanes : {1, 8, 16}) {
    const LaneType f32(DataType::F32, lanes), mask(DataType::Bool, lanes);
    const std::string v = deviceTypeName(f32);
    need(functionHelpers(FunctionId::where, f32));
    if (lanes > 1) need({fmt::format("basics_f32x{}", lanes)});
    const auto call = [](FunctionId id, LaneType type, std::vector<std::string> operands) {
      return functionCall(id, type, operands);
    };
    const std::string condition = call(FunctionId::logical_and, mask,
                                       {call(FunctionId::lt, f32, {"a", "b"}),
                                        call(FunctionId::logical_not, mask, {call(FunctionId::ge, f32, {"c", "b"})})});
    loops +=
        vectorLoop(fmt::format("where_{}", lanes), lanes, v, v, call(FunctionId::where, f32, {condition, "a", "c"}));
    for (const DataType half : {DataType::F16, DataType::BF16}) {
      const LaneType halves(half, lanes);
      need(castHelpers(half, f32));
      need(castHelpers(DataType::F32, halves));
      loops += vectorLoop(fmt::format("to_{}_{}", dataTypeName(half), lanes), lanes, deviceTypeName(halves), v,
                          castCall(half, f32, "a"));
      loops += vectorLoop(fmt::format("from_{}_{}", dataTypeName(half), lanes), lanes, v, deviceTypeName(halves),
                          castCall(DataType::F32, halves, "a"));
    }
  }
  const CompiledCode code(helpers, loops, GetParam());
  const std::vector<float> x = operand(0), y = operand(1), z = operand(2);
  const auto n = static_cast<int64_t>(x.size());
  std::vector<uint16_t> bits(0x10000);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  for (const int lanes : {8, 16}) {
    std::vector<float> expected(x.size()), got(x.size());
    code.entry("where_1")(expected.data(), x.data(), y.data(), z.data(), nullptr, n);
    code.entry(fmt::format("where_{}", lanes))(got.data(), x.data(), y.data(), z.data(), nullptr, n);
    EXPECT_EQ(firstDifference(got, expected), -1);
    for (const std::string half : {"f16", "bf16"}) {
      std::vector<uint16_t> expected_halves(x.size()), got_halves(x.size());
      code.entry(fmt::format("to_{}_1", half))(expected_halves.data(), x.data(), nullptr, nullptr, nullptr, n);
      code.entry(fmt::format("to_{}_{}", half, lanes))(got_halves.data(), x.data(), nullptr, nullptr, nullptr, n);
      EXPECT_EQ(firstDifference(got_halves, expected_halves), -1) << half << lanes;
      std::vector<float> expected_floats(bits.size()), got_floats(bits.size());
      code.entry(fmt::format("from_{}_1", half))(expected_floats.data(), bits.data(), nullptr, nullptr, nullptr,
                                                 0x10000);
      code.entry(fmt::format("from_{}_{}", half, lanes))(got_floats.data(), bits.data(), nullptr, nullptr, nullptr,
                                                         0x10000);
      EXPECT_EQ(firstDifference(got_floats, expected_floats), -1) << half << lanes;
    }
  }
}

// What the machine has, and less: there is a way without each instruction.
INSTANTIATE_TEST_SUITE_P(Machines, Lanes, testing::Values("-Wno-psabi -O2", "-Wno-psabi -O2 -mno-avx512f"),
                         [](const auto& machine) { return machine.index == 0 ? "Native" : "WithoutAvx512"; });

}  // namespace
}  // namespace tokamak::test
