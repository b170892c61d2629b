// Races among many slices of one buffer: found all, as pair by pair, and in a time that grows with the slices and not
// with their pairs.
#include <algorithm>
#include <array>
#include <random>

#include <gtest/gtest.h>

#include "host/check/checker.h"
#include "host/check/use_index.h"
#include "host/race_judge.h"
#include "host/sanitized_share.h"
#include "host/step_list_builder.h"
#include "host/step_list_generator.h"

namespace tokamak {

namespace {

constexpr int64_t kElement = 4;

// A slice of a tensor of shape [planes, rows, columns]: of each axis one index, a range, or all of it; sometimes none
// of these.
Access randomSlice(std::mt19937& random, int32_t buffer, const std::array<int64_t, 3>& shape) {
  const auto draw = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random); };
  Access access = draw(2) == 0 ? writeOf(buffer, 0, kElement) : readOf(buffer, 0, kElement);
  int64_t stride = kElement;
  for (size_t axis = shape.size(); axis-- > 0;) {
    const int64_t size = shape[axis];
    const int64_t form = draw(5);
    const int64_t first = form == 0 ? 0 : draw(size - 1);
    const int64_t step = form == 4 ? 2 : 1;
    const int64_t count = form == 0 ? size : form < 3 ? 1 : draw((size - 1 - first) / step) + 1;
    access.offset += first * stride;
    if (count > 1) access.dims.push_back({count, step * stride});
    stride *= size;
  }
  return access;
}

StepPairs racesIn(const StepList& list) {
  StepPairs races;
  for (const RaceReport& report : checkStepList(list, {.report_limit = 10'000'000})) {
    if (report.kind == RaceReport::Kind::Race) races.insert({report.first, report.second});
  }
  return races;
}

// Slices of one tensor on several streams, which wait for one another now and then.
StepList programOfSlices(std::mt19937& random, int64_t steps) {
  const auto draw = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random); };
  StepListBuilder builder(4);
  const std::array<int64_t, 3> shape = {draw(4) + 1, draw(8) + 1, draw(8) + 1};  // the judge takes 2 KiB
  const int32_t buffer = builder.input(shape[0] * shape[1] * shape[2] * kElement);
  for (int32_t stream = 1; stream < 4; ++stream) builder.synchronise(stream, 0);
  const int64_t rarity = draw(30) + 1;
  for (int64_t i = 0; i < steps; ++i) {
    const auto stream = static_cast<int32_t>(draw(3));
    if (draw(rarity) == 0) {
      builder.synchronise(stream, static_cast<int32_t>(draw(3)));
    } else if (draw(20) == 0) {
      const int32_t event = builder.event();
      builder.post(stream, event, {randomSlice(random, buffer, shape)});
      if (draw(1) == 0) builder.join(static_cast<int32_t>(draw(3)), event);
    } else {
      builder.work(stream, {randomSlice(random, buffer, shape)});
    }
  }
  return builder.list;
}

TEST(UseIndex, FindsTheRacesOfEveryPairOfSlices) {
  constexpr int64_t kRandomPrograms = 120 / kShare;
  size_t races = 0;
  for (int64_t seed = 0; seed < kRandomPrograms; ++seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    const StepList list = programOfSlices(random, seed % 4 == 0 ? 300 : 60);
    const StepPairs expected = racesByClosure(list);
    ASSERT_EQ(racesIn(list), expected) << "seed " << seed << "\n" << describe(list);
    races += expected.size();
  }
  EXPECT_GT(races, 1000U);
}

// The nodes of the index that a check of all steps looks at.
size_t nodesLookedAt(const StepList& list) {
  const StepUses uses(list);
  StepOrder order(list);
  UseIndex past(list, uses);
  size_t nodes = 0;
  const auto take = [&](std::span<const StepUse> of_step, StepPoint at) {
    const auto race = [](const StepUse& use) { ADD_FAILURE() << "step " << use.step << " races"; };
    for (const StepUse& use : of_step) {
      nodes += past.forEachUnordered(order, use, AccessMode::Write, race);
      if (use.mode == AccessMode::Write) nodes += past.forEachUnordered(order, use, AccessMode::Read, race);
    }
    for (const StepUse& use : of_step) past.add(use, at);
  };
  for (const StepUse& use : uses.entry()) past.add(use, StepOrder::entry());
  for (size_t step = 0; step < list.steps.size(); ++step) {
    const StepPoint at = order.take(list.steps[step]);
    take(uses.of(step), at);
  }
  return nodes;
}

int64_t sideOf(int64_t n) {
  int64_t side = 1;
  while (side * side < n) ++side;
  return side;
}

using SliceOf = Access (*)(int64_t i, int64_t n, int32_t buffer);

// n iterations, dealt out to three streams, write a slice each and read it again.
StepList streamedLoop(int64_t n, SliceOf slice) {
  StepListBuilder builder(4);
  const int32_t buffer = builder.output(16 * n * kElement);
  for (int32_t stream = 1; stream < 4; ++stream) builder.synchronise(stream, 0);
  for (int64_t i = 0; i < n; ++i) {
    const auto stream = static_cast<int32_t>(i % 3 + 1);
    Access access = slice(i, n, buffer);
    access.is_write = true;
    builder.work(stream, {access});
    access.is_write = false;
    builder.work(stream, {access});
  }
  for (int32_t stream = 1; stream < 4; ++stream) builder.synchronise(0, stream);
  return builder.list;
}

TEST(UseIndex, MakesCheckingALoopLinearInItsIterations) {
  // Of a tensor [16, n], [n, 16], [s, 16, s] or [16 s, s] with s * s = n.
  const std::pair<const char*, SliceOf> loops[] = {
      {"rows", [](int64_t i, int64_t, int32_t b) { return writeOf(b, 16 * i * kElement, 16 * kElement); }},
      {"columns",
       [](int64_t i, int64_t n, int32_t b) { return writeOf(b, i * kElement, kElement, {{16, n * kElement}}); }},
      {"outer and inner axis",
       [](int64_t i, int64_t n, int32_t b) {
         const int64_t side = sideOf(n);
         return writeOf(b, (i / side * 16 * side + i % side) * kElement, kElement, {{16, side * kElement}});
       }},
      {"elements in turned order",
       [](int64_t i, int64_t n, int32_t b) {
         const int64_t side = sideOf(n);
         return writeOf(b, (i % side * side + i / side) * kElement, kElement);
       }},
      {"halves that interleave", [](int64_t i, int64_t n, int32_t b) {
         return writeOf(b, (i % 2 + i / 2 * 2) * kElement, kElement, {{8, 2 * n * kElement}});
       }}};
  constexpr int64_t kMost = 16384;
  for (const auto& [name, slice] : loops) {
    EXPECT_TRUE(checkStepList(streamedLoop(kMost, slice)).empty()) << name;
    const size_t quarter = nodesLookedAt(streamedLoop(kMost / 4, slice));
    EXPECT_GT(quarter, static_cast<size_t>(kMost / 4)) << name;
    const double growth = static_cast<double>(nodesLookedAt(streamedLoop(kMost, slice))) / static_cast<double>(quarter);
    EXPECT_LT(growth, 5.3) << name << ": 4 x as many iterations; 4^1.2 is 5.3";
  }
}

}  // namespace

}  // namespace tokamak
