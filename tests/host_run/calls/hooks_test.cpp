// What a caller hooks into programs: memory for intermediates, limits of it, threads for blocks.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/require.h"
#include "compile/program.h"
#include "define/functions.h"
#include "define/reductions.h"
#include "define/shapes.h"
#include "device/intermediate_allocator.h"
#include "device/output_allocator.h"
#include "error_of.h"
#include "jit/open_device.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

// Counts, and knows which stream, and so which context, asks.
class IntermediatePool final : public IntermediateAllocator {
 public:
  Block allocate(int64_t bytes, MemoryKind kind, Stream& stream) override {
    std::atomic<int>& busy = busyOf(stream);
    EXPECT_EQ(++busy, 1) << "two calls for one context at a time";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --busy;
    TK_REQUIRE(bytes <= limit, OutOfMemory, "the pool has {} bytes", limit.load());
    EXPECT_EQ(kind, MemoryKind::Device);
    if (gives_null) return {};
    ++given;
    void* const memory = std::aligned_alloc(256, static_cast<size_t>(bytes + 511) / 256 * 256);
    return {.address = static_cast<std::byte*>(memory) + offset,
            .keeper = std::shared_ptr<void>(memory, [this](void* address) {
              ++returned;
              std::free(address);
            })};
  }
  std::atomic<int64_t> limit = 1 << 24;
  std::atomic<int64_t> offset = 0;
  std::atomic<bool> gives_null = false;
  std::atomic<int> given = 0;
  std::atomic<int> returned = 0;

 private:
  std::atomic<int>& busyOf(const Stream& stream) {
    const std::lock_guard lock(mutex_);
    return busy_[&stream];
  }
  std::mutex mutex_;
  std::map<const Stream*, std::atomic<int>> busy_;
};

// Op by op, so that what is between is memory.
Program hookedProgram(Device& device, CompileOptions options) {
  Fusion fusion("hooked");
  TensorView* x = fusion.input("x", DataType::F32, {"n"});
  fusion.output("y", mul(exp(neg(x)), 2.0));
  options.makes_kernels = false;
  return compile(fusion, device, options);
}

void expectHooked(Program& program, int64_t size) {
  const std::vector<float> zeros(static_cast<size_t>(size), 0.0F);
  const std::vector<Tensor> outputs = program.run({Tensor::wrap(program.device(), zeros, {size})});
  EXPECT_EQ(outputs.at(0).read<float>()[static_cast<size_t>(size) - 1], 2.0F);
}

TEST(IntermediateAllocators, GiveWhatIsComputedOnTheWay) {
  const std::shared_ptr<Device> device = openCpuDevice({.threads = 2});
  IntermediatePool pool;
  {
    Program program = hookedProgram(*device, {.intermediate_allocator = &pool});
    for (int i = 0; i < 3; ++i) expectHooked(program, 1000);
    const int given = pool.given;
    EXPECT_GE(given, 1);
    EXPECT_LE(given, 4) << "one for each context";
    expectHooked(program, 2000);
    EXPECT_GT(pool.given, given) << "it grows";
  }
  EXPECT_EQ(pool.returned, pool.given);
}

TEST(IntermediateAllocators, ThatFailLeaveTheNextCallRight) {
  const std::shared_ptr<Device> device = openCpuDevice({.threads = 2});
  IntermediatePool pool;
  Program program = hookedProgram(*device, {.intermediate_allocator = &pool});
  pool.limit = 100;
  EXPECT_THAT(errorOf([&] { expectHooked(program, 500); }).what(), HasSubstr("the pool has 100 bytes"));
  pool.limit = 1 << 24;
  pool.offset = 8;
  EXPECT_THAT(errorOf([&] { expectHooked(program, 500); }).message(),
              HasSubstr("allocating intermediates of 4096 bytes: the caller's allocator gave "));
  pool.offset = 0;
  pool.gives_null = true;
  EXPECT_THAT(errorOf([&] { expectHooked(program, 500); }).message(), HasSubstr("the caller's allocator gave null"));
  pool.gives_null = false;
  expectHooked(program, 500);
}

TEST(IntermediateAllocators, ServeCallsSideBySide) {
  const std::shared_ptr<Device> device = openCpuDevice({.threads = 2});
  IntermediatePool pool;
  {
    Program program = hookedProgram(*device, {.calls_in_flight = 3, .intermediate_allocator = &pool});
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&, i] {
        for (int64_t call = 0; call < 20; ++call) expectHooked(program, 100 * (1 + (call + i) % 7));
      });
    }
    threads.clear();
    EXPECT_LE(program.statistics().contexts, 3);
  }
  EXPECT_EQ(pool.returned, pool.given);
}

