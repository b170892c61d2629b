// The arena against a source and clocks that the test drives.
#include <cstdlib>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/arena.h"

namespace tokamak {

namespace {

class TestSource final : public MemorySource {
 public:
  void* allocate(int64_t bytes, MemoryKind /*kind*/) override {
    if (held_ + bytes > most_) return nullptr;
    held_ += bytes;
    return std::aligned_alloc(256, static_cast<size_t>(bytes));
  }
  void release(void* address, int64_t bytes, MemoryKind /*kind*/) override {
    held_ -= bytes;
    std::free(address);
  }
  int64_t held_ = 0;
  int64_t most_ = int64_t{1} << 40;
};

class TestClock final : public StreamClock {
 public:
  explicit TestClock(int64_t index) : index_(index) {}
  int64_t index() const override { return index_; }
  bool isDone(uint64_t point) const override { return point <= done_; }
  bool waitDone(uint64_t point) override {
    if (!can_wait_) return false;
    done_ = std::max(done_, point);
    ++waits_;
    return true;
  }
  int64_t index_;
  uint64_t done_ = 0;
  int waits_ = 0;
  bool can_wait_ = true;
};

class ArenaTest : public testing::Test {
 protected:
  void* take(int64_t bytes, TestClock& clock) { return arena_.allocate(bytes, MemoryKind::Device, clock).address; }
  void give(void* address, int64_t bytes, TestClock& clock, uint64_t point) {
    arena_.release(address, bytes, MemoryKind::Device, clock, point);
  }
  MemoryStatistics statistics() const { return arena_.statistics(MemoryKind::Device); }

  TestSource source_;
  Arena arena_{source_, int64_t{1} << 30};
  TestClock a_{0};
  TestClock b_{1};
};

TEST_F(ArenaTest, ASizeClassWastesAtMostAnEighthAndNeverFallsShort) {
  std::map<int64_t, int64_t> reserved_for;
  for (int64_t bytes = 1; bytes < (1 << 24); bytes = bytes * 17 / 16 + 1) {
    const int64_t before = statistics().bytes_reserved;
    void* const address = take(bytes, a_);
    const int64_t block = statistics().bytes_reserved - before;
    EXPECT_GE(block, bytes);
    EXPECT_LE(block, bytes + bytes / 8 + 256) << bytes;
    reserved_for[bytes] = block;
    give(address, bytes, a_, 1);
    a_.done_ = 1;
    arena_.trim();
    a_.done_ = 0;
  }
  EXPECT_EQ(source_.held_, 0);
  EXPECT_GT(reserved_for.size(), 100U);
}

TEST_F(ArenaTest, ABlockIsReusedOnItsStreamAtOnceAndElsewhereWhenDone) {
  void* const first = take(1000, a_);
  give(first, 1000, a_, 10);
  void* const other = take(1000, b_);
  EXPECT_NE(other, first);
  a_.done_ = 10;
  const ArenaBlock moved = arena_.allocate(1000, MemoryKind::Device, b_);
  EXPECT_EQ(moved.address, first);
  EXPECT_EQ(moved.freed_on, &a_);
  EXPECT_EQ(moved.freed_at, 10U);
  give(first, 1000, a_, 20);
  const ArenaBlock own = arena_.allocate(1000, MemoryKind::Device, a_);
  EXPECT_EQ(own.address, first);
  EXPECT_EQ(own.freed_on, nullptr);
}

TEST_F(ArenaTest, KindsDoNotMix) {
  void* const device = take(1000, a_);
  give(device, 1000, a_, 1);
  EXPECT_NE(arena_.allocate(1000, MemoryKind::Host, a_).address, device);
}

TEST_F(ArenaTest, TheCacheIsGivenBackBeforeARequestFails) {
  source_.most_ = 10000;
  void* const first = take(4096, a_);
  void* const second = take(4096, b_);
  give(first, 4096, a_, 5);
  give(second, 4096, b_, 6);
  void* const large = take(8192, a_);  // fits only when both are gone, and neither is done yet
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(a_.waits_ + b_.waits_, 2);
  EXPECT_EQ(statistics().bytes_reserved, 8192);
}

TEST_F(ArenaTest, AFailedRequestChangesNothing) {
  source_.most_ = 5000;
  void* const first = take(4096, a_);
  const MemoryStatistics before = statistics();
  EXPECT_THROW(take(4096, a_), Error);
  EXPECT_EQ(statistics().bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(statistics().bytes_reserved, before.bytes_reserved);
  give(first, 4096, a_, 1);
  EXPECT_EQ(take(4096, a_), first);
}

TEST_F(ArenaTest, AStreamThatCannotBeWaitedForIsNot) {
  source_.most_ = 5000;
  give(take(4096, a_), 4096, a_, 5);
  a_.can_wait_ = false;
  EXPECT_THROW(take(1024, b_), Error);
}

TEST_F(ArenaTest, RandomUseNeverOverlapsAndNeverTakesWhatIsNotDone) {
  struct Use {
    void* address;
    int64_t bytes;
    TestClock* clock;
  };
  std::vector<Use> uses;
  std::map<void*, std::pair<TestClock*, uint64_t>> freed;
  uint64_t point = 0;
  uint32_t random = 7;
  const auto next = [&](uint32_t below) { return (random = random * 1664525U + 1013904223U) / 65536U % below; };
  for (int step = 0; step < 20000; ++step) {
    TestClock& clock = next(2) == 0 ? a_ : b_;
    if (next(4) == 0) clock.done_ = point - next(static_cast<uint32_t>(std::min<uint64_t>(point, 20)) + 1);
    if (uses.size() < 30 && next(2) == 0) {
      const auto bytes = static_cast<int64_t>(next(20000));
      void* const address = take(bytes, clock);
      for (const Use& use : uses) {
        ASSERT_TRUE(static_cast<char*>(address) + bytes <= use.address ||
                    static_cast<char*>(use.address) + use.bytes <= address);
      }
      const auto last = freed.find(address);
      if (last != freed.end() && last->second.first != &clock) {
        ASSERT_TRUE(last->second.first->isDone(last->second.second));
      }
      uses.push_back({address, bytes, &clock});
    } else if (!uses.empty()) {
      const size_t which = next(static_cast<uint32_t>(uses.size()));
      give(uses[which].address, uses[which].bytes, clock, ++point);
      freed[uses[which].address] = {&clock, point};
      uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  EXPECT_LT(statistics().system_allocations, 1500);
}

}  // namespace

}  // namespace tokamak
