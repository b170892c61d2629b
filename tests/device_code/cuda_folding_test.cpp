// What the CUDA compiler believes of integer results, seen without a GPU: a comparison that can be true and can be
// false must leave other machine code than a constant. ptxas takes abs.s32 and abs.s64 for never negative, which the
// most negative integer refutes. And it loses the minus of one operand where it makes one instruction of two maxima or
// minima.
#include <elf.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "base/error.h"
#include "device_code/device_code.h"
#include "loops/typed_loops.h"
#include "toolchain/nvrtc.h"

namespace tokamak::test {
namespace {

// The machine code of each kernel, by name.
std::map<std::string, std::string> codeIn(const std::string& cubin) {
  const auto read = [&]<class T>(size_t offset, T into) {
    std::memcpy(&into, cubin.data() + offset, sizeof(T));
    return into;
  };
  const auto header = read(0, Elf64_Ehdr());
  const auto section = [&](size_t i) { return read(header.e_shoff + i * sizeof(Elf64_Shdr), Elf64_Shdr()); };
  const Elf64_Shdr names = section(header.e_shstrndx);
  const std::string prefix = ".text.";
  std::map<std::string, std::string> code;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr each = section(i);
    const std::string name = cubin.data() + names.sh_offset + each.sh_name;
    if (name.starts_with(prefix)) code[name.substr(prefix.size())] = cubin.substr(each.sh_offset, each.sh_size);
  }
  return code;
}

template <class T>
std::array<std::vector<T>, 4> samples() {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> special = {0, 1, -1, 2, -2, 3, 31, 64, Limits::max(), Limits::min(), T(Limits::min() + 1)};
  std::mt19937_64 random(7);
  std::array<std::vector<T>, 4> operands;
  for (int i = 0; i < 20'000; ++i) {
    for (auto& values : operands) {
      const auto shift = random() % (sizeof(T) * 8);
      values.push_back(random() % 2 == 0 ? special[random() % special.size()] : static_cast<T>(T(random()) >> shift));
    }
  }
  return operands;
}

constexpr std::array<const char*, 3> kComparisons = {"< 0", "> 0", "== 0"};
template <class T>
bool compare(size_t comparison, T x) {
  return comparison == 0 ? x < 0 : comparison == 1 ? x > 0 : x == 0;
}

// Whether the comparison of a function's results is true of some of them and false of others.
template <class T>
std::array<bool, kComparisons.size()> openComparisons(const FunctionInfo& info, DataType type) {
  static const auto operands = samples<T>();
  const size_t n = operands[0].size();
  std::vector<uint8_t> conditions(n);
  for (size_t i = 0; i < n; ++i) conditions[i] = i % 3 == 0 ? 1 : 0;
  std::vector<T> results(n);
  const void* in[4] = {operands[0].data(), operands[1].data(), operands[2].data(), operands[3].data()};
  if (info.rule == TypeRule::Choose) in[0] = conditions.data();
  functionLoop(info.id, type)(results.data(), in, static_cast<int64_t>(n));
  std::array<bool, kComparisons.size()> open = {};
  for (size_t comparison = 0; comparison < open.size(); ++comparison) {
    const auto count = std::ranges::count_if(results, [&](T x) { return compare(comparison, x); });
    open[comparison] = count > 0 && count < static_cast<int64_t>(n);
  }
  return open;
}

// NVVM decides a comparison of abs(x) by x where nothing else needs abs(x): so the kernel gives either the result or
// `other`.
std::string kernelText(const std::string& name, DataType type, const std::string& call, const std::string& given) {
  return fmt::format(
      "extern \"C\" __global__ void {}({} (*out), const tk_bool* c, const {} (*in)[4], {} other) {{\n"
      "  const int i = threadIdx.x;\n  const {} x = in[i][0], y = in[i][1], z = in[i][2], w = in[i][3];\n"
      "  const {} value = {};\n  out[i] = {};\n}}\n",
      name, deviceTypeName(type), deviceTypeName(type), deviceTypeName(type), deviceTypeName(type),
      deviceTypeName(type), call, given);
}

struct Case {
  std::string kernel;
  std::string always;
  std::string never;
  std::string said;
};

// Of each function the kernels that take the comparison for true and for false, and one for each comparison.
template <class T>
struct Kernels {
  std::vector<std::string> helpers;
  std::string text;
  std::vector<Case> cases;

