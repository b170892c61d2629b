// Copies from the host's memory on a stream of their own: what uses the same bytes stays ordered, and a copy waits for
// no more than that and its place.
#include <cstdio>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "host/check/checker.h"
#include "host/check/step_uses.h"
#include "host/plan/copy_ahead.h"
#include "host/plan/place_buffers.h"
#include "host/plan/step_clocks.h"
#include "host/race_judge.h"
#include "host/sanitized_share.h"
#include "host/step_closure.h"
#include "host/step_list_builder.h"
#include "host/step_list_generator.h"

namespace tokamak {
namespace {

constexpr int64_t kCopyPrograms = 3000 / kShare;
constexpr int64_t kBytes = 1024;

// Blocks of rows are copied in, go through two works, and are copied out, on workers in turn.
struct Pipeline {
  StepListBuilder builder;
  std::vector<size_t> copies_in;
  std::vector<size_t> first_works;
  std::vector<size_t> copies_out;
};

Pipeline pipelineOf(int32_t workers, int32_t blocks) {
  Pipeline made{StepListBuilder(workers + 1), {}, {}, {}};
  StepListBuilder& b = made.builder;
  const int32_t in = b.input(kBytes * blocks);
  const int32_t out = b.output(kBytes * blocks);
  b.list.buffers[0].kind = MemoryKind::Pinned;
  b.list.buffers[1].kind = MemoryKind::Pinned;
  for (int32_t worker = 1; worker <= workers; ++worker) b.synchronise(worker, 0);
  const auto intermediate = [&](int32_t stream, const char* name) {
    const int32_t buffer = b.intermediate(kBytes);
    b.list.buffers.back().name = name;
    b.allocate(stream, buffer);
    return buffer;
  };
  for (int32_t block = 0; block < blocks; ++block) {
    const int32_t stream = block % workers + 1;
    const int32_t rows = intermediate(stream, "rows");
    made.copies_in.push_back(
        static_cast<size_t>(b.work(stream, {readOf(in, block * kBytes, kBytes), b.whole(rows, writeOf)}, "copy in")));
    const int32_t hidden = intermediate(stream, "hidden");
    made.first_works.push_back(
        static_cast<size_t>(b.work(stream, {b.whole(rows, readOf), b.whole(hidden, writeOf)}, "first")));
    b.release(stream, rows);
    const int32_t result = intermediate(stream, "result");
    b.work(stream, {b.whole(hidden, readOf), b.whole(result, writeOf)}, "second");
    b.release(stream, hidden);
    made.copies_out.push_back(static_cast<size_t>(
        b.work(stream, {b.whole(result, readOf), writeOf(out, block * kBytes, kBytes)}, "copy out")));
    b.release(stream, result);
  }
  for (int32_t worker = 1; worker <= workers; ++worker) b.synchronise(0, worker);
  return made;
}

// The steps of a list that are neither records nor waits, with what is done before each.
struct Ordered {
  std::vector<Step> steps;
  std::vector<DoneCounts> before;
  std::vector<int32_t> position;
};

Ordered orderedSteps(const StepList& list) {
  const StepClocks clocks = computeClocks(list);
  Ordered result;
  for (size_t i = 0; i < list.steps.size(); ++i) {
    if (list.steps[i].kind == StepKind::Record || list.steps[i].kind == StepKind::Wait) continue;
    result.steps.push_back(list.steps[i]);
    result.before.push_back(clocks.before[i]);
    result.position.push_back(clocks.position[i]);
  }
  return result;
}

// Index among the steps that are no records and no waits.
size_t indexOf(const StepList& list, size_t step) {
  size_t index = 0;
  for (size_t i = 0; i < step; ++i)
    index += list.steps[i].kind != StepKind::Record && list.steps[i].kind != StepKind::Wait ? 1 : 0;
  return index;
}

// As plans have it.
StepList placed(const StepList& list) { return placeBuffers(dropImpliedWaits(list)); }

bool isBefore(const Ordered& list, size_t first, size_t second) {
  return list.before[second][static_cast<size_t>(list.steps[first].stream)] >= list.position[first];
}

TEST(CopyAhead, WaitsForTheReaderOfItsPlaceAndNotForTheCopyOut) {
  const int32_t workers = 3;
  const Pipeline pipeline = pipelineOf(workers, 12);
  const StepList& list = pipeline.builder.list;
  ASSERT_TRUE(checkStepList(list).empty());
  const StepList ahead = copyAhead(list);
  EXPECT_TRUE(checkStepList(placed(ahead)).empty()) << describe(ahead);
  const Ordered ordered = orderedSteps(ahead);
  for (size_t block = 0; block < pipeline.copies_in.size(); ++block) {
    const size_t copy = indexOf(list, pipeline.copies_in[block]);
    ASSERT_EQ(ordered.steps[copy].text, "copy in");
    EXPECT_EQ(ordered.steps[copy].stream, list.steps[pipeline.copies_in[block]].stream + workers);
    EXPECT_TRUE(isBefore(ordered, copy, indexOf(list, pipeline.first_works[block])));
    if (block < static_cast<size_t>(workers)) continue;
    const size_t last = block - static_cast<size_t>(workers);
    EXPECT_TRUE(isBefore(ordered, indexOf(list, pipeline.first_works[last]), copy));
    EXPECT_FALSE(isBefore(ordered, indexOf(list, pipeline.copies_out[last]), copy));
  }
}

TEST(CopyAhead, NeedsRoomForTheBlocksInFlightOnly) {
  const auto arenaOf = [](int32_t blocks) { return arenaBytes(placed(copyAhead(pipelineOf(4, blocks).builder.list))); };
  EXPECT_EQ(arenaOf(16), arenaOf(200));
  EXPECT_LE(arenaOf(200), 4 * 3 * kBytes);
}

TEST(CopyAhead, LeavesAloneWhatHasNothingToGain) {
  const auto isSame = [](const StepList& list) { return copyAhead(list).stream_count == list.stream_count; };
  EXPECT_TRUE(isSame(pipelineOf(2, 2).builder.list));  // one copy per worker
  StepListBuilder of_caller;                           // no worker
  const int32_t in = of_caller.input(kBytes);
  const int32_t out = of_caller.output(kBytes);
  of_caller.list.buffers[0].kind = MemoryKind::Pinned;
  for (int i = 0; i < 3; ++i) of_caller.work(0, {of_caller.whole(in, readOf), of_caller.whole(out, writeOf)});
  EXPECT_TRUE(isSame(of_caller.list));
  StepList on_device = pipelineOf(2, 8).builder.list;  // kernels
  for (StepBuffer& buffer : on_device.buffers) buffer.kind = MemoryKind::Device;
  EXPECT_TRUE(isSame(on_device));
}

// Allocate and Release steps order nothing.
StepList withoutLives(StepList list) {
  std::erase_if(list.steps, [](const Step& step) { return isMemoryKind(step.kind); });
  return list;
}

// Most inputs in the host's memory, so that steps which read nothing else are copies.
StepList drawCopies(int64_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed) + 4'000'000U);
  StepList list = seed % 2 == 0 ? loweredProgram(random) : synchronisedProgram(random);
  for (StepBuffer& buffer : list.buffers) {
    const bool is_input = buffer.origin == StepBuffer::Origin::Input;
    if (random() % 8 < (is_input ? 6U : 1U)) buffer.kind = MemoryKind::Pinned;
  }
  return list;
}

