// Reductions over rows on the processor, which take several rows at a time where there are many columns.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/kernel_observer.h"
#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

// Whether some kernel adds eight rows at once.
class JamSeer final : public KernelObserver {
 public:
  void onKernel(const Fusion&, const std::string& text, const std::string&) override {
    const bool nests =
        text.find("add(add(add(add(add(add(add(add(") != std::string::npos ||
        text.find("maximum(maximum(maximum(maximum(maximum(maximum(maximum(maximum(") != std::string::npos;
    has_seen |= nests;
  }
  void onChoice(const KernelNews&) override {}
  void onShared(const std::string&, const std::string&) override {}
  bool has_seen = false;
};

struct JammedCase {
  const char* name;
  const char* program;  ///< {0}: the type
};

constexpr JammedCase kJammed[] = {
    {"Sum", "fusion f(T0: {0}[i0, i2]) -> T1 {{ T1 = sum(neg(cast(T0, dtype=f32)), axes=[0]) }}"},
    {"SumOfProducts",
     "fusion f(T0: {0}[i0, i2], T1: {0}[i0, i2]) -> T2 {{ T2 = sum(mul(cast(T0, dtype=f32), T1), axes=[0]) }}"},
    {"LargestAndSum",
     "fusion f(T0: {0}[i0, i2]) -> T1, T2 {{ T1 = max(T0, axes=[0]) T2 = sum(cast(T0, dtype=f32), axes=[0]) }}"},
    {"OfTheMiddle", "fusion f(T0: {0}[3, i0, i2]) -> T1 {{ T1 = sum(neg(cast(T0, dtype=f32)), axes=[1]) }}"},
    {"DifferencesFromTheMean",
     "fusion f(T0: {0}[i0, i2]) -> T3 {{ T1 = cast(T0, dtype=f32) T2 = sub(T1, mean(T1, axes=[0], keepdim=true)) "
     "T3 = sum(mul(T2, T2), axes=[0]) }}"},
    {"BesideAnInputOfColumns",
     "fusion f(T0: {0}[i0, i2], T1: {0}[i2]) -> T2 {{ T2 = max(mul(cast(T0, dtype=f32), T1), axes=[0]) }}"},
};

// Fewer rows than are taken at a time, exactly so many, some left; columns that no vector divides.
std::vector<std::pair<int64_t, int64_t>> jammedSizes(bool is_first_type) {
  if (kShare > 1) return {{7, 300}, {33, 4100}};
  if (!is_first_type) return {{9, 300}, {33, 4100}, {0, 400}};
  return {{7, 300}, {8, 300}, {9, 300}, {61, 300}, {200, 2051}, {33, 4100}, {1, 400}, {0, 400}, {40, 1}};
}

class JammedColumns : public testing::TestWithParam<JammedCase> {};

TEST_P(JammedColumns, AreRightForAnySize) {
  static constexpr std::string_view kTypes[] = {"f32", "bf16"};
  for (const std::string_view type : kTypes) {
    JamSeer seer;
    RunBench bench({.threads = 2, .poisons_memory = true, .kernels = &seer, .runner = KernelRunner::Compiled});
    const auto fusion = fusionOf(fmt::format(fmt::runtime(GetParam().program), type));
    MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.target = cpuTarget(1)}});
    for (const auto& [rows, columns] : jammedSizes(type == kTypes[0])) {
      const auto inputs = bench.inputsOf(*fusion, {{"i0", rows}, {"i2", columns}});
      EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "")
          << rows << " x " << columns << ", " << type;
    }
    EXPECT_TRUE(seer.has_seen) << type;
  }
}

INSTANTIATE_TEST_SUITE_P(Reductions, JammedColumns, testing::ValuesIn(kJammed),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tokamak
