// A stream that does not go on holds up no call on other streams, and nobody who asks; what calls used is let go when
// they are done.
#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "host_run/short_chain.h"
#include "interop/dlpack.h"

namespace tokamak {
namespace {

// Keeps a stream from going on. If that holds up the test, the stream goes on after some seconds, and the test has
// failed.
class Hold {
 public:
  Hold(CpuDevice& device, Stream& stream) : device_(device), opener_(device.createStream()) {
    device.waitFlag(stream, &flag_, 1);
    watch_ = std::thread([this] {
      for (int i = 0; i < 1000 && !is_over_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      has_waited_too_long_ = !is_over_;
      if (has_waited_too_long_) device_.writeFlag(*opener_, &flag_, 1);
    });
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { end(); }
  /// Lets it go on. Whether nobody was held up.
  bool end() {
    is_over_ = true;
    if (watch_.joinable()) watch_.join();
    device_.writeFlag(*opener_, &flag_, 1);
    device_.synchronize(*opener_);
    return !has_waited_too_long_;
  }

 private:
  CpuDevice& device_;
  std::shared_ptr<Stream> opener_;
  uint64_t flag_ = 0;
  std::atomic<bool> is_over_ = false;
  std::atomic<bool> has_waited_too_long_ = false;
  std::thread watch_;
};

// More shapes than plans are kept are enqueued behind the hold, by any number of calls in flight, and everything else
// goes on.
TEST(HeldStream, HoldsUpNeitherOtherCallsNorWhoAsks) {
  for (const Mode mode : kModes) {
    for (const int64_t plans : {1, 8, 128}) {
      SCOPED_TRACE(testing::Message() << "mode " << static_cast<int>(mode) << ", " << plans << " plans");
      RunBench bench;
      const auto fusion = fusionOf(kShortChain);
      MultiDeviceExecutor executor(
          *fusion, bench.device,
          {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode, .plans = {.plans = plans}}});
      const std::shared_ptr<Stream> held = bench.device.createStream();
      std::vector<std::vector<RunValue>> inputs;
      constexpr int64_t kNewShapes = 160;
      for (int64_t rows = 1; rows <= kNewShapes; ++rows) inputs.push_back({threes(bench, rows)});
      const std::vector<RunValue> idle = {threes(bench, 8)};
      const std::vector<RunValue> fresh = {threes(bench, kNewShapes + 1)};
      Hold hold(bench.device, *held);
      std::vector<Tensor> late;
      for (const std::vector<RunValue>& input : inputs) late.push_back(executor.runWithInput(input, {}, held).at(0));
      const HostIrEvaluatorStatistics under_way = executor.evaluator().stats();
      executor.planFor(fresh);
      expectAnswer(executor.runWithInput(idle, {}, bench.stream).at(0));
      expectAnswer(executor.runWithInput(fresh).at(0));
      EXPECT_TRUE(hold.end());
      for (const Tensor& output : late) expectAnswer(output);
      if (mode == Mode::Direct) continue;
      if (plans == 1) {
        EXPECT_GT(under_way.retired_bytes, 100 * under_way.plans.bytes);
      }
      bench.device.synchronize(*held);
      // The next plan that is recorded lets go of those that are over.
      for (int64_t rows = kNewShapes + 2; rows <= kNewShapes + 3; ++rows)
        executor.runWithInput(std::vector<RunValue>{threes(bench, rows)}).at(0).waitReady();
      EXPECT_LE(executor.evaluator().stats().retired_bytes, under_way.plans.bytes);
    }
  }
}

// Only the call that finds no memory but what a call behind the hold uses waits for that.
TEST(HeldStream, HoldsUpOnlyWhoNeedsTheMemoryOfItsCalls) {
  RunBench bench{{.threads = 2, .memory_limit = int64_t{64} << 20}};
  const auto fusion = fusionOf("fusion f(T0: f32[i0 strided]) -> T3 { T1 = exp(T0) T2 = neg(T1) T3 = mul(T2, T1) }");
  MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.grouping = Grouping::Single}});
  const Tensor zero = bench.numbers(DataType::F32, {1}, {0});
  const auto zeros = [&](int64_t size) {
    const int64_t sizes[] = {size}, strides[] = {0};
    return std::vector<RunValue>{Tensor(zero.buffer(), 0, DataType::F32, sizes, strides)};
  };
  constexpr int64_t kLarge = int64_t{3} << 20;  // 12 MiB of outputs, twice as much of intermediates
  const std::shared_ptr<Stream> held = bench.device.createStream();
  const std::shared_ptr<Stream> other = bench.device.createStream();
  executor.planFor(zeros(kLarge));
  Hold hold(bench.device, *held);
  const Tensor late = executor.runWithInput(zeros(kLarge), {}, held).at(0);
  std::atomic<bool> has_run = false;
  std::thread needs([&] {
    const Tensor output = executor.runWithInput(zeros(kLarge), {}, other).at(0);
    has_run = true;
    EXPECT_EQ(static_cast<const float*>(output.hostDataToRead())[kLarge - 1], -1.0F);
  });
  for (int i = 0; i < 20; ++i) {
    const Tensor small = executor.runWithInput(zeros(8), {}, bench.stream).at(0);
    EXPECT_EQ(static_cast<const float*>(small.hostDataToRead())[7], -1.0F);
    EXPECT_GT(executor.evaluator().stats().contexts, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(has_run);
  EXPECT_TRUE(hold.end());
  needs.join();
  EXPECT_EQ(static_cast<const float*>(late.hostDataToRead())[kLarge - 1], -1.0F);
}

TEST(HeldStream, IsAskedAboutWhileCallsGrowTheirMemory) {
  RunBench bench;
  const auto fusion = fusionOf(kShortChain);
  MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.grouping = Grouping::Single}});
  std::atomic<bool> is_over = false;
  std::thread asks([&] {
    int64_t last = 0;
    while (!is_over) {
      const HostIrEvaluatorStatistics now = executor.evaluator().stats();
      EXPECT_GE(now.plans.misses, last);
      last = now.plans.misses;
    }
  });
  for (int64_t rows = 1; rows <= 200; ++rows)
    expectAnswer(executor.runWithInput(std::vector<RunValue>{threes(bench, rows)}).at(0));
  is_over = true;
  asks.join();
  const HostIrEvaluatorStatistics after = executor.evaluator().stats();
  EXPECT_EQ(after.plans.misses, 200);
  EXPECT_EQ(after.plans.hits, 0);
  EXPECT_GT(after.arena_bytes, 0);
}

