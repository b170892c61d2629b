// What handing work to a stream costs, from the first enqueue to the end of the last step.
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "runtime/cpu/cpu_device.h"

namespace tokamak {

namespace {

constexpr int64_t kSteps = 1000;

class Trivial final : public CpuWork {
 public:
  void run(void* const* addresses, BlockPool& /*pool*/) const override { ++*static_cast<int64_t*>(addresses[0]); }
};

void setPerStep(benchmark::State& state, int64_t steps) {
  state.counters["s/step"] = benchmark::Counter(static_cast<double>(steps * state.iterations()),
                                                benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void launchOneStream(benchmark::State& state) {
  CpuDevice device;
  const auto stream = device.createStream();
  const Trivial work;
  int64_t value = 0;
  const std::array<void*, 3> addresses = {&value, &value, &value};
  for (auto _ : state) {
    for (int64_t i = 0; i < kSteps; ++i) device.launch(*stream, work, addresses);
    device.synchronize(*stream);
  }
  setPerStep(state, kSteps);
}
BENCHMARK(launchOneStream)->UseRealTime();

// The issuing side alone: the worker is held up meanwhile, and its share is not timed.
void enqueueOneStream(benchmark::State& state) {
  CpuDevice device({.ring_bytes = 1 << 20});
  const auto stream = device.createStream();
  const Trivial work;
  int64_t value = 0;
  const std::array<void*, 3> addresses = {&value, &value, &value};
  for (auto _ : state) {
    state.PauseTiming();
    device.synchronize(*stream);
    alignas(8) uint64_t flag = 0;
    device.waitFlag(*stream, &flag, 1);
    state.ResumeTiming();
    for (int64_t i = 0; i < kSteps; ++i) device.launch(*stream, work, addresses);
    state.PauseTiming();
    std::atomic_ref(flag).store(1);
    device.synchronize(*stream);
    state.ResumeTiming();
  }
  setPerStep(state, kSteps);
}
BENCHMARK(enqueueOneStream)->UseRealTime();

// The running side alone: all steps are there before the first runs.
void drainOneStream(benchmark::State& state) {
  constexpr int64_t kDrained = 20 * kSteps;  // so that waking the worker does not count
  CpuDevice device({.ring_bytes = 1 << 21});
  const auto stream = device.createStream();
  const Trivial work;
  int64_t value = 0;
  const std::array<void*, 3> addresses = {&value, &value, &value};
  for (auto _ : state) {
    state.PauseTiming();
    alignas(8) uint64_t flag = 0;
    device.waitFlag(*stream, &flag, 1);
    for (int64_t i = 0; i < kDrained; ++i) device.launch(*stream, work, addresses);
    state.ResumeTiming();
    std::atomic_ref(flag).store(1);
    device.synchronize(*stream);
  }
  setPerStep(state, kDrained);
}
BENCHMARK(drainOneStream)->UseRealTime();

// Rounds over four streams: each takes its turn of `per_turn` steps, then the next stream waits for it.
void launchFourStreamsWithEvents(benchmark::State& state) {
  const int64_t per_turn = state.range(0);
  CpuDevice device;
  std::vector<std::shared_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Event>> events;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(device.createStream());
    events.push_back(device.createEvent());
  }
  const Trivial work;
  int64_t value = 0;
  const std::array<void*, 3> addresses = {&value, &value, &value};
  for (auto _ : state) {
    size_t turn = 0;
    for (int64_t i = 0; i < kSteps; i += per_turn) {
      for (int64_t j = 0; j < per_turn; ++j) device.launch(*streams[turn], work, addresses);
      device.record(*events[turn], *streams[turn]);
      const size_t next = (turn + 1) % 4;
      device.wait(*streams[next], *events[turn]);
      turn = next;
    }
    for (const auto& stream : streams) device.synchronize(*stream);
  }
  setPerStep(state, kSteps);
}
BENCHMARK(launchFourStreamsWithEvents)->Arg(1)->Arg(10)->Arg(100)->UseRealTime();

// The shape of a streamed loop: four streams wait for the caller's, work by themselves, and are waited for.
void forkAndJoinFourStreams(benchmark::State& state) {
  CpuDevice device;
  std::vector<std::shared_ptr<Stream>> streams;
  for (int i = 0; i < 5; ++i) streams.push_back(device.createStream());
  const auto event = device.createEvent();
  const Trivial work;
  std::array<int64_t, 64> values = {};
  for (auto _ : state) {
    device.record(*event, *streams[4]);
    for (size_t s = 0; s < 4; ++s) device.wait(*streams[s], *event);
    for (int64_t i = 0; i < kSteps; ++i) {
      const auto s = static_cast<size_t>(i % 4);
      const std::array<void*, 3> addresses = {&values[16 * s], &values[16 * s], &values[16 * s]};
      device.launch(*streams[s], work, addresses);
    }
    for (size_t s = 0; s < 4; ++s) {
      device.record(*event, *streams[s]);
      device.wait(*streams[4], *event);
    }
    device.synchronize(*streams[4]);
  }
  setPerStep(state, kSteps);
}
BENCHMARK(forkAndJoinFourStreams)->UseRealTime();

void callbackRoundTrip(benchmark::State& state) {
  CpuDevice device;
  const auto stream = device.createStream();
  for (auto _ : state) {
    device.callback(*stream, [] {});
    device.synchronize(*stream);
  }
}
BENCHMARK(callbackRoundTrip)->UseRealTime();

void allocateAndRelease(benchmark::State& state) {
  CpuDevice device;
  const auto stream = device.createStream();
  for (auto _ : state) {
    void* const memory = device.allocate(1 << 20, MemoryKind::Device, *stream);
    device.release(memory, 1 << 20, MemoryKind::Device, *stream);
  }
}
BENCHMARK(allocateAndRelease);

class Shared final : public CpuWork {
 public:
  void run(void* const* /*addresses*/, BlockPool& pool) const override {
    pool.parallelFor(16, [](int64_t block) { benchmark::DoNotOptimize(block); });
  }
};

void launchSharedOutBlocks(benchmark::State& state) {
  CpuDevice device;
  const auto stream = device.createStream();
  const Shared work;
  for (auto _ : state) {
    for (int64_t i = 0; i < kSteps; ++i) device.launch(*stream, work, {});
    device.synchronize(*stream);
  }
  setPerStep(state, kSteps);
}
BENCHMARK(launchSharedOutBlocks)->UseRealTime();

}  // namespace

}  // namespace tokamak
