#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/cpu/work_ring.h"

namespace tokamak {

namespace {

constexpr size_t kNumberOffset = 8;  // behind the record's own size

uint64_t numberOf(const std::byte* record) {
  uint64_t number = 0;
  std::memcpy(&number, record + kNumberOffset, sizeof(number));
  return number;
}

void setNumber(std::byte* record, uint64_t number) { std::memcpy(record + kNumberOffset, &number, sizeof(number)); }

TEST(WorkRing, RecordsComeOutInOrderAndPositionsCountThem) {
  WorkRing ring(256);
  for (uint64_t i = 0; i < 3; ++i) {
    setNumber(ring.tryReserve(32), i);
    ring.publish();
  }
  EXPECT_EQ(ring.end(), 96U);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(ring.isDone(32 * (i + 1)));
    std::byte* const record = ring.waitForRecord();
    EXPECT_EQ(numberOf(record), i);
    EXPECT_EQ(ring.runPosition(), 32 * i);
    EXPECT_EQ(ring.placeBefore(32 * (i + 1), 32), record);
    ring.finish();
    EXPECT_TRUE(ring.isDone(32 * (i + 1)));
  }
}

TEST(WorkRing, AFullRingSaysWhenThereIsRoom) {
  WorkRing ring(128);
  for (int i = 0; i < 4; ++i) {
    ASSERT_NE(ring.tryReserve(32), nullptr);
    ring.publish();
  }
  EXPECT_EQ(ring.tryReserve(48), nullptr);
  EXPECT_EQ(ring.roomPosition(), 48U);
  EXPECT_EQ(ring.tryReserve(32), nullptr);
  EXPECT_EQ(ring.roomPosition(), 32U);
  ring.waitForRecord();
  ring.finish();
  EXPECT_NE(ring.tryReserve(32), nullptr);
}

TEST(WorkRing, ARecordIsNeverSplitAtTheEnd) {
  WorkRing ring(128);
  for (uint64_t i = 0; i < 1000; ++i) {
    const auto bytes = static_cast<uint32_t>(16 * (1 + i % 4));
    std::byte* const place = ring.tryReserve(bytes);
    ASSERT_NE(place, nullptr);
    std::memset(place + sizeof(RingRecord), 0xAB, bytes - sizeof(RingRecord));
    setNumber(place, i);
    ring.publish();
    ASSERT_EQ(numberOf(ring.waitForRecord()), i);
    ring.finish();
    ASSERT_TRUE(ring.isDone(ring.end()));
  }
}

TEST(WorkRing, AClosedRingGivesItsRestAndThenNothing) {
  WorkRing ring(128);
  setNumber(ring.tryReserve(16), 5);
  ring.publish();
  ring.close();
  EXPECT_EQ(numberOf(ring.waitForRecord()), 5U);
  ring.finish();
  EXPECT_EQ(ring.waitForRecord(), nullptr);
}

// Both sides fall asleep again and again: the producer on a full ring, the consumer on an empty one, a third on
// positions.
TEST(WorkRing, NobodyOversleeps) {
  WorkRing ring(128);
  constexpr uint64_t kCount = 20000;
  std::jthread consumer([&] {
    for (uint64_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(numberOf(ring.waitForRecord()), i);
      if (i % 512 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
      ring.finish();
    }
  });
  std::jthread watcher([&] {
    for (uint64_t position = 0; position < kCount * 16; position += 4096) {
      ring.waitDone(position);
      EXPECT_TRUE(ring.isDone(position));
    }
  });
  for (uint64_t i = 0; i < kCount; ++i) {
    std::byte* place = nullptr;
    while ((place = ring.tryReserve(16 * (1 + i % 2))) == nullptr) ring.waitDone(ring.roomPosition());
    setNumber(place, i);
    ring.publish();
    if (i % 777 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  ring.waitDone(ring.end());
}

TEST(WorkRing, CapacitiesThatAreNoPowerOfTwoAreRefused) { EXPECT_THROW(WorkRing(100), Error); }

}  // namespace

}  // namespace tokamak
