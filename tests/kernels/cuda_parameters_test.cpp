#include <fmt/format.h>
#include <gtest/gtest.h>

#include "define/callables.h"
#include "heuristics/cuda_schedule.h"
#include "heuristics/schedule_parameters.h"
#include "ir/text/fusion_parser.h"

namespace tokamak {
namespace {

// Blocks of a sum over rows are as many as run at once, whatever the type: two per multiprocessor.
TEST(CudaParameters, ColumnsHaveAsManyBlocksAsRunAtOnce) {
  struct Case {
    const char* dtype;
    int64_t rows;
    int64_t columns;
    int64_t columns_per_block;  // 32 threads with 16 bytes each, or fewer threads where there are fewer columns
  };
  for (const Case& each : {Case{"bf16", 16384, 8192, 256}, Case{"f32", 262144, 512, 128}, Case{"f64", 65536, 512, 64},
                           Case{"bf16", 1605632, 64, 64}}) {
    const auto fusion = parseFusion(
        fmt::format("fusion f(T0: {}[{}, {}]) -> T1 {{ T1 = sum(T0, axes=[0]) }}", each.dtype, each.rows, each.columns),
        "test.fusion", {.resolver = &definingResolver()});
    const KernelTarget target = hopperTarget();
    const auto parameters = chooseCudaParameters(requireRows(*fusion), target, {});
    const int64_t blocks = parameters.column_blocks * (each.columns / each.columns_per_block);
    const int64_t at_once = 2 * target.multiprocessors;
    EXPECT_LE(blocks, at_once) << each.dtype << " of " << each.columns;
    EXPECT_GT(blocks, at_once * 3 / 4) << each.dtype << " of " << each.columns;
  }
}

}  // namespace
}  // namespace tokamak
