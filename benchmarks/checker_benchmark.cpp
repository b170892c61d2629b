// What checking a host program costs, and one overlap question.
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "device/work.h"
#include "host/check/access_overlap.h"
#include "host/check/checker.h"

namespace tokamak {

namespace {

constexpr int32_t kWorkers = 4;
constexpr int64_t kExtent = 4096;
constexpr int64_t kElementBytes = 4;

enum class Slice : uint8_t { Rows, Columns };

// A loop over rows or columns of T3 = op(op(T0)) as the lowering streams it: allocations, hoisted waits, one join per
// iteration (four steps each), releases; about `steps` steps in all.
StepList streamedLoop(int64_t steps, Slice slice) {
  StepList list;
  list.stream_count = kWorkers + 1;
  list.event_count = kWorkers + 1;
  for (const auto origin : {StepBuffer::Origin::Input, StepBuffer::Origin::Intermediate, StepBuffer::Origin::Output}) {
    list.buffers.push_back({.origin = origin, .bytes = kExtent * kExtent * kElementBytes});
  }
  const auto add = [&](StepKind kind, int32_t stream, int32_t event, std::vector<Access> accesses) {
    Step step;
    step.kind = kind;
    step.stream = stream;
    step.event = event;
    step.accesses = std::move(accesses);
    list.steps.push_back(std::move(step));
  };
  const auto part = [&](int32_t buffer, int64_t i) {
    Access access{.buffer = buffer, .offset = i * kElementBytes, .element_bytes = kElementBytes};
    access.dims = {{kExtent, kExtent * kElementBytes}};
    if (slice == Slice::Rows) {
      access.offset *= kExtent;
      access.dims = {{kExtent, kElementBytes}};
    }
    return access;
  };
  const auto written = [](Access access) {
    access.is_write = true;
    return access;
  };
  const Access whole{.buffer = 1, .is_write = true, .element_bytes = list.buffers[1].bytes};
  add(StepKind::Allocate, 0, -1, {whole});
  add(StepKind::Record, 0, kWorkers, {});
  for (int32_t w = 0; w < kWorkers; ++w) add(StepKind::Wait, w + 1, kWorkers, {});
  for (int64_t i = 0; static_cast<int64_t>(list.steps.size()) + 4 < steps; ++i) {
    const auto worker = static_cast<int32_t>(i % kWorkers);
    add(StepKind::Work, worker + 1, -1, {part(0, i), written(part(1, i))});
    add(StepKind::Work, worker + 1, -1, {part(1, i), written(part(2, i))});
    add(StepKind::Record, worker + 1, worker, {});
    add(StepKind::Wait, 0, worker, {});
  }
  add(StepKind::Release, 0, -1, {whole});
  return list;
}

void checkStreamedLoop(benchmark::State& state, Slice slice) {
  const StepList list = streamedLoop(state.range(0), slice);
  for (auto _ : state) {
    const auto reports = checkStepList(list);
    if (!reports.empty()) state.SkipWithError(reports[0].message.c_str());
    benchmark::DoNotOptimize(reports.data());
  }
  state.counters["steps"] = static_cast<double>(list.steps.size());
}

void checkRows(benchmark::State& state) { checkStreamedLoop(state, Slice::Rows); }
void checkColumns(benchmark::State& state) { checkStreamedLoop(state, Slice::Columns); }

// A chain of 500 communications, each posted and joined, on one stream.
void checkCommunications(benchmark::State& state) {
  StepList list;
  list.event_count = static_cast<int32_t>(state.range(0) / 2);
  list.buffers.push_back({.origin = StepBuffer::Origin::Output, .bytes = kExtent});
  for (int32_t event = 0; event < list.event_count; ++event) {
    Step step;
    step.kind = StepKind::Post;
    step.event = event;
    step.accesses = {{.buffer = 0, .is_write = true, .element_bytes = kExtent}};
    list.steps.push_back(step);
    step.kind = StepKind::Join;
    step.accesses.clear();
    list.steps.push_back(step);
  }
  for (auto _ : state) {
    const auto reports = checkStepList(list);
    if (!reports.empty()) state.SkipWithError(reports[0].message.c_str());
    benchmark::DoNotOptimize(reports.data());
  }
  state.counters["steps"] = static_cast<double>(list.steps.size());
}

void listWaits(benchmark::State& state) {
  const StepList list = streamedLoop(state.range(0), Slice::Rows);
  for (auto _ : state) benchmark::DoNotOptimize(listNecessaryWaits(list).data());
  state.counters["steps"] = static_cast<double>(list.steps.size());
}

void overlap(benchmark::State& state, const Access& a, const Access& b) {
  const ByteBox first = byteBoxOf(a);
  const ByteBox second = byteBoxOf(b);
  for (auto _ : state) benchmark::DoNotOptimize(overlaps(first, second));
}

constexpr int64_t kRow = kExtent * kElementBytes;

void overlapOfColumns(benchmark::State& state) {
  overlap(state, {.offset = 0, .element_bytes = 64, .dims = {{kExtent, kRow}}},
          {.offset = 64, .element_bytes = 64, .dims = {{kExtent, kRow}}});
}

void overlapOfRowAndColumn(benchmark::State& state) {
  overlap(state, {.offset = 0, .element_bytes = 64, .dims = {{kExtent, kRow}}},
          {.offset = 7 * kRow + 64, .element_bytes = kRow - 64});
}

void overlapOfStridedTensors(benchmark::State& state) {
  const std::vector<Access::Dim> dims = {{64, 1 << 22}, {32, 1 << 16}, {16, 1 << 9}, {8, 8}};
  overlap(state, {.offset = 0, .element_bytes = 4, .dims = dims},
          {.offset = (1 << 15) + 4, .element_bytes = 4, .dims = dims});
}

void overlapOfUnrelatedStrides(benchmark::State& state) {
  overlap(state, {.offset = 0, .element_bytes = 4, .dims = {{1000, 4099}, {50, 60}}},
          {.offset = 2, .element_bytes = 1, .dims = {{1000, 4093}, {50, 64}}});
}

BENCHMARK(checkRows)->Arg(1000)->Arg(4096)->Unit(benchmark::kMillisecond);
BENCHMARK(checkColumns)->Arg(1000)->Arg(4096)->Unit(benchmark::kMillisecond);
BENCHMARK(checkCommunications)->Arg(1000)->Arg(4096)->Unit(benchmark::kMillisecond);
BENCHMARK(listWaits)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(overlapOfColumns);
BENCHMARK(overlapOfRowAndColumn);
BENCHMARK(overlapOfStridedTensors);
BENCHMARK(overlapOfUnrelatedStrides);

}  // namespace

}  // namespace tokamak
