#include <fmt/format.h>
#include <gtest/gtest.h>

#include "define/callables.h"
#include "heuristics/cuda_schedule.h"
#include "heuristics/schedule_kernel.h"
#include "heuristics/schedule_parameters.h"
#include "ir/text/fusion_parser.h"
#include "kernels/kernel_case.h"

namespace tokamak {
namespace {

// Blocks of a sum over rows are as many as run at once, whatever the type: two per multiprocessor.
TEST(CudaParameters, ColumnsHaveAsManyBlocksAsRunAtOnce) {
  struct Case {
    const char* dtype;
    int64_t rows;
    int64_t columns;
    int64_t outer_elements_per_block;  // 32 threads with 16 bytes each, or fewer threads where there are fewer columns
  };
  for (const Case& each : {Case{"bf16", 16384, 8192, 256}, Case{"f32", 262144, 512, 128}, Case{"f64", 65536, 512, 64},
                           Case{"bf16", 1605632, 64, 64}}) {
    const auto fusion = parseFusion(
        fmt::format("fusion f(T0: {}[{}, {}]) -> T1 {{ T1 = sum(T0, axes=[0]) }}", each.dtype, each.rows, each.columns),
        "test.fusion", {.resolver = &definingResolver()});
    const KernelTarget target = hopperTarget();
    const auto parameters = chooseCudaParameters(requireReductionStructure(*fusion), target, {});
    const int64_t blocks = parameters.outer_grid_split * (each.columns / each.outer_elements_per_block);
    const int64_t at_once = 2 * target.multiprocessors;
    EXPECT_LE(blocks, at_once) << each.dtype << " of " << each.columns;
    EXPECT_GT(blocks, at_once * 3 / 4) << each.dtype << " of " << each.columns;
  }
}

// Columns of a few elements are each in one thread; of more, as many threads are across as have rows to add up.
TEST(CudaParameters, ThreadsAcrossColumnsHaveRowsEach) {
  const auto sumOf = [](int64_t rows) {
    return chosenFor(fmt::format("fusion f(T0: f32[64, {}, 65536]) -> T1 {{ T1 = sum(neg(T0), axes=[1]) }}", rows));
  };
  for (const auto& [rows, threads, block_y] : {std::tuple{2, 128, 1}, std::tuple{8, 128, 1}, std::tuple{9, 32, 4},
                                               std::tuple{32, 32, 8}, std::tuple{1024, 32, 16}}) {
    EXPECT_EQ(sumOf(rows).block_x, threads) << rows;
    EXPECT_EQ(sumOf(rows).block_y, block_y) << rows;
    EXPECT_EQ(sumOf(rows).outer_grid_split, 1) << rows;
  }
}

// What follows columns has all of them in its block: in registers, up to 64 elements in each thread, or read again.
TEST(CudaParameters, WholeColumnsAreKept) {
  struct Case {
    int64_t rows;
    int64_t vector;
    int64_t threads;
    int64_t block_y;
    int64_t persistent_batches;
  };
  for (const Case& each :
       {Case{4, 8, 128, 1, 4}, Case{16, 4, 64, 2, 8}, Case{64, 4, 32, 8, 8}, Case{512, 4, 8, 32, 16},
        Case{513, 2, 16, 32, 17}, Case{1024, 2, 16, 32, 32}, Case{2048, 2, 8, 64, 32}, Case{4096, 8, 8, 64, 0}}) {
    for (const char* op : {"softmax(T0, axis=1)", "sub(T0, mean(T0, axes=[1], keepdim=true))"}) {
      const auto chosen = chosenFor(
          fmt::format("fusion f(T0: bf16[64, {}, 8192]) -> T1 {{ T1 = cast({}, dtype=bf16) }}", each.rows, op));
      EXPECT_EQ(chosen.vector, each.vector) << each.rows << " " << op;
      EXPECT_EQ(chosen.block_x, each.threads) << each.rows << " " << op;
      EXPECT_EQ(chosen.block_y, each.block_y) << each.rows << " " << op;
      EXPECT_EQ(chosen.persistent_batches, each.persistent_batches) << each.rows << " " << op;
      EXPECT_EQ(chosen.outer_grid_split, 1) << each.rows << " " << op;
    }
  }
}

// Few columns would be few blocks; where sizes are open, all columns there are may be few.
TEST(CudaParameters, WholeColumnsHaveToBeMany) {
  const auto isKernel = [](const std::string& shape, int64_t axis) {
    const auto fusion =
        parseFusion(fmt::format("fusion f(T0: f32[{}]) -> T1 {{ T1 = softmax(T0, axis={}) }}", shape, axis),
                    "test.fusion", {.resolver = &definingResolver()});
    return !canSchedule(*fusion, hopperTarget()).reason;
  };
  EXPECT_TRUE(isKernel("1000, 65536", 0));
  EXPECT_FALSE(isKernel("65536, 1000", 0));
  EXPECT_FALSE(isKernel("2, 65536, 100", 1));
  EXPECT_TRUE(isKernel("2, 8, 100", 1));
  EXPECT_TRUE(isKernel("b, c, w", 1));
  EXPECT_FALSE(isKernel("c, w", 0));
  EXPECT_TRUE(isKernel("4, w", 0));
}

// Values by hand become legal ones.
TEST(CudaParameters, ThreadsAcrossByHandFitABlock) {
  KernelTarget target = hopperTarget();
  const std::string softmax = "fusion f(T0: bf16[64, 100, 8192]) -> T1 { T1 = cast(softmax(T0, axis=1), dtype=bf16) }";
  target.parameter_overrides = "block_x=100,block_y=100,persistent_batches=32";
  auto parameters = chosenFor(softmax, target);
  EXPECT_EQ(parameters.block_x, 64);
  EXPECT_EQ(parameters.block_y, 8);
  EXPECT_EQ(parameters.persistent_batches, 32);
  // A hundred rows are more than four threads keep.
  target.parameter_overrides = "block_y=4,persistent_batches=24,outer_grid_split=2";
  parameters = chosenFor(softmax, target);
  EXPECT_EQ(parameters.persistent_batches, 0);
  EXPECT_EQ(parameters.outer_grid_split, 1);
}

// So many blocks as run at once have the rows together, in parts that come out even where there are such; of short ones
// each block has its own.
TEST(CudaParameters, BlocksShareFewLongRows) {
  EXPECT_EQ(chosenFor("fusion f(T0: f32[4096, 4096]) -> T1 { T1 = sum(neg(T0), axes=[0, 1]) }").inner_grid_split, 256);
  EXPECT_EQ(chosenFor("fusion f(T0: f32[100, 1000]) -> T1 { T1 = max(abs(T0), axes=[0, 1]) }").inner_grid_split, 12);
  EXPECT_EQ(chosenFor("fusion f(T0: f32[100, 100]) -> T1 { T1 = max(abs(T0), axes=[0, 1]) }").inner_grid_split, 1);
  EXPECT_EQ(chosenFor("fusion f(T0: f32[4, 1048576]) -> T1 { T1 = mean(neg(T0), axes=[1]) }").inner_grid_split, 64);
  EXPECT_EQ(chosenFor("fusion f(T0: f32[140, 1048576]) -> T1 { T1 = mean(neg(T0), axes=[1]) }").inner_grid_split, 1);
  EXPECT_EQ(chosenFor("fusion f(T0: f32[4, 1048576]) -> T1 { T1 = softmax(T0) }").inner_grid_split, 1);
  // By hand: they do without what needs all of a row in one block.
  KernelTarget target = hopperTarget();
  target.parameter_overrides = "inner_grid_split=3,cluster=2,stages=2,persistent_batches=2";
  const auto parameters = chosenFor("fusion f(T0: f32[140, 1048576]) -> T1 { T1 = sum(neg(T0), axes=[1]) }", target);
  EXPECT_EQ(parameters.inner_grid_split, 3);
  EXPECT_EQ(parameters.cluster, 1);
  EXPECT_EQ(parameters.stages, 0);
  EXPECT_EQ(parameters.persistent_batches, 0);
  EXPECT_EQ(chosenFor("fusion f(T0: f32[4, 1048576]) -> T1 { T1 = softmax(T0) }", target).inner_grid_split, 1);
}

// Of rows of a few elements a thread has so many that it reads 16 bytes at a time, in vectors that divide a row.
TEST(CudaParameters, ThreadsHaveRowsOfFewElements) {
  struct Case {
    const char* dtype;
    int64_t rows;
    int64_t columns;
    int64_t vector;
    int64_t persistent_batches;
    int64_t together;
  };
  constexpr int64_t kMany = 1 << 24;
  for (const Case& each :
       {Case{"bf16", kMany, 2, 2, 1, 4}, Case{"f32", kMany, 2, 2, 1, 2}, Case{"f32", kMany, 3, 1, 3, 2},
        Case{"f32", kMany, 4, 4, 1, 1}, Case{"f64", kMany, 4, 2, 2, 1}, Case{"bf16", 128 * 132 * 2, 2, 2, 1, 2},
        Case{"bf16", 1000, 2, 2, 1, 1}}) {
    const auto chosen = chosenFor(
        fmt::format("fusion f(T0: {}[{}, {}]) -> T1 {{ T1 = softmax(T0) }}", each.dtype, each.rows, each.columns));
    const std::string name = fmt::format("{}[{}, {}]", each.dtype, each.rows, each.columns);
    EXPECT_EQ(chosen.threads, 1) << name;
    EXPECT_EQ(chosen.vector, each.vector) << name;
    EXPECT_EQ(chosen.persistent_batches, each.persistent_batches) << name;
    EXPECT_EQ(chosen.rows_together, each.together) << name;
  }
}

// What all rows read is not what decides how many a thread has.
TEST(CudaParameters, WeightsDoNotLimitRowsTogether) {
  EXPECT_EQ(
      chosenFor("fusion f(T0: bf16[16777216, 2], T1: f32[2]) -> T2 { T2 = sum(mul(T0, T1), axes=[1]) }").rows_together,
      4);
}

// By hand: vectors divide a row, and rows together are as many as registers are meant for.
TEST(CudaParameters, RowsOfFewElementsByHand) {
  KernelTarget target = hopperTarget();
  target.parameter_overrides = "vector=4,together=100,persistent_batches=7,persistent_grid=3";
  const auto chosen = chosenFor("fusion f(T0: bf16[1000, 2]) -> T1 { T1 = softmax(T0) }", target);
  EXPECT_EQ(chosen.vector, 2);
  EXPECT_EQ(chosen.persistent_batches, 1);
  EXPECT_EQ(chosen.rows_together, 8);
  EXPECT_EQ(chosen.persistent_grid, 0);
}

std::string softmaxOf(int64_t columns) {
  return fmt::format("fusion f(T0: bf16[4096, {}]) -> T1 {{ T1 = cast(softmax(T0), dtype=bf16) }}", columns);
}

// What registers do not hold is kept in shared memory: of one block, of one that has a multiprocessor for itself and
// form a persistent grid, of a cluster.
TEST(CudaParameters, LongRowsAreInSharedMemory) {
  struct Case {
    int64_t columns;
    int64_t threads;
    int64_t cluster;
    bool is_persistent_grid;
  };
  for (const Case& each : {Case{32768, 512, 1, false}, Case{49152, 512, 1, false}, Case{65536, 1024, 1, true},
                           Case{98304, 256, 4, false}, Case{131072, 256, 4, false}, Case{256000, 256, 8, false}}) {
    const CudaScheduleParameters parameters = chosenFor(softmaxOf(each.columns));
    EXPECT_EQ(parameters.stages, 1) << each.columns;
    EXPECT_EQ(parameters.threads, each.threads) << each.columns;
    EXPECT_EQ(parameters.cluster, each.cluster) << each.columns;
    EXPECT_EQ(parameters.persistent_grid > 0, each.is_persistent_grid) << each.columns;
    EXPECT_GT(parameters.chunk, 0) << each.columns;
  }
  EXPECT_EQ(chosenFor(softmaxOf(4096)).stages, 0);
  EXPECT_EQ(chosenFor(softmaxOf(1 << 20)).stages, 0);
}

// Registers hold them, but then a block of a row has a multiprocessor for itself.
TEST(CudaParameters, LongRowsOfOneInputAreInSharedMemory) {
  const auto normOf = [](std::string_view text, int64_t columns) {
    return chosenFor(fmt::format(fmt::runtime(text), columns));
  };
  constexpr std::string_view kNorm =
      "fusion f(T0: bf16[4096, {0}], T1: bf16[{0}]) -> T2 {{ T2 = cast(rms_norm(T0, T1), dtype=bf16) }}";
  for (const auto& [columns, threads] :
       {std::pair{20480, 512}, std::pair{32768, 512}, std::pair{40960, 1024}, std::pair{65536, 1024}}) {
    const CudaScheduleParameters parameters = normOf(kNorm, columns);
    EXPECT_EQ(parameters.stages, 1) << columns;
    EXPECT_EQ(parameters.persistent_batches, 0) << columns;
    EXPECT_EQ(parameters.threads, threads) << columns;
    EXPECT_EQ(parameters.cluster, 1) << columns;
  }
  EXPECT_EQ(normOf(kNorm, 18432).stages, 0);
  EXPECT_GT(normOf(kNorm, 18432).persistent_batches, 0);
  // Two inputs, and random numbers that would be made again.
  constexpr std::string_view kSum =
      "fusion f(T0: bf16[4096, {0}], T1: bf16[4096, {0}], T2: bf16[{0}]) -> T3 {{ T3 = cast(rms_norm(add(T0, T1), T2), "
      "dtype=bf16) }}";
  EXPECT_EQ(normOf(kSum, 24576).stages, 0);
  constexpr std::string_view kRandom =
      "fusion f(T0: bf16[4096, {0}], T1: bf16[{0}]) -> T2 {{ T2 = cast(rms_norm(exp(T0), T1), dtype=bf16) }}";
  EXPECT_EQ(normOf(kRandom, 24576).stages, 0);
}

// So many threads as a short row has vectors: a warp takes several rows. A block has at most as many threads as the
// target lets it have.
TEST(CudaParameters, ShortRowsShareWarps) {
  struct Case {
    int64_t columns;
    int64_t threads;
    int64_t rows;
  };
  for (const Case& each :
       {Case{32, 4, 32}, Case{64, 8, 16}, Case{96, 16, 8}, Case{128, 16, 8}, Case{192, 32, 4}, Case{1024, 32, 4}}) {
    const CudaScheduleParameters parameters = chosenFor(softmaxOf(each.columns));
    EXPECT_EQ(parameters.threads, each.threads) << each.columns;
    EXPECT_EQ(parameters.rows_per_block, each.rows) << each.columns;
  }
  const auto open = fusionFrom("fusion f(T0: f32[i0, i1]) -> T1 { T1 = softmax(T0) }");
  ScalarBindings sizes;
  for (Scalar* symbol : open->allSymbols()) sizes[symbol] = int64_t{64};
  KernelTarget target = hopperTarget();
  const auto blockOf = [&] {
    const auto parameters = chooseCudaParameters(requireReductionStructure(*open), target, sizes);
    return parameters.threads * parameters.rows_per_block;
  };
  EXPECT_LE(blockOf(), 128);
  target.parameter_overrides = "threads=512,rows=16";
  EXPECT_LE(blockOf(), 1024);
}

TEST(CudaParameters, StagesFitTheTarget) {
  KernelTarget target = hopperTarget();
  target.has_clusters = false;
  EXPECT_EQ(chosenFor(softmaxOf(131072), target).stages, 0);
  target.shared_bytes_per_block = 48 * 1024;
  EXPECT_EQ(chosenFor(softmaxOf(32768), target).stages, 0);
  // By hand: more than one only for a persistent grid, and no more than there is room for.
  target = hopperTarget();
  target.parameter_overrides = "stages=9,threads=512,chunk=4,persistent_batches=0";
  EXPECT_EQ(chosenFor(softmaxOf(32768), target).stages, 1);
  target.parameter_overrides += ",persistent_grid=132";
  EXPECT_EQ(chosenFor(softmaxOf(32768), target).stages, 3);
  EXPECT_EQ(chosenFor(softmaxOf(8192), target).stages, 8);
  target.parameter_overrides = "stages=2";
  EXPECT_EQ(chosenFor("fusion f(T0: f32[64, 64]) -> T1 { T1 = exp(T0) }", target).stages, 0);
}

}  // namespace
}  // namespace tokamak
