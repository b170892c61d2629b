// Functions and conversions of several lanes give, bit by bit, what those of one lane give.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "device_code/compiled_code.h"
#include "device_code/samples.h"
#include "symbolic/function_table.h"

namespace tokamak::test {
namespace {

using Bytes = std::vector<std::byte>;

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

template <class T>
Bytes bytesOf(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> integers() {
  std::mt19937_64 random(7);
  std::vector<T> values = {
      0, 1, -1, 2, 31, 32, 63, 64, 65, std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
  while (values.size() < 4096) values.push_back(static_cast<T>(static_cast<int64_t>(random()) >> (random() % 64)));
  return values;
}

// A multiple of 64 values of a type; another order of them for another shift.
Bytes operand(DataType dtype, size_t shift) {
  const auto rotated = [&](auto values) {
    values.resize(values.size() / 64 * 64);
    std::rotate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(shift * 977 % values.size()),
                values.end());
    return bytesOf(values);
  };
  switch (dtype) {
    case DataType::F64: return rotated(sweep<double>(20'000));
    case DataType::F32: return rotated(sweep<float>(20'000));
    case DataType::I64: return rotated(integers<int64_t>());
    case DataType::I32: return rotated(integers<int32_t>());
    default: break;
  }
  std::vector<uint16_t> bits(0x10000);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  return bytesOf(bits);
}

bool isNan(const std::byte* element, DataType dtype) {
  if (dtype == DataType::F32) return std::isnan(*reinterpret_cast<const float*>(element));
  if (dtype == DataType::F64) return std::isnan(*reinterpret_cast<const double*>(element));
  const uint16_t magnitude = isHalfType(dtype) ? *reinterpret_cast<const uint16_t*>(element) & 0x7fff : 0;
  return magnitude > (dtype == DataType::F16 ? 0x7c00 : 0x7f80);
}

int64_t firstDifference(const Bytes& a, const Bytes& b, DataType dtype) {
  const auto width = static_cast<size_t>(sizeOf(dtype));
  for (size_t at = 0; at < a.size(); at += width) {
    if (std::memcmp(&a[at], &b[at], width) == 0 || (isNan(&a[at], dtype) && isNan(&b[at], dtype))) continue;
    return static_cast<int64_t>(at / width);
  }
  return -1;
}

struct Width {
  DataType dtype;
  int lanes;
};

// Flags for a machine, and the bytes of its vectors.
struct Machine {
  const char* flags;
  int vector_bytes;
};

// Whole vectors and half ones, as loops have them.
std::vector<Width> widthsOf(const Machine& machine) {
  std::vector<Width> widths;
  for (const DataType dtype : {DataType::F32, DataType::I32, DataType::F64, DataType::I64}) {
    const auto lanes = machine.vector_bytes / static_cast<int>(sizeOf(dtype));
    widths.push_back({dtype, lanes});
    if (lanes > 2) widths.push_back({dtype, lanes / 2});
  }
  return widths;
}

// What is compiled together.
struct Loops {
  std::vector<std::string> helpers;
  std::string text;

  void need(const std::vector<std::string>& names) { helpers.insert(helpers.end(), names.begin(), names.end()); }
  void needLanes(int lanes) {
    for (const char* element : {"i8", "i32", "i64"}) {
      if (lanes <= 16) helpers.push_back(fmt::format("bools_{}x{}", element, lanes));
    }
  }
};

// Masks are stored as bools.
void addLanes(Loops& loops, const std::string& name, LaneType type, DataType result, const std::string& expression) {
  const bool is_mask = result == DataType::Bool;
  const LaneType mask(DataType::Bool, type.lanes, maskBytes(type.type));
  const std::string bools = fmt::format("tk_narrow_bools_{}({}) & 1", deviceTypeName(mask).substr(3), expression);
  loops.text += vectorLoop(name, type.lanes,
                           is_mask ? fmt::format("tk_i8x{}", type.lanes) : deviceTypeName(LaneType(result, type.lanes)),
                           deviceTypeName(type), is_mask ? bools : expression);
  loops.needLanes(type.lanes);
}

class Lanes : public testing::TestWithParam<Machine> {};

std::string laneName(FunctionId id, Width width) {
  return fmt::format("lanes_{}_{}x{}", functionInfo(id).name, dataTypeName(width.dtype), width.lanes);
}

TEST_P(Lanes, FunctionsOfLanesEqualThoseOfOneLane) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  Loops loops;
  int64_t count = 0;
  const auto operandsOf = [](FunctionId id, std::vector<std::string> names) {
    if (functionInfo(id).rule == TypeRule::Choose) names[0] = fmt::format("({} < {})", names[3], names[1]);
    names.resize(static_cast<size_t>(functionInfo(id).arity));
    return names;
  };
  for (const DataType dtype : {DataType::F32, DataType::F64, DataType::I32, DataType::I64}) {
    for (const FunctionInfo& info : allFunctions()) {
      if (!hasFunction(info.id, LaneType(dtype, 4))) continue;
      const std::vector<LaneType> types(4, dtype);
      loops.need(functionHelpers(info.id, dtype));
      const auto names = operandsOf(info.id, {"x[i]", "y[i]", "z[i]", "w[i]"});
      loops.text += loopText(functionLoopName(info.id, dtype), functionTypes(info.id, dtype)->result, types,
                             functionCall(info.id, dtype, names));
    }
  }
  for (const Width width : widthsOf(GetParam())) {
    const LaneType type(width.dtype, width.lanes);
    for (const FunctionInfo& info : allFunctions()) {
      if (!hasFunction(info.id, type)) continue;
      loops.need(functionHelpers(info.id, type));
      addLanes(loops, laneName(info.id, width), type, functionTypes(info.id, width.dtype)->result,
               functionCall(info.id, type, operandsOf(info.id, {"a", "b", "c", "d"})));
      ++count;
    }
  }
  const CompiledCode code(loops.helpers, loops.text, GetParam().flags);
  for (const Width width : widthsOf(GetParam())) {
    const Bytes x = operand(width.dtype, 0), y = operand(width.dtype, 1), z = operand(width.dtype, 2),
                w = operand(width.dtype, 3);
    const auto n = static_cast<int64_t>(x.size()) / sizeOf(width.dtype);
    for (const FunctionInfo& info : allFunctions()) {
      if (!hasFunction(info.id, LaneType(width.dtype, width.lanes))) continue;
      const DataType result = functionTypes(info.id, width.dtype)->result;
      Bytes expected(static_cast<size_t>(n * sizeOf(result))), got(expected.size());
      code.entry(functionLoopName(info.id, width.dtype))(expected.data(), x.data(), y.data(), z.data(), w.data(), n);
      code.entry(laneName(info.id, width))(got.data(), x.data(), y.data(), z.data(), w.data(), n);
      EXPECT_EQ(firstDifference(got, expected, result), -1) << laneName(info.id, width);
    }
  }
  EXPECT_GE(count, 150);
}

TEST_P(Lanes, SumsWithOneOfLanesEqualThoseOfOneLane) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  const int lanes = GetParam().vector_bytes / 4;
  const LaneType one = DataType::F32;
  for (const FunctionId id : {function_id::erf, function_id::tanh}) {
    const std::string single = onePlusHelper(Dialect::C, id, 1).value();
    const std::string many = onePlusHelper(Dialect::C, id, lanes).value();
    Loops loops;
    loops.need({single, many});
    loops.text = loopText("one", DataType::F32, std::span(&one, 1), fmt::format("tk_{}(x[i])", single));
    addLanes(loops, "many", LaneType(DataType::F32, lanes), DataType::F32, fmt::format("tk_{}(a)", many));
    const CompiledCode code(loops.helpers, loops.text, GetParam().flags);
    const Bytes x = operand(DataType::F32, 0);
    Bytes expected(x.size()), got(x.size());
    code.entry("one")(expected.data(), x.data(), nullptr, nullptr, nullptr, static_cast<int64_t>(x.size() / 4));
    code.entry("many")(got.data(), x.data(), nullptr, nullptr, nullptr, static_cast<int64_t>(x.size() / 4));
    EXPECT_EQ(firstDifference(got, expected, DataType::F32), -1) << many;
  }
}

std::string castName(DataType to, Width from) {
  return fmt::format("{}_from_{}x{}", dataTypeName(to), dataTypeName(from.dtype), from.lanes);
}

TEST_P(Lanes, ConversionsOfLanesEqualThoseOfOneLane) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  Loops loops;
  std::vector<Width> widths = widthsOf(GetParam());
  for (const DataType half : {DataType::F16, DataType::BF16}) {
    for (const int bytes : {4, 8}) widths.push_back({half, GetParam().vector_bytes / bytes});
  }
  std::set<std::string> compiled;  // those of one lane
  for (const Width from : widths) {
    for (const DataType to : kAllDataTypes) {
      const LaneType one = from.dtype;
      const LaneType type(from.dtype, from.lanes, maskBytes(from.dtype));
      if (compiled.insert(castName(to, {from.dtype, 1})).second) {
        loops.need(castHelpers(to, one));
        loops.text += loopText(castName(to, {from.dtype, 1}), to, std::span(&one, 1), castCall(to, one, "x[i]"));
      }
      loops.need(castHelpers(to, type));
      addLanes(loops, castName(to, from), type, to, castCall(to, type, "a"));
    }
  }
  const CompiledCode code(loops.helpers, loops.text, GetParam().flags);
  for (const Width from : widths) {
    const Bytes x = operand(from.dtype, 0);
    const auto n = static_cast<int64_t>(x.size()) / sizeOf(from.dtype);
    for (const DataType to : kAllDataTypes) {
      Bytes expected(static_cast<size_t>(n * sizeOf(to))), got(expected.size());
      code.entry(castName(to, {from.dtype, 1}))(expected.data(), x.data(), nullptr, nullptr, nullptr, n);
      code.entry(castName(to, from))(got.data(), x.data(), nullptr, nullptr, nullptr, n);
      EXPECT_EQ(firstDifference(got, expected, to), -1) << castName(to, from);
    }
  }
}

TEST_P(Lanes, MasksAreBools) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  Loops loops;
  struct Mask {
    int lanes;
    int bytes;
  };
  constexpr Mask masks[] = {{64, 1}, {32, 1}, {16, 1}, {16, 4}, {8, 4}, {8, 8}, {4, 4}, {4, 8}, {2, 8}};
  constexpr FunctionId ids[] = {
      function_id::eq,          function_id::ne,          function_id::lt,          function_id::le,
      function_id::gt,          function_id::ge,          function_id::logical_and, function_id::logical_or,
      function_id::logical_not, function_id::bitwise_xor, function_id::maximum,     function_id::minimum,
      function_id::fmax,        function_id::fmin,        function_id::bitwise_not, function_id::where,
      function_id::isreal,      function_id::isfinite,    function_id::isnan,       function_id::signbit};
  const auto nameOf = [](FunctionId id, Mask mask) {
    return fmt::format("mask_{}_{}_{}", functionInfo(id).name, mask.lanes, mask.bytes);
  };
  const auto callOf = [](FunctionId id, LaneType type, std::vector<std::string> names) {
    names.resize(static_cast<size_t>(functionInfo(id).arity));
    return functionCall(id, type, names);
  };
  for (const FunctionId id : ids) {
    loops.need(functionHelpers(id, DataType::Bool));
    const std::vector<LaneType> types(3, DataType::Bool);
    loops.text += loopText(functionLoopName(id, DataType::Bool), DataType::Bool, types,
                           callOf(id, DataType::Bool, {"x[i]", "y[i]", "z[i]"}));
    for (const Mask mask : masks) {
      const LaneType type(DataType::Bool, mask.lanes, mask.bytes);
      const std::string name = deviceTypeName(type).substr(3);
      const auto load = [&](const char* bools) { return fmt::format("-tk_widen_bools_{}({})", name, bools); };
      loops.need(functionHelpers(id, type));
      loops.need({"bools_" + name});
      const std::string bytes = fmt::format("tk_i8x{}", mask.lanes);
      loops.text += vectorLoop(
          nameOf(id, mask), mask.lanes, bytes, bytes,
          fmt::format("tk_narrow_bools_{}({}) & 1", name,
                      callOf(id, type, {"(" + load("a") + ")", "(" + load("b") + ")", "(" + load("c") + ")"})));
    }
  }
  const CompiledCode code(loops.helpers, loops.text, GetParam().flags);
  Bytes x(1024), y(1024), z(1024);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = std::byte(i & 1);
    y[i] = std::byte(i >> 1 & 1);
    z[i] = std::byte((i * 7 + i / 9) & 1);
  }
  for (const FunctionId id : ids) {
    Bytes expected(x.size()), got(x.size());
    code.entry(functionLoopName(id, DataType::Bool))(expected.data(), x.data(), y.data(), z.data(), nullptr, 1024);
    for (const Mask mask : masks) {
      code.entry(nameOf(id, mask))(got.data(), x.data(), y.data(), z.data(), nullptr, 1024);
      EXPECT_EQ(firstDifference(got, expected, DataType::Bool), -1) << nameOf(id, mask);
    }
  }
}

TEST_P(Lanes, RandomWordsEqualThoseOfOneLane) {
  if (!CompiledCode::hasCompiler()) GTEST_SKIP() << "no C compiler";
  const int most = GetParam().vector_bytes / 4;
  std::vector<std::string> helpers = {"philox_i64"};
  const std::string_view head =
      "void {}(void* out, const void* x, const void* y, const void* z, const void* w, long n) {{\n"
      "  const tk_i64* const p = x;\n  (void)y, (void)z, (void)w;\n";
  std::string text =
      fmt::format(fmt::runtime(head), "words") +
      "  for (long i = 0; i < n; ++i) ((tk_u32*)out)[i] = (tk_u32)tk_philox_i64(p[0] + i, p[1], p[2], p[3]);\n}\n";
  for (int lanes = most; lanes >= 2; lanes /= 2) {
    helpers.push_back(fmt::format("philox_words_f32x{}", lanes));
    text += fmt::format(fmt::runtime(head), fmt::format("words_{}", lanes)) +
            fmt::format(
                "  struct {{ tk_u32 room[24 * {0}], behind[64]; }} a;\n"
                "  for (int i = 0; i < 64; ++i) a.behind[i] = 7;\n"
                "  const tk_u32* const words = tk_philox_words_f32x{0}(a.room, p[0], n, p[1], p[2], p[3]);\n"
                "  for (long i = 0; i < n; ++i) ((tk_u32*)out)[i] = words[i];\n"
                "  for (int i = 0; i < 64; ++i) ((tk_u32*)out)[n + i] = a.behind[i];\n}}\n",
                lanes);
  }
  const CompiledCode code(helpers, text, GetParam().flags);
  constexpr int64_t kBehind = 64;
  for (int lanes = most; lanes >= 2; lanes /= 2) {
    for (const int64_t index : {int64_t{0}, int64_t{1}, int64_t{7}, (int64_t{1} << 34) - 5}) {
      const int64_t count = int64_t{16} * lanes;
      const int64_t arguments[] = {index, 3, int64_t{0x1234567890abcdef}, 11};
      std::vector<uint32_t> expected(static_cast<size_t>(count + kBehind), 7);
      std::vector<uint32_t> got(expected.size());
      code.entry("words")(expected.data(), arguments, nullptr, nullptr, nullptr, count);
      code.entry(fmt::format("words_{}", lanes))(got.data(), arguments, nullptr, nullptr, nullptr, count);
      EXPECT_EQ(got, expected) << lanes << " lanes from " << index;
    }
  }
}

std::string machineName(const testing::TestParamInfo<Machine>& machine) {
  return fmt::format("VectorsOf{}Bytes", machine.param.vector_bytes);
}

// What the machine has, and less: there is a way without each instruction.
INSTANTIATE_TEST_SUITE_P(Machines, Lanes,
                         testing::Values(Machine{"-Wno-psabi", 64}, Machine{"-Wno-psabi -mno-avx512f -O1", 32},
                                         Machine{"-Wno-psabi -mno-avx -O1", 16}),
                         machineName);

}  // namespace
}  // namespace tokamak::test