TEST(CopyAhead, RandomListsStayFreeOfRaces) {
  int64_t lists = 0;
  int64_t copies = 0;
  for (int64_t seed = 0; seed < kCopyPrograms; ++seed) {
    const StepList list = drawCopies(seed);
    if (hasCommunications(list) || !checkStepList(list).empty()) continue;
    const StepList ahead = copyAhead(list);
    if (ahead.stream_count == list.stream_count) continue;
    const auto text = [&] { return describe(list) + "gives\n" + describe(ahead); };
    ASSERT_TRUE(racesByClosure(withoutLives(ahead)).empty()) << "seed " << seed << "\n" << text();
    ASSERT_TRUE(checkStepList(placed(ahead)).empty()) << "seed " << seed << "\n" << text();
    const Ordered before = orderedSteps(list);
    const Ordered after = orderedSteps(ahead);
    ASSERT_EQ(before.steps.size(), after.steps.size()) << "seed " << seed;
    for (size_t i = 0; i < before.steps.size(); ++i) {
      const bool is_moved = after.steps[i].stream >= list.stream_count;
      ASSERT_TRUE(is_moved || after.steps[i].stream == before.steps[i].stream) << "seed " << seed;
      ASSERT_EQ(after.steps[i].text, before.steps[i].text) << "seed " << seed;
      copies += is_moved ? 1 : 0;
    }
    ++lists;
  }
  std::printf("%lld lists, %lld copies ahead\n", static_cast<long long>(lists), static_cast<long long>(copies));
  EXPECT_GT(lists, kCopyPrograms / 40);
}

}  // namespace
}  // namespace tokamak
