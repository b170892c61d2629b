// The order of calls on a GPU's streams, as the fake driver runs them: a thread each.
#include <algorithm>

#include <gtest/gtest.h>

#include "fake_cuda.h"
#include "host_run/call_sequence.h"

namespace tokamak {
namespace {

// Diagonal matrices; doubling is exact.
CallTarget targetOn(CudaDevice& device) {
  return {.device = &device,
          .op = "matmul",
          .steps = 4,
          // Copies, which the fake driver can run; so the last product may be written where T0 was.
          .head = "T2: f32[n, n] in pinned = set(T0) T3: f32[n, n] in device = set(T2)",
          .head_steps = 2,
          .size = 16,
          .step = [](float x) { return 2 * x; },
          .fill =
              [](float* to, int64_t n, float x) {
                std::fill_n(to, n * n, 0.0F);
                for (int64_t i = 0; i < n; ++i) to[i * (n + 1)] = x;
              },
          .operand = 2,
          .dlpack_device = {.type = dlpack::DeviceType::Cuda, .id = 0},
          .host_reads = false};
}

TEST(CudaCallOrder, IsKeptInChainsAndRandomSequences) {
  const FakeSettings settings("memory=2000000000");  // each stream has memory for the library's products
  for (const bool uses_graphs : {true, false}) {
    const auto device = openFakeDevice({.products_library = TOKAMAK_FAKE_DRIVER, .uses_graphs = uses_graphs});
    CallSequence sequence(targetOn(*device), {.calls_in_flight = 2});
    EXPECT_EQ(countWrongChains(sequence, repetitions(5)), 0);
    EXPECT_EQ(countWrongSequences(sequence, repetitions(5) * 20, 12, 1), 0);
  }
}

TEST(CudaCallOrder, TellsEachReaderOfAFailureAndLeavesOthersAlone) {
  const FakeSettings settings("memory=2000000000");
  for (const bool uses_graphs : {true, false}) {
    const auto device = openFakeDevice({.products_library = TOKAMAK_FAKE_DRIVER, .uses_graphs = uses_graphs});
    CallSequence sequence(targetOn(*device), {.calls_in_flight = 2});
    EXPECT_EQ(countWrongFailures(sequence, repetitions(5) * 10, 12, 1), 0);
    EXPECT_GT(sequence.told(), 0);
  }
}

}  // namespace
}  // namespace tokamak