// Each call that records a plan is one miss, each other one a hit, by whatever entry it comes.
TEST(PlanStatistics, CountEveryCallOnce) {
  RunBench bench;
  MultiDeviceExecutor executor(*fusionOf(kShortChain), bench.device, {.lowering = {.grouping = Grouping::Single}});
  const auto expectCounts = [&](int64_t hits, int64_t misses) {
    const PlanCacheStatistics now = executor.evaluator().stats().plans;
    EXPECT_EQ(now.hits, hits);
    EXPECT_EQ(now.misses, misses);
  };
  executor.runWithInput(std::vector<RunValue>{threes(bench, 1)});
  expectCounts(0, 1);
  executor.runWithInput(std::vector<RunValue>{threes(bench, 1)});
  expectCounts(1, 1);
  for (int call = 0; call < 3; ++call) {
    Tensor in[] = {threes(bench, 2)};
    Tensor out[] = {bench.empty(DataType::F32, {2, 8})};
    executor.evaluator().run(in, out, *bench.stream);
    out[0].waitReady();
    expectCounts(1 + call, 2);
  }
  executor.planFor(std::vector<RunValue>{threes(bench, 3)});
  expectCounts(3, 3);
}

// An array of another library, which counts how often it was given back.
struct CountedArray {
  explicit CountedArray(int64_t rows, int& given_back) : sizes{rows, 8}, data(static_cast<size_t>(rows * 8), 3.0F) {
    given.context = this;
    given.deleter = [](dlpack::ManagedVersioned* done) {
      auto* const self = static_cast<CountedArray*>(done->context);
      ++*self->count;
      delete self;
    };
    given.array = {.data = data.data(), .device = {}, .rank = 2, .sizes = sizes, .strides = nullptr};
    count = &given_back;
  }
  int64_t sizes[2];
  std::vector<float> data;
  int* count;
  dlpack::ManagedVersioned given;
};

