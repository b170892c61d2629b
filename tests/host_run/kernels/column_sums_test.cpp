// Sums over rows beside what goes over the rows: blocks make parts of them on the way, a small second kernel adds these
// up.
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/kernel_observer.h"
#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

class KernelCounter final : public KernelObserver {
 public:
  void onKernel(const Fusion&, const std::string&, const std::string&) override { ++kernels; }
  void onChoice(const KernelNews&) override {}
  void onShared(const std::string&, const std::string&) override {}
  int64_t kernels = 0;
};

struct ColumnSumCase {
  const char* name;
  const char* program;  ///< {0}: the type
  int64_t kernels;      ///< on a GPU
};

constexpr ColumnSumCase kColumnSums[] = {
    {"BesideRowSums",
     "fusion f(T0: {0}[i0, i2], T1: {0}[i0, i2]) -> T5, T6, T7 {{ T2 = mul(T0, T1) T3 = sum(T2, axes=[1], "
     "keepdim=true) "
     "T5 = sub(T2, mul(T3, T0)) T6 = sum(T2, axes=[0]) T7 = sum(cast(T0, dtype=f32), axes=[0]) }}",
     2},
    {"OfValuesThatFollowRowSums",
     "fusion f(T0: {0}[i0, i2], T1: f32[i2]) -> T4, T5 {{ T2 = mean(mul(T0, T0), axes=[1], keepdim=true) "
     "T3 = mul(T0, rsqrt(add(T2, 1.0))) T4 = mul(T3, T1) T5 = sum(mul(T3, T0), axes=[0]) }}",
     2},
    {"OverSeveralAxes",
     "fusion f(T0: {0}[i0, i1, i2]) -> T3, T4 {{ T1 = sum(T0, axes=[2], keepdim=true) T3 = mul(T0, T1) "
     "T4 = sum(mul(T0, cast(T0, dtype=f32)), axes=[0, 1]) }}",
     2},
    {"OfRowsOfSeveralAxes",
     "fusion f(T0: {0}[i0, i1, i2]) -> T3, T4 {{ T1 = sum(T0, axes=[1, 2], keepdim=true) T3 = mul(T0, T1) "
     "T4 = sum(mul(T0, cast(T0, dtype=f32)), axes=[0]) }}",
     2},
    {"OfRowsOfSixteenHeads",
     "fusion f(T0: {0}[i0, 16, i2]) -> T3, T4 {{ T1 = sum(T0, axes=[2], keepdim=true) T3 = mul(T0, T1) "
     "T4 = sum(mul(T0, cast(T0, dtype=f32)), axes=[0, 1]) }}",
     2},
    {"OfAnOutput",
     "fusion f(T0: {0}[i0, i2], T1: {0}[i0, i2]) -> T2, T3 {{ T2 = neg(T0) T3 = mul(sum(sub(T2, T1), axes=[0]), 2.0) "
     "}}",
     2},
    {"OfACopyOfWhatIsKept",
     "fusion f(T0: {0}[i0, i2], T1: {0}[i0, i2]) -> T3, T4 {{ T2 = sin(T0) T3 = set(T2) T4 = sum(mul(T3, T1), "
     "axes=[0]) }}",
     2},
    {"BesideElements",
     "fusion f(T0: {0}[i0, i2], T1: {0}[i0, i2]) -> T2, T3 {{ T2 = mul(tanh(T0), T1) T3 = mul(sum(T2, axes=[0]), 2.0) "
     "}}",
     2},
};

// The interpreter, which is slow, takes as many rows as several blocks, with few columns.
std::vector<std::pair<int64_t, int64_t>> sizesFor(KernelRunner runner) {
  if (kShare > 1) return {{398, 16}, {7, 131}, {0, 8}, {5, 0}};
  if (runner == KernelRunner::Interpreted) return {{398, 16}, {1, 1}, {7, 131}, {0, 8}, {5, 0}, {61, 1}, {3, 1032}};
  return {{398, 128}, {1, 1}, {7, 131}, {0, 8}, {5, 0}, {61, 1}, {64, 3}, {800, 24}, {3, 4104}, {140, 520}};
}

class OuterSums : public testing::TestWithParam<ColumnSumCase> {};

TEST_P(OuterSums, AreRightForAnySize) {
  for (const KernelRunner runner : {KernelRunner::Compiled, KernelRunner::Interpreted}) {
    // Sanitizers make the interpreter slow, which has one thread.
    if (kShare > 1 && runner == KernelRunner::Interpreted) continue;
    for (const char* type : {"f32", "bf16"}) {
      if (runner == KernelRunner::Interpreted && std::string_view(type) == "f32") continue;
      KernelCounter counter;
      RunBench bench({.threads = 2, .poisons_memory = true, .kernels = &counter, .runner = runner});
      const auto fusion = fusionOf(fmt::format(fmt::runtime(GetParam().program), type));
      const bool is_for_gpu = runner == KernelRunner::Interpreted;
      MultiDeviceExecutor executor(*fusion, bench.device,
                                   {.lowering = {.target = is_for_gpu ? hopperTarget() : cpuTarget(2)}});
      bool is_first = true;
      for (const auto& [rows, columns] : sizesFor(runner)) {
        const auto inputs = bench.inputsOf(*fusion, {{"i0", rows}, {"i1", 3}, {"i2", columns}});
        EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "")
            << rows << " x " << columns << ", " << type;
        if (is_first && is_for_gpu) {
          EXPECT_EQ(counter.kernels, GetParam().kernels);
        }
        is_first = false;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, OuterSums, testing::ValuesIn(kColumnSums),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tokamak
