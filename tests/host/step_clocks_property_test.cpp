// Dropping waits and placing buffers on random lists of steps: the order of the work stays, no wait is too many, and
// bytes are shared only by buffers that are used one after the other.
#include <cstdio>
#include <random>

#include <gtest/gtest.h>

#include "host/check/checker.h"
#include "host/plan/place_buffers.h"
#include "host/plan/step_clocks.h"
#include "host/race_judge.h"
#include "host/sanitized_share.h"
#include "host/step_closure.h"
#include "host/step_list_generator.h"

namespace tokamak {
namespace {

constexpr int64_t kPrograms = 3000 / kShare;

StepList drawList(int64_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed) + 3'000'000U);
  if (seed % 3 == 0) return smallProgram(random);
  return seed % 3 == 1 ? loweredProgram(random) : synchronisedProgram(random);
}

TEST(StepClocks, DroppingImpliedWaitsKeepsTheOrderAndNoWaitTooMany) {
  int64_t lists = 0;
  int64_t before = 0;
  int64_t after = 0;
  for (int64_t seed = 0; seed < kPrograms; ++seed) {
    const StepList list = drawList(seed);
    if (hasCommunications(list)) continue;
    const StepList dropped = dropImpliedWaits(list);
    ASSERT_EQ(problemOfDroppedWaits(list, dropped), "") << "seed " << seed << "\n"
                                                        << describe(list) << "gives\n"
                                                        << describe(dropped);
    ++lists;
    before += countWaits(list);
    after += countWaits(dropped);
  }
  std::printf("%lld lists, %lld waits, %lld kept\n", static_cast<long long>(lists), static_cast<long long>(before),
              static_cast<long long>(after));
  EXPECT_GT(lists, kPrograms / 5);
  EXPECT_LT(after, before);
}

TEST(StepClocks, BuffersShareBytesOnlyWhenUsedOneAfterTheOther) {
  int64_t lists = 0;
  int64_t sharing = 0;
  for (int64_t seed = 0; seed < kPrograms; ++seed) {
    const StepList list = drawList(seed);
    if (hasCommunications(list) || !checkStepList(list).empty()) continue;
    const StepList dropped = dropImpliedWaits(list);
    const StepList placed = placeBuffers(dropped);
    ASSERT_EQ(problemOfPlaces(dropped, placed), "") << "seed " << seed << "\n"
                                                    << describe(dropped) << "gives\n"
                                                    << describe(placed);
    ASSERT_TRUE(checkStepList(placed).empty()) << "seed " << seed << "\n"
                                               << describe(dropped) << "gives\n"
                                               << describe(placed);
    ++lists;
    int64_t bytes = 0;
    for (const StepBuffer& buffer : list.buffers) {
      if (buffer.origin == StepBuffer::Origin::Intermediate)
        bytes += (std::max<int64_t>(buffer.bytes, 1) + 255) / 256 * 256;
    }
    sharing += arenaBytes(placed) < bytes ? 1 : 0;
  }
  std::printf("%lld lists, in %lld of them buffers share bytes\n", static_cast<long long>(lists),
              static_cast<long long>(sharing));
  EXPECT_GT(sharing, 0);
}

}  // namespace
}  // namespace tokamak