// A way to see that a call is done. What a caller gives as an output has no event of its own.
struct Look {
  const char* name;
  bool needs_event;
  void (*look)(RunBench& bench, const Tensor& output);
};
constexpr Look kLooks[] = {
    {"hostData", false, [](RunBench&, const Tensor& output) { output.hostData(); }},
    {"hostDataToRead", false, [](RunBench&, const Tensor& output) { output.hostDataToRead(); }},
    {"waitReady", false, [](RunBench&, const Tensor& output) { output.waitReady(); }},
    {"synchronize(stream)", false, [](RunBench& bench, const Tensor&) { bench.device.synchronize(*bench.stream); }},
    {"synchronize(event)", true,
     [](RunBench& bench, const Tensor& output) { bench.device.synchronize(*output.readyEvent()); }},
    {"collect", true,
     [](RunBench& bench, const Tensor& output) {
       while (!bench.device.isDone(*output.readyEvent())) std::this_thread::yield();
       DlpackExchange(bench.device).collect();
     }},
};

// What a call used is let go by whoever sees that the call is done, not only by the next call.
TEST(InFlightCalls, LetGoOfTheirTensorsWhenSomebodySeesThatTheyAreDone) {
  for (const Mode mode : kModes) {
    for (const bool is_given : {true, false}) {
      for (const auto& [name, needs_event, look] : kLooks) {
        if (is_given && needs_event) continue;
        SCOPED_TRACE(testing::Message() << "mode " << static_cast<int>(mode) << ", "
                                        << (is_given ? "a given output, " : "a new output, ") << name);
        RunBench bench;
        MultiDeviceExecutor executor(*fusionOf(kShortChain), bench.device,
                                     {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
        std::vector<RunValue> inputs = {threes(bench, 8)};
        const std::weak_ptr<const Buffer> input = std::get<Tensor>(inputs[0]).buffer();
        std::vector<Tensor> outputs;
        if (is_given) outputs.push_back(bench.empty(DataType::F32, {8, 8}));
        std::vector<Tensor> results = executor.runWithInput(inputs, outputs, bench.stream);
        if (!is_given) outputs = std::move(results);
        inputs.clear();
        EXPECT_FALSE(input.expired());
        look(bench, outputs[0]);
        EXPECT_TRUE(input.expired());
        expectAnswer(outputs[0]);
      }
    }
  }
}

// An array of another library is given back once, whether the call had a stream or not.
TEST(InFlightCalls, GiveArraysOfOthersBack) {
  for (const Mode mode : kModes) {
    for (const bool has_stream : {true, false}) {
      for (const auto& [name, needs_event, look] : kLooks) {
        SCOPED_TRACE(testing::Message() << "mode " << static_cast<int>(mode) << ", "
                                        << (has_stream ? "a stream, " : "no stream, ") << name);
        RunBench bench;
        DlpackExchange exchange(bench.device);
        MultiDeviceExecutor executor(*fusionOf(kShortChain), bench.device,
                                     {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
        int given_back = 0;
        {
          std::vector<RunValue> inputs = {exchange.take(&(new CountedArray(8, given_back))->given, bench.stream)};
          const Tensor output = executor.runWithInput(inputs, {}, has_stream ? bench.stream : nullptr).at(0);
          inputs.clear();
          look(bench, output);
          exchange.collect();
          bench.device.synchronize(*bench.stream);  // what is let go waits for its stream
          exchange.collect();
          expectAnswer(output);
        }
        EXPECT_EQ(given_back, 1);
      }
    }
  }
}

}  // namespace
}  // namespace tokamak
