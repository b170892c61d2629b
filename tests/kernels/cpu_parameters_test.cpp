// The parameters that are chosen for kernels of processors.
#include <gtest/gtest.h>

#include "heuristics/cpu_schedule.h"
#include "kernels/kernel_case.h"

namespace tokamak {
namespace {

int64_t columnsOf(std::string_view text, int64_t processors) {
  const auto fusion = parseScheduled(text);
  return chooseCpuParameters(requireRows(*fusion), cpuTarget(processors), {}).columns;
}

// Pieces of rows are read more slowly than whole rows; a few processors do not make up for that where nothing is computed.
TEST(CpuParameters, FewProcessorsReadWholeRows) {
  constexpr std::string_view kNarrow = "fusion f(T0: f32[i0, 64]) -> T1 { T1 = sum(neg(T0), axes=[0]) }";
  EXPECT_EQ(columnsOf(kNarrow, 2), 64);
  EXPECT_EQ(columnsOf(kNarrow, 4), 64);
  EXPECT_EQ(columnsOf(kNarrow, 8), 32);
  EXPECT_EQ(columnsOf("fusion f(T0: f32[i0, 64]) -> T1 { T1 = sum(exp(T0), axes=[0]) }", 2), 32);
  // What is long for a column only is not for a row.
  EXPECT_EQ(columnsOf("fusion f(T0: f32[i0, 64]) -> T1 { T1 = exp(sum(T0, axes=[0])) }", 2), 64);
  // A block that is not full would be slow.
  EXPECT_EQ(columnsOf("fusion f(T0: f32[i0, 96]) -> T1 { T1 = sum(neg(T0), axes=[0]) }", 2), 32);
  EXPECT_EQ(columnsOf("fusion f(T0: f32[i0, 1024]) -> T1 { T1 = sum(neg(T0), axes=[0]) }", 2), 1024);
  EXPECT_EQ(columnsOf("fusion f(T0: f32[i0, 2048]) -> T1 { T1 = sum(neg(T0), axes=[0]) }", 2), 1024);
  EXPECT_EQ(columnsOf("fusion f(T0: f32[i0, 8192]) -> T1 { T1 = sum(neg(T0), axes=[0]) }", 2), 2048);
}

}  // namespace
}  // namespace tokamak
