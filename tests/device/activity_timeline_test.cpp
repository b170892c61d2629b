// Waits, and what overlaps, in timelines whose work has the GPU's own times.
#include "runtime/cuda/activity_timeline.h"
#include "device/work.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tokamak {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = StreamEntry::Kind;

class Listener final : public TraceObserver {
 public:
  void span(int64_t track, std::string_view name, int64_t begin_ns, int64_t end_ns) noexcept override {
    told.push_back(fmt::format("{} {} {}-{}", track, name, begin_ns, end_ns));
  }
  void flowBegin(int64_t track, uint64_t flow, int64_t at_ns) noexcept override {
    told.push_back(fmt::format("{} point {} at {}", track, flow, at_ns));
  }
  void flowEnd(int64_t track, uint64_t flow, int64_t at_ns) noexcept override {
    told.push_back(fmt::format("{} waited for {} at {}", track, flow, at_ns));
  }
  void nameTrack(int64_t /*track*/, std::string_view /*name*/) noexcept override {}

  std::vector<std::string> told;
};

StreamEntry work(int64_t track, uint64_t label) {
  return {.kind = Kind::Work, .track = track, .name = fmt::format("work {}", label), .label = label};
}
StreamEntry point(int64_t track, uint64_t flow) { return {.kind = Kind::Point, .track = track, .flow = flow}; }
StreamEntry wait(int64_t track, uint64_t flow, int64_t issued_ns) {
  return {.kind = Kind::Wait, .track = track, .name = "wait", .flow = flow, .issued_ns = issued_ns};
}

std::vector<std::string> told(const std::vector<StreamEntry>& entries, const std::vector<GpuActivity>& activities) {
  Listener listener;
  ActivityTimeline().tell(entries, activities, listener);
  return listener.told;
}

TEST(ActivityTimeline, WorkHasTheTimesOfTheGpuInTheOrderOfTheStream) {
  EXPECT_THAT(told({work(0, 1), work(1, 2)}, {{2, 15, 30}, {1, 10, 20}}),
              ElementsAre("0 work 1 10-20", "1 work 2 15-30"));
}

TEST(ActivityTimeline, SeveralKernelsOfOneWorkAreSpansOfItsName) {
  EXPECT_THAT(told({work(0, 1)}, {{1, 25, 30}, {1, 10, 20}}), ElementsAre("0 work 1 10-20", "0 work 1 25-30"));
}

TEST(ActivityTimeline, WorkThatRanNothingIsNoSpan) { EXPECT_THAT(told({work(0, 1)}, {}), IsEmpty()); }

TEST(ActivityTimeline, AWaitLastsFromWhatStoodBeforeItToThePoint) {
  EXPECT_THAT(
      told({work(0, 1), point(0, 7), work(1, 2), wait(1, 7, 5), work(1, 3)}, {{1, 10, 50}, {2, 10, 20}, {3, 52, 60}}),
      ElementsAre("0 work 1 10-50", "0 point 7 at 50", "1 work 2 10-20", "1 wait 20-50", "1 waited for 7 at 50",
                  "1 work 3 52-60"));
}

TEST(ActivityTimeline, AWaitDoesNotBeginBeforeItWasIssued) {
  EXPECT_THAT(
      told({work(0, 1), point(0, 7), work(1, 2), wait(1, 7, 40)}, {{1, 10, 50}, {2, 10, 20}}),
      ElementsAre("0 work 1 10-50", "0 point 7 at 50", "1 work 2 10-20", "1 wait 40-50", "1 waited for 7 at 50"));
}

TEST(ActivityTimeline, AWaitForAPointThatIsReachedTakesNoTimeAndEndsBeforeTheNextWork) {
  EXPECT_THAT(
      told({work(0, 1), point(0, 7), wait(1, 7, 90), work(1, 2)}, {{1, 10, 50}, {2, 80, 95}}),
      ElementsAre("0 work 1 10-50", "0 point 7 at 50", "1 wait 80-80", "1 waited for 7 at 80", "1 work 2 80-95"));
}

TEST(ActivityTimeline, APointBehindAWaitIsReachedWithIt) {
  EXPECT_THAT(
      told({work(0, 1), point(0, 7), wait(1, 7, 5), point(1, 8)}, {{1, 10, 50}}),
      ElementsAre("0 work 1 10-50", "0 point 7 at 50", "1 wait 5-50", "1 waited for 7 at 50", "1 point 8 at 50"));
}

TEST(ActivityTimeline, NobodyWaitsForAPointBehindNoWork) {
  EXPECT_THAT(told({point(0, 7), wait(1, 7, 5), work(1, 2)}, {{2, 10, 20}}), ElementsAre("1 work 2 10-20"));
}

TEST(ActivityTimeline, AKernelThatStartsEarlyIsShownFromTheEndOfThePreviousOne) {
  EXPECT_THAT(told({work(0, 1), work(0, 2)}, {{1, 10, 20}, {2, 18, 30}}),
              ElementsAre("0 work 1 10-20", "0 work 2 20-30"));
}

TEST(ActivityTimeline, PointsOfEarlierReportsAreWaitedForInLaterOnes) {
  Listener listener;
  ActivityTimeline timeline;
  timeline.tell(std::vector{work(0, 1), point(0, 7)}, {{1, 10, 50}}, listener);
  listener.told.clear();
  timeline.tell(std::vector{wait(1, 7, 5)}, {}, listener);
  EXPECT_THAT(listener.told, ElementsAre("1 wait 5-50", "1 waited for 7 at 50"));
}

}  // namespace

}  // namespace tokamak
