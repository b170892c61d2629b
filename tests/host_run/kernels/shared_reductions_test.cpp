// Reductions that blocks share on the processor: whole ones, of few long rows, of few columns.
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

struct SharedCase {
  const char* name;
  const char* program;
};

constexpr SharedCase kShared[] = {
    {"All", "fusion f(T0: f32[i0, i2]) -> T1 { T1 = sum(neg(T0), axes=[0, 1]) }"},
    {"MeanOfSquares",
     "fusion f(T0: f32[i0, i2], T1: f32[i0, i2]) -> T3 { T2 = sub(T0, T1) T3 = mean(mul(T2, T2), axes=[0, 1]) }"},
    {"LargestAndSmallest",
     "fusion f(T0: f32[i0, i2]) -> T1, T2 { T1 = max(abs(T0), axes=[0, 1]) T2 = min(T0, axes=[0, 1]) }"},
    {"OfRows", "fusion f(T0: bf16[3, i0, i2]) -> T1 { T1 = cast(mean(cast(T0, dtype=f32), axes=[1, 2]), dtype=bf16) }"},
    {"OfColumns", "fusion f(T0: f32[i0, i2]) -> T1 { T1 = mul(sum(neg(T0), axes=[0]), 0.5) }"},
    {"OfOuterAxes", "fusion f(T0: f32[i0, 5, i2]) -> T1 { T1 = sum(neg(T0), axes=[0, 2]) }"},
    {"Normalised",
     "fusion f(T0: f32[i0, i2], T1: f32[i2], T2: f32[i2]) -> T3, T4, T5 { T3, T4, T5 = batch_norm(T0, T1, T2) }"},
};

class SharedReductions : public testing::TestWithParam<SharedCase> {};

// By rows and columns. Sanitizers look at one that shares; whether they are right, and the others, is other builds' to
// say.
const std::vector<std::pair<int64_t, int64_t>>& sharedSizes() {
  static const std::vector<std::pair<int64_t, int64_t>> all = {{400, 350}, {1, 140000}, {70000, 2}, {0, 40}, {40, 0}};
  static const std::vector<std::pair<int64_t, int64_t>> few(all.begin(), all.begin() + 1);
  return kShare == 1 ? all : few;
}

// With any number of threads the same bits, which are right.
TEST_P(SharedReductions, AreTheSameForAnyNumberOfThreads) {
  const auto fusion = fusionOf(GetParam().program);
  std::map<std::pair<int64_t, int64_t>, std::vector<std::vector<std::byte>>> results;
  for (const int64_t threads : {1, 2, 5}) {
    if (threads == 1 && kShare != 1) continue;  // nothing is shared
    RunBench bench({.threads = threads, .poisons_memory = true, .runner = KernelRunner::Compiled});
    MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.target = cpuTarget(threads)}});
    for (const auto& [rows, columns] : sharedSizes()) {
      const auto inputs = bench.inputsOf(*fusion, {{"i0", rows}, {"i2", columns}});
      const auto outputs = executor.runWithInput(inputs);
      if (threads == 1 && kShare == 1) {
        EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "") << rows << " x " << columns;
      }
      for (int i = 0; i < 2; ++i) {
        std::vector<std::byte>& bits = results[{rows, columns}].emplace_back();
        for (const Tensor& output : executor.runWithInput(inputs)) {
          const std::vector<std::byte> bytes = bytesOf(output);
          bits.insert(bits.end(), bytes.begin(), bytes.end());
        }
      }
    }
  }
  for (const auto& [size, runs] : results) {
    for (const std::vector<std::byte>& bits : runs)
      EXPECT_TRUE(bits == runs.front()) << size.first << " x " << size.second;
  }
}

INSTANTIATE_TEST_SUITE_P(Reductions, SharedReductions, testing::ValuesIn(kShared),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tokamak
