// The parameters that are chosen for kernels of processors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "heuristics/cpu_schedule.h"
#include "kernels/kernel_case.h"

namespace tokamak {
namespace {

int64_t columnsOf(std::string_view text, int64_t processors) {
  const auto fusion = parseScheduled(text);
  return chooseCpuParameters(requireReductionStructure(*fusion), cpuTarget(processors), {}).block_columns;
}

// Blocks have whole rows, or pieces of about one length, whatever the number of processors: they share rows, not
// columns.
TEST(CpuParameters, BlocksTakeWholeRows) {
  const auto sumOf = [](int64_t columns) {
    return fmt::format("fusion f(T0: f32[i0, {}]) -> T1 {{ T1 = sum(neg(T0), axes=[0]) }}", columns);
  };
  for (const int64_t processors : {1, 2, 64}) {
    EXPECT_EQ(columnsOf(sumOf(64), processors), 64);
    EXPECT_EQ(columnsOf(sumOf(100), processors), 112);
    EXPECT_EQ(columnsOf(sumOf(2048), processors), 2048);
    EXPECT_EQ(columnsOf(sumOf(3000), processors), 1504);
    EXPECT_EQ(columnsOf(sumOf(8192), processors), 2048);
  }
}

// What is as long as what is reduced keeps blocks from sharing it.
TEST(CpuParameters, ColumnsAreNarrowerWhereRowsAreNotShared) {
  constexpr std::string_view kSoftmax = "fusion f(T0: f32[8, i1, 4096]) -> T1 { T1 = softmax(T0, axis=1) }";
  EXPECT_EQ(columnsOf(kSoftmax, 2), 2048);
  EXPECT_EQ(columnsOf(kSoftmax, 8), 512);
  EXPECT_EQ(columnsOf(kSoftmax, 64), 256);
}

// Which loops of T1's schedule are blocks that share what it reduces.
std::string partsOf(std::string_view text) {
  const auto fusion = parseScheduled(text);
  scheduleForCpu(*fusion, chooseCpuParameters(requireReductionStructure(*fusion), cpuTarget(), {}));
  for (const TensorView* tensor : fusion->allTensors()) {
    if (!isReduced(*tensor)) continue;
    for (const IterDomain* axis : tensor->loop()) {
      if (axis->parallelType() == ParallelType::BIDy) return toString(*axis->extent());
    }
  }
  return "none";
}

// Parts have at least 65,536 elements, and there are no more blocks than 64 (and those of the other axes).
TEST(CpuParameters, BlocksShareLongReductions) {
  EXPECT_EQ(partsOf("fusion f(T0: f32[4096, 4096]) -> T1 { T1 = sum(neg(T0), axes=[0, 1]) }"), "64");
  EXPECT_EQ(partsOf("fusion f(T0: f32[1000, 1000]) -> T1 { T1 = max(abs(T0), axes=[0, 1]) }"), "15");
  EXPECT_EQ(partsOf("fusion f(T0: f32[300, 300]) -> T1 { T1 = sum(neg(T0), axes=[0, 1]) }"), "none");
  EXPECT_EQ(partsOf("fusion f(T0: f32[10, 1000000]) -> T1 { T1 = mean(neg(T0), axes=[1]) }"), "7");
  EXPECT_EQ(partsOf("fusion f(T0: f32[100, 1000000]) -> T1 { T1 = sum(neg(T0), axes=[1]) }"), "none");
  EXPECT_EQ(partsOf("fusion f(T0: f32[100000, 64]) -> T1 { T1 = sum(neg(T0), axes=[0]) }"), "64");
  EXPECT_EQ(partsOf("fusion f(T0: f32[100000, 8192]) -> T1 { T1 = sum(neg(T0), axes=[0]) }"), "16");
  // Rows that something else goes over, too.
  EXPECT_EQ(partsOf("fusion f(T0: f32[10, 1000000]) -> T1 { T1 = softmax(T0) }"), "none");
}

}  // namespace
}  // namespace tokamak