  void add(const FunctionInfo& info, DataType type) {
    std::vector<std::string> names = {"x", "y", "z", "w"};
    if (info.rule == TypeRule::Choose) names[0] = "c[i]";
    const std::string call = functionCall(info.id, type, std::span(names).first(static_cast<size_t>(info.arity)));
    const auto named = [&](std::string_view what) { return fmt::format("{}_{}", info.name, what); };
    text += kernelText(named("always"), type, call, "other") + kernelText(named("never"), type, call, "value");
    const auto open = openComparisons<T>(info, type);
    for (size_t comparison = 0; comparison < open.size(); ++comparison) {
      if (!open[comparison]) continue;
      const std::string name = named(std::to_string(comparison));
      text += kernelText(name, type, call, fmt::format("value {} ? other : value", kComparisons[comparison]));
      cases.push_back({name, named("always"), named("never"), fmt::format("{} {}", call, kComparisons[comparison])});
    }
    for (const std::string& helper : functionHelpers(info.id, type)) helpers.push_back(helper);
  }
};

template <class T>
void expectNothingFolded(DataType type, NvrtcCompiler& compiler) {
  Kernels<T> kernels;
  for (const FunctionInfo& info : allFunctions()) {
    if (hasFunction(info.id, type) && functionTypes(info.id, type)->result == type) kernels.add(info, type);
  }
  const auto code = codeIn(compiler.compile(deviceCode(Dialect::Cuda, kernels.helpers) + "\n" + kernels.text)->image);
  for (const Case& each : kernels.cases) {
    EXPECT_FALSE(code.at(each.kernel) == code.at(each.always)) << each.said << " is taken for true";
    EXPECT_FALSE(code.at(each.kernel) == code.at(each.never)) << each.said << " is taken for false";
  }
  constexpr size_t kFewest = 50;
  EXPECT_GT(kernels.cases.size(), kFewest);
}

// Kernels in which one operand of outer(inner(x, y), z) is changed by a function first. Where that leaves the machine
// code of the kernel without the function, the compiler has dropped it.
std::vector<std::string> changedOperands(const std::string& outer, const std::string& inner,
                                         const std::string& change) {
  const auto call = [](const std::string& function, const std::string& a, const std::string& b) {
    return fmt::format(fmt::runtime(function), a, b);
  };
  const auto changed = [&](const char* operand) { return fmt::format(fmt::runtime(change), operand); };
  const std::string plain = call(inner, "x", "y");
  return {call(outer, plain, "z"),
          call(outer, call(inner, changed("x"), "y"), "z"),
          call(outer, call(inner, "x", changed("y")), "z"),
          call(outer, plain, changed("z")),
          call(outer, "z", call(inner, "x", changed("y"))),
          call(outer, "z", call(inner, changed("x"), "y"))};
}

void expectNoOperandDropped(DataType type, NvrtcCompiler& compiler) {
  const std::string of = std::string(dataTypeName(type));
  const auto binary = [&](FunctionId id) { return functionCall(id, type, std::vector<std::string>{"{0}", "{1}"}); };
  const std::vector<std::string> pairs = {binary(FunctionId::maximum), binary(FunctionId::minimum),
                                          fmt::format("tk_where_{}({{0}} > {{1}}, {{0}}, {{1}})", of),
                                          fmt::format("tk_where_{}({{0}} < {{1}}, {{0}}, {{1}})", of)};
  const std::vector<std::string> changes = {functionCall(FunctionId::neg, type, std::vector<std::string>{"{}"}),
                                            functionCall(FunctionId::abs, type, std::vector<std::string>{"{}"}),
                                            fmt::format("tk_sub_{}(0, {{}})", of),
                                            fmt::format("tk_mul_{}({{}}, -1)", of)};
  std::vector<std::string> helpers;
  for (const FunctionId id : {FunctionId::maximum, FunctionId::minimum, FunctionId::where, FunctionId::sub,
                              FunctionId::mul, FunctionId::neg, FunctionId::abs}) {
    for (const std::string& helper : functionHelpers(id, type)) helpers.push_back(helper);
  }
  std::string text = deviceCode(Dialect::Cuda, helpers) + "\n";
  std::vector<std::pair<std::string, std::string>> calls;
  for (const std::string& outer : pairs) {
    for (const std::string& inner : pairs) {
      for (const std::string& change : changes) {
        for (const std::string& call : changedOperands(outer, inner, change)) {
          calls.emplace_back(fmt::format("k{}", calls.size()), call);
          text += kernelText(calls.back().first, type, call, "value");
        }
      }
    }
  }
  const auto code = codeIn(compiler.compile(text)->image);
  const size_t variants = changedOperands("{0}{1}", "{0}{1}", "{}").size();
  for (size_t i = 0; i < calls.size(); ++i) {
    const auto& plain = calls[i - i % variants];
    if (&plain == &calls[i]) continue;
    EXPECT_FALSE(code.at(calls[i].first) == code.at(plain.first))
        << calls[i].second << " is taken for " << plain.second;
  }
}

TEST(CudaFolding, ChangesOfOperandsAreNotDropped) {
  std::optional<NvrtcCompiler> compiler;
  try {
    compiler.emplace();
  } catch (const Error& error) {
    GTEST_SKIP() << error.message();
  }
  expectNoOperandDropped(DataType::I32, *compiler);
}

TEST(CudaFolding, ComparisonsOfIntegerResultsAreMade) {
  std::optional<NvrtcCompiler> compiler;
  try {
    compiler.emplace();
  } catch (const Error& error) {
    GTEST_SKIP() << error.message();
  }
  expectNothingFolded<int32_t>(DataType::I32, *compiler);
  expectNothingFolded<int64_t>(DataType::I64, *compiler);
}

}  // namespace
}  // namespace tokamak::test
