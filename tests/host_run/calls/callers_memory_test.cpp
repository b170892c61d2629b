// Memory that is the caller's: outputs from his pool, and tensors that he lets nobody write.
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/require.h"
#include "error_of.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

// Counts what it gives and gets back.
class Pool final : public OutputAllocator {
 public:
  Block allocate(int64_t bytes, MemoryKind /*kind*/, Stream& /*stream*/) override {
    TK_REQUIRE(bytes <= limit, OutOfMemory, "the pool has {} bytes", limit);
    ++given;
    void* const memory = std::aligned_alloc(256, static_cast<size_t>(bytes + 255) / 256 * 256 + 256);
    return {static_cast<std::byte*>(memory) + offset, std::shared_ptr<void>(memory, [this](void* address) {
              ++returned;
              std::free(address);
            })};
  }
  int64_t limit = 1 << 20;
  int64_t offset = 0;
  int given = 0;
  int returned = 0;
};

const char* const kFusion =
    "fusion f(T0: f32[i0, i2]) -> T1, T2 { T1 = mul(T0, 2.0) T2 = add(T1, T0) } sizes { i0 = 5, i2 = 7 }";

TEST(OutputAllocators, GiveTheOutputsThatTheCallerDoesNot) {
  RunBench bench;
  Pool pool;
  const auto fusion = fusionOf(kFusion);
  {
    MultiDeviceExecutor executor(
        *fusion, bench.device, {.lowering = {.grouping = Grouping::Single}, .evaluator = {.output_allocator = &pool}});
    for (int round = 1; round <= 3; ++round) {
      const auto inputs = bench.inputsOf(*fusion, {}, static_cast<uint64_t>(round));
      const std::vector<Tensor> outputs = executor.runWithInput(inputs);
      EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "");
      EXPECT_EQ(pool.given, 2 * round);
    }
    const std::vector<Tensor> given = {bench.empty(DataType::F32, {5, 7})};
    const std::vector<Tensor> outputs = executor.runWithInput(bench.inputsOf(*fusion), given);
    EXPECT_EQ(pool.given, 7);
    outputs[1].waitReady();
  }
  EXPECT_EQ(pool.returned, 7);
}

TEST(OutputAllocators, ThatFailLeaveTheNextCallRight) {
  RunBench bench;
  Pool pool;
  const auto fusion = fusionOf(kFusion);
  MultiDeviceExecutor executor(*fusion, bench.device,
                               {.lowering = {.grouping = Grouping::Single}, .evaluator = {.output_allocator = &pool}});
  const auto inputs = bench.inputsOf(*fusion);
  pool.limit = 100;
  EXPECT_EQ(errorOf([&] { executor.runWithInput(inputs); }).message(), "the pool has 100 bytes");
  pool.limit = 1 << 20;
  pool.offset = 4;
  EXPECT_EQ(errorOf([&] { executor.runWithInput(inputs); }).code(), ErrorCode::Bind);
  pool.offset = 0;
  const std::vector<Tensor> outputs = executor.runWithInput(inputs);
  EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "");
  EXPECT_EQ(errorOf([&] {
              MultiDeviceExecutor(*fusion, bench.device,
                                  {.lowering = {.grouping = Grouping::Single},
                                   .evaluator = {.mode = Mode::Direct, .output_allocator = &pool}});
            }).code(),
            ErrorCode::Usage);
}

TEST(ReadOnlyTensors, AreInputsAndNothingElse) {
  RunBench bench;
  const auto fusion = fusionOf(kFusion);
  MultiDeviceExecutor executor(*fusion, bench.device);
  auto inputs = bench.inputsOf(*fusion);
  const auto values = oracleInputsOf(inputs);
  std::get<Tensor>(inputs[0]).buffer()->forbidWriting();
  const std::vector<Tensor> outputs = executor.runWithInput(inputs);
  EXPECT_EQ(differenceFromOracle(*fusion, values, outputs), "");
  const std::vector<Tensor> given = {bench.empty(DataType::F32, {5, 7})};
  given[0].buffer()->forbidWriting();
  const Error error = errorOf([&] { executor.runWithInput(inputs, given); });
  EXPECT_EQ(error.code(), ErrorCode::Bind);
  EXPECT_TRUE(error.message().ends_with(": the given tensor may not be written")) << error.message();
}

}  // namespace
}  // namespace tokamak
