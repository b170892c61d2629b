// Calls of one program with two sizes in turn: each has its plan, its graph and memory that stay.
#include <array>
#include <memory>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "compile/multi_device_executor.h"
#include "fake_cuda.h"
#include "host_run/program_text.h"

namespace tokamak {
namespace {

// Products, since the fake driver runs those without a compiler. T1 and T2 are in the arena.
const char* const kFourth =
    "fusion f(T0: f32[n, n]) -> T3 { T1 = matmul(T0, T0) T2 = matmul(T1, T0) T3 = matmul(T2, T0) } sizes { n = 16 }";

class AlternatingSizes : public testing::Test {
 protected:
  struct Size {
    int64_t n;
    Tensor in;
    Tensor out;
  };

  Size sizeOf(int64_t n) {
    const std::array<int64_t, 2> sizes = {n, n};
    const auto made = [&] { return Tensor::empty(*device, stream, DataType::F32, sizes, MemoryKind::Device); };
    Size size{.n = n, .in = made(), .out = made()};
    std::vector<float> twice(static_cast<size_t>(n * n), 0.0F);
    for (int64_t i = 0; i < n; ++i) twice[static_cast<size_t>(i * (n + 1))] = 2.0F;
    device->copy(*stream, size.in.data(), twice.data(), n * n * 4);
    device->synchronize(*stream);
    return size;
  }
  // The first and the last element of the diagonal are right.
  void call(Size& size) {
    device->fill(*stream, size.out.data(), 0xFF, size.n * size.n * 4);
    executor.evaluator().run({&size.in, 1}, {&size.out, 1}, *stream);
    std::vector<float> values(static_cast<size_t>(size.n * size.n));
    device->copy(*stream, values.data(), size.out.data(), size.n * size.n * 4);
    device->synchronize(*stream);
    EXPECT_EQ(values.front(), 16.0F);
    EXPECT_EQ(values.back(), 16.0F);
  }

  struct Held {
    int64_t system_allocations = 0;
    int64_t bytes_in_use = 0;
    int64_t arena_bytes = 0;
    int64_t plan_misses = 0;
    bool operator==(const Held&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Held& held) {
      return out << held.system_allocations << " allocations, " << held.bytes_in_use << " bytes, arenas of "
                 << held.arena_bytes << ", " << held.plan_misses << " plans looked for in vain";
    }
  };
  Held held() {
    const MemoryStatistics memory = device->memoryStatistics(MemoryKind::Device);
    const HostIrEvaluatorStatistics stats = executor.evaluator().stats();
    return {memory.system_allocations, memory.bytes_in_use, stats.arena_bytes, stats.plans.misses};
  }

  std::unique_ptr<CudaDevice> device = openFakeDevice({.products_library = TOKAMAK_FAKE_DRIVER});
  std::shared_ptr<Stream> stream = device->createStream();
  MultiDeviceExecutor executor{*fusionOf(kFourth), *device};
};

// Whether the larger one, for which the arena grows, comes first or not.
TEST_F(AlternatingSizes, KeepTheArenaAndTheGraphs) {
  for (const auto& [first, second] : {std::pair<int64_t, int64_t>{16, 48}, {40, 24}}) {
    Size a = sizeOf(first);
    Size b = sizeOf(second);
    call(a);
    call(b);
    const Held after_first_calls = held();
    EXPECT_GT(after_first_calls.arena_bytes, 0);
    // Graphs are made, whose products have memory of their own.
    call(a);
    call(b);
    const Held after_graphs = held();
    EXPECT_EQ(after_graphs.arena_bytes, after_first_calls.arena_bytes);
    EXPECT_EQ(after_graphs.plan_misses, after_first_calls.plan_misses);
    const int64_t objects = liveDriverObjects();
    const int64_t launches = graphLaunches();
    const int64_t updates = graphUpdates();
    const int64_t questions = libraryQuestions();
    for (int i = 0; i < 10; ++i) {
      call(a);
      EXPECT_EQ(held(), after_graphs);
      call(b);
      EXPECT_EQ(held(), after_graphs);
      EXPECT_EQ(graphLaunches() - launches, 2 * (i + 1));
    }
    EXPECT_EQ(liveDriverObjects(), objects);
    EXPECT_EQ(graphUpdates(), updates);
    EXPECT_EQ(libraryQuestions(), questions);
  }
}

}  // namespace
}  // namespace tokamak
