// Places in one piece of memory: who may share bytes, and what a loop's iterations take.
#include "host/plan/arena_layout.h"

#include <chrono>

#include <gtest/gtest.h>

namespace tokamak {
namespace {

// In use on stream 0 of two, after its step `start` up to its step `last`.
ArenaItem onCaller(int32_t start, int32_t last, int64_t bytes) {
  return {.start = {start, 0}, .last = {last, 0}, .bytes = bytes};
}

bool overlap(const ArenaLayout& layout, const std::vector<ArenaItem>& items, size_t a, size_t b) {
  return layout.offsets[a] < layout.offsets[b] + items[b].bytes &&
         layout.offsets[b] < layout.offsets[a] + items[a].bytes;
}

TEST(ArenaLayout, SharesBytesWhereUsesAreOrderedAndNowhereElse) {
  const std::vector<ArenaItem> items = {onCaller(1, 3, 256), onCaller(2, 4, 256), onCaller(3, 5, 256)};
  const ArenaLayout layout = layOut(items);
  EXPECT_EQ(layout.bytes, 512);
  EXPECT_TRUE(overlap(layout, items, 0, 2));
  EXPECT_FALSE(overlap(layout, items, 0, 1));
  EXPECT_FALSE(overlap(layout, items, 1, 2));
}

TEST(ArenaLayout, OffsetsAreMultiplesOf256) {
  const ArenaLayout layout = layOut(std::vector{onCaller(1, 3, 1), onCaller(1, 3, 257), onCaller(1, 3, 0)});
  EXPECT_EQ(layout.bytes, 256 + 512 + 256);
  for (const int64_t offset : layout.offsets) EXPECT_EQ(offset % 256, 0);
}

// A worker's buffer before a join, the caller's behind it: the worker's bytes serve again. Without the join they do
// not.
TEST(ArenaLayout, FollowsJoins) {
  const ArenaItem worker{.start = {1, 0}, .last = {0, 2}, .bytes = 512};
  EXPECT_EQ(layOut(std::vector{worker, ArenaItem{.start = {1, 2}, .last = {3, 0}, .bytes = 512}}).bytes, 512);
  EXPECT_EQ(layOut(std::vector{worker, ArenaItem{.start = {1, 1}, .last = {3, 0}, .bytes = 512}}).bytes, 1024);
}

// What a long block leaves free for a time is used by others: T1 .. T3 one after the other, and a buffer of two streams
// behind them.
TEST(ArenaLayout, UsesWhatABlockLeavesFree) {
  const std::vector<ArenaItem> items = {onCaller(1, 3, 1024), onCaller(2, 4, 1024), onCaller(3, 5, 1024),
                                        ArenaItem{.start = {4, 0}, .last = {6, 2}, .bytes = 1024}};
  EXPECT_EQ(layOut(items).bytes, 2048);
}

// Two buffers live in each of 20,000 iterations on four workers: eight, in no time.
TEST(ArenaLayout, OfALoopIsThatOfOneIterationPerStream) {
  constexpr int32_t kWorkers = 4;
  constexpr int32_t kIterations = 20000;
  std::vector<ArenaItem> items;
  for (int32_t i = 0; i < kIterations; ++i) {
    const auto s = static_cast<size_t>(1 + i % kWorkers);
    const int32_t step = i / kWorkers * 3;
    for (const int32_t op : {0, 1, 2}) {
      ArenaItem item{.start = DoneCounts(kWorkers + 1, 0), .last = DoneCounts(kWorkers + 1, 0), .bytes = 4096};
      item.start[0] = 1;
      item.start[s] = step + op;
      item.last[s] = std::min(step + op + 2, step + 3);
      items.push_back(std::move(item));
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(layOut(items).bytes, 2 * kWorkers * 4096);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace tokamak