// Memory that is freed at once, while the calls that write it are under way.
TEST(OutputAllocators, GetMemoryOfTheProcessorBackWhenCallsAreDone) {
  class Freed final : public OutputAllocator {
   public:
    Block allocate(int64_t bytes, MemoryKind, Stream&) override {
      void* const memory = std::aligned_alloc(256, static_cast<size_t>(bytes + 255) / 256 * 256);
      return {.address = memory, .keeper = std::shared_ptr<void>(memory, [this](void* address) {
                                   ++freed;
                                   if (!is_over) ++freed_early;
                                   std::free(address);
                                 })};
    }
    std::atomic<bool> is_over = false;
    std::atomic<int> freed = 0;
    std::atomic<int> freed_early = 0;
  };
  const std::shared_ptr<Device> device = openCpuDevice({.threads = 2});
  Freed memory;
  {
    Program program = hookedProgram(*device, {.output_allocator = &memory});
    const std::shared_ptr<Stream> stream = device->createStream();
    std::atomic<bool> goes_on = false;
    device->callback(*stream, [&] {
      while (!goes_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    const std::vector<float> zeros(1000, 0.0F);
    program.run({Tensor::wrap(*device, zeros, {1000})}, {}, stream);  // and lets go of the output
    EXPECT_EQ(memory.freed, 0);
    memory.is_over = true;
    goes_on = true;
    stream->synchronize();
  }
  EXPECT_EQ(memory.freed, 1);
  EXPECT_EQ(memory.freed_early, 0);
}

TEST(IntermediateLimits, AreToldWhenAPlanIsMade) {
  const std::shared_ptr<Device> device = openCpuDevice({.threads = 2});
  Program program = hookedProgram(*device, {.most_intermediate_bytes = 10'000});
  program.prepare({{"n", 1000}});
  expectHooked(program, 1000);
  EXPECT_LE(program.statistics().device_bytes, 4 * 10'000);
  const Error error = errorOf([&] { program.prepare({{"n", 5000}}); });
  EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
  EXPECT_THAT(error.message(), HasSubstr("hooked: a call at these sizes needs "));
  EXPECT_THAT(error.message(), HasSubstr(" bytes for intermediates; the limit that was set is 10000"));
  EXPECT_THAT(error.what(), HasSubstr("while allocating ")) << "names the largest";
  EXPECT_EQ(errorOf([&] { expectHooked(program, 5000); }).code(), ErrorCode::OutOfMemory);
  expectHooked(program, 900);
  EXPECT_EQ(errorOf([&] { hookedProgram(*device, {.most_intermediate_bytes = -1}); }).code(), ErrorCode::Usage);
}

// Threads for each call.
class FreshThreads final : public ParallelFor {
 public:
  void run(int64_t parts, Body body, void* context) override {
    ++calls;
    std::vector<std::jthread> threads;
    std::atomic<int64_t> next = 0;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int64_t part = next++; part < parts; part = next++) body(context, part);
      });
    }
    threads.clear();
    if (raises) TK_RAISE(Device, "no threads are left");
  }
  std::atomic<int> calls = 0;
  std::atomic<bool> raises = false;
};

TEST(CallersThreads, RunTheBlocksOfKernels) {
  const auto threads = std::make_shared<FreshThreads>();
  {
    const std::shared_ptr<Device> device = openCpuDevice({.threads = 3, .parallel_for = threads});
    Fusion fusion("scaled");
    TensorView* x = fusion.input("x", DataType::F32, {"n", "m"});
    fusion.output("y", mul(sub(x, broadcast(max(x, {1}), {false, true})), 2.0));
    Program program = compile(fusion, *device);
    std::vector<float> numbers(300 * 400);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 400);
    const auto check = [&] {
      const std::vector<Tensor> outputs = program.run({Tensor::wrap(*device, numbers, {300, 400})});
      const std::span<const float> y = outputs.at(0).read<float>();
      for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], 2 * (numbers[i] - 399));
    };
    check();
    EXPECT_GE(threads->calls, 1);
    // What it raises is the failure of the work, and the next call runs.
    threads->raises = true;
    EXPECT_EQ(errorOf([&] { program.run({Tensor::wrap(*device, numbers, {300, 400})}).at(0).read<float>(); }).message(),
              "no threads are left");
    threads->raises = false;
    check();
  }
  EXPECT_EQ(threads.use_count(), 1) << "let go with the device";
}

// Which take longer to come than the caller takes for all of it.
TEST(CallersThreads, DoNotComeForALittleWork) {
  const auto threads = std::make_shared<FreshThreads>();
  const std::shared_ptr<Device> device = openCpuDevice({.threads = 3, .parallel_for = threads});
  Fusion fusion("scaled");
  TensorView* x = fusion.input("x", DataType::F32, {"n", "m"});
  fusion.output("y", mul(sub(x, broadcast(max(x, {1}), {false, true})), 2.0));
  Program program = compile(fusion, *device);
  const std::vector<float> numbers(1 << 16, 1.0F);
  const auto callsFor = [&](int64_t rows, int64_t columns) {
    const int before = threads->calls;
    const std::span<const float> given = std::span(numbers).first(static_cast<size_t>(rows * columns));
    const Tensor y = program.run({Tensor::wrap(*device, given, {rows, columns})}).at(0);
    for (const float each : y.read<float>()) EXPECT_EQ(each, 0);
    return threads->calls - before;
  };
  EXPECT_EQ(callsFor(16, 48), 0);
  EXPECT_GE(callsFor(256, 256), 1);
}

}  // namespace
}  // namespace tokamak
