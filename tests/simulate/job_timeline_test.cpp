// The timeline of a job: closed forms, and what holds of all jobs.
#include "simulate/job_timeline.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tokamak {
namespace {

using testing::ElementsAre;

constexpr double kError = 1e-9;

// A job that grows: each task takes one activity of its own, or a part in one that is there.
struct Builder {
  Job job = {.capacities = {1, 1}, .activities = {}, .tasks = {}};

  int32_t activity(double latency, double seconds, std::vector<ResourceUse> uses, int32_t parties = 1) {
    job.activities.push_back({latency, seconds, std::move(uses), parties});
    return static_cast<int32_t>(job.activities.size()) - 1;
  }
  int32_t task(int32_t activity, std::vector<int32_t> after = {}, std::vector<ResourceUse> holds = {}) {
    job.tasks.push_back({.after = std::move(after), .activities = {activity}, .holds = std::move(holds)});
    return static_cast<int32_t>(job.tasks.size()) - 1;
  }
  int32_t kernel(double seconds, std::vector<int32_t> after = {}, int32_t resource = 0, double share = 1) {
    return task(activity(0, seconds, {{resource, share}}), std::move(after));
  }
};

TEST(JobTimeline, OneKernelTakesItsLatencyAndItsWork) {
  Builder builder;
  builder.task(builder.activity(0.5, 2, {{0, 1}}));
  const JobTimes times = timesOf(builder.job);
  EXPECT_NEAR(times.seconds, 2.5, kError);
  EXPECT_NEAR(times.busy[0], 2, kError);
}

TEST(JobTimeline, NothingTakesNoTime) { EXPECT_EQ(timesOf({}).seconds, 0); }

TEST(JobTimeline, TasksWithoutActivitiesTakeNoTime) {
  Job job;
  job.tasks = {{.issued = 3}, {.after = {0}}};
  EXPECT_EQ(timesOf(job).seconds, 3);
}

TEST(JobTimeline, StreamsThatShareNothingRunSideBySide) {
  Builder builder;
  builder.kernel(2, {}, 0);
  builder.kernel(3, {}, 1);
  EXPECT_NEAR(timesOf(builder.job).seconds, 3, kError);
}

TEST(JobTimeline, StreamsThatFillOneResourceTakeTheSum) {
  Builder builder;
  builder.kernel(2);
  builder.kernel(3);
  const JobTimes times = timesOf(builder.job);
  EXPECT_NEAR(times.tasks[0].end, 4, kError);  // at half of the speed
  EXPECT_NEAR(times.seconds, 5, kError);
}

TEST(JobTimeline, WhoLeavesRoomSlowsNobodyDown) {
  Builder builder;
  builder.kernel(2, {}, 0, 0.5);
  builder.kernel(2, {}, 0, 0.5);
  EXPECT_NEAR(timesOf(builder.job).seconds, 2, kError);
}

// One that is slowed down by another resource leaves the rest of this one to others.
TEST(JobTimeline, WhatOneCannotUseOthersGet) {
  Builder builder;
  builder.job.capacities = {1, 1};
  builder.task(builder.activity(0, 1, {{0, 1}, {1, 1}}));
  builder.kernel(1, {}, 1);
  builder.kernel(1, {}, 1);     // resource 1 gives a third to each
  builder.kernel(2, {}, 0, 1);  // and so the other two thirds of resource 0 are this one's
  const JobTimes times = timesOf(builder.job);
  EXPECT_NEAR(times.tasks[0].end, 3, kError);
  EXPECT_NEAR(times.tasks[3].end, 3, kError);
}

TEST(JobTimeline, AMeetingStartsWithItsLastParty) {
  Builder builder;
  const int32_t short_kernel = builder.kernel(1, {}, 0);
  const int32_t long_kernel = builder.kernel(4, {}, 1);
  const int32_t meeting = builder.activity(0.25, 2, {}, 2);
  const int32_t early = builder.task(meeting, {short_kernel});
  builder.task(meeting, {long_kernel});
  const JobTimes times = timesOf(builder.job);
  EXPECT_NEAR(times.tasks[static_cast<size_t>(early)].start, 1, kError);
  EXPECT_NEAR(times.activities[static_cast<size_t>(meeting)].start, 4, kError);
  EXPECT_NEAR(times.seconds, 6.25, kError);
}

// n chunks, of which the first has to come: fill + (n - 1) * the longer one + the last product.
TEST(JobTimeline, APipelineIsItsFillAndTheLongerStage) {
  for (const double communication : {1.0, 3.0}) {
    constexpr int kChunks = 5;
    constexpr double kProduct = 2;
    Builder builder;
    int32_t sent = -1;
    int32_t computed = -1;
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      sent = builder.kernel(communication, sent < 0 ? std::vector<int32_t>{} : std::vector{sent}, 1);
      computed = builder.kernel(kProduct, computed < 0 ? std::vector{sent} : std::vector{sent, computed}, 0);
    }
    EXPECT_NEAR(timesOf(builder.job).seconds,
                communication + (kChunks - 1) * std::max(communication, kProduct) + kProduct, kError);
  }
}

TEST(JobTimeline, WhatIsHeldIsMissingToOthers) {
  Builder builder;
  builder.task(builder.activity(0, 2, {}), {}, {{0, 0.25}});
  builder.kernel(3);
  EXPECT_NEAR(timesOf(builder.job).seconds, 2 + (3 - 0.75 * 2), kError);
}

TEST(JobTimeline, AHundredthIsLeftWhoeverHolds) {
  Builder builder;
  builder.task(builder.activity(0, 100, {}), {}, {{0, 1}});
  builder.kernel(1);
  EXPECT_NEAR(timesOf(builder.job).seconds, 100, 1e-6);
}

TEST(JobTimeline, TasksStartWhenTheHostHasIssuedThem) {
  Builder builder;
  builder.kernel(1);
  builder.job.tasks[0].issued = 5;
  EXPECT_NEAR(timesOf(builder.job).seconds, 6, kError);
}

TEST(JobTimeline, WhoseOtherPartiesNeverComeIsStuck) {
  Builder builder;
  builder.task(builder.activity(0, 1, {}, 2));
  builder.kernel(1, {0});
  const JobTimes times = timesOf(builder.job);
  EXPECT_THAT(times.stuck, ElementsAre(0));
}

// The kernel that nobody waits for slows down the one before the communication.
TEST(JobTimeline, AWaitMayMakeAJobShorter) {
  Builder builder;
  const int32_t first = builder.kernel(1);
  builder.kernel(2, {first}, 1);
  const int32_t beside = builder.kernel(1);
  EXPECT_NEAR(timesOf(builder.job).seconds, 4, kError);
  builder.job.tasks[static_cast<size_t>(beside)].after = {first};
  EXPECT_NEAR(timesOf(builder.job).seconds, 3, kError);
}

// Tasks with waits for earlier ones; some meet the one before them.
Job randomJob(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t end) { return static_cast<int32_t>(random() % end); };
  Job job;
  for (int32_t i = 0; i < 3; ++i) job.capacities.push_back(1 + below(2));
  const int32_t tasks = 1 + below(24);
  for (int32_t i = 0; i < tasks; ++i) {
    JobTask task;
    const bool meets = i > 0 && job.activities.back().parties == 1 && below(3) == 0;
    const int32_t earlier = meets ? i - 1 : i;  // whoever meets waits for none of the other's followers
    for (int32_t k = 0; k < below(3) && earlier > 0; ++k) {
      const int32_t before = below(static_cast<uint32_t>(earlier));
      if (std::ranges::find(task.after, before) == task.after.end()) task.after.push_back(before);
    }
    if (meets) {
      job.activities.back().parties = 2;
    } else {
      Activity activity{.latency = below(3) * 0.1, .seconds = below(8) * 0.25};
      for (int32_t resource = 0; resource < 3; ++resource)
        if (below(2) == 0) activity.uses.push_back({resource, 0.1 * (1 + below(10))});
      job.activities.push_back(std::move(activity));
    }
    task.activities = {static_cast<int32_t>(job.activities.size()) - 1};
    job.tasks.push_back(std::move(task));
  }
  return job;
}

// The longest chain of activities, each as long as alone.
double criticalPath(const Job& job) {
  std::vector<double> start(job.activities.size(), 0);
  std::vector<double> end(job.tasks.size(), 0);
  for (size_t round = 0; round <= job.tasks.size(); ++round) {
    for (size_t i = 0; i < job.tasks.size(); ++i) {
      const auto activity = static_cast<size_t>(job.tasks[i].activities[0]);
      for (const int32_t earlier : job.tasks[i].after)
        start[activity] = std::max(start[activity], end[static_cast<size_t>(earlier)]);
      end[i] = start[activity] + job.activities[activity].latency + job.activities[activity].seconds;
    }
  }
  return *std::ranges::max_element(end);
}

TEST(JobTimelineProperty, TimesLieBetweenTheirBounds) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const Job job = randomJob(seed);
    const JobTimes times = timesOf(job);
    ASSERT_THAT(times.stuck, testing::IsEmpty());
    EXPECT_GE(times.seconds, criticalPath(job) - kError);
    double in_sequence = 0;
    std::vector<double> work(job.capacities.size(), 0);
    for (size_t i = 0; i < job.activities.size(); ++i) {
      const Activity& activity = job.activities[i];
      in_sequence += activity.latency + activity.seconds;
      EXPECT_GE(times.activities[i].end - times.activities[i].start, activity.latency + activity.seconds - kError);
      for (const ResourceUse& use : activity.uses)
        work[static_cast<size_t>(use.resource)] += use.share * activity.seconds;
    }
    // Some resource is full, or nobody is slowed down: at each moment, work of at least one second per second is done.
    EXPECT_LE(times.seconds, in_sequence + kError);
    for (size_t i = 0; i < work.size(); ++i) {
      EXPECT_NEAR(times.busy[i], work[i], kError);
      EXPECT_GE(times.seconds, work[i] / job.capacities[i] - kError);
    }
  }
}

// What a task waits for is over when it starts, and nothing depends on chance.
TEST(JobTimelineProperty, WaitsAreObeyedAndTimesAreTheSameEachTime) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const Job job = randomJob(seed);
    const JobTimes times = timesOf(job);
    const JobTimes again = timesOf(job);
    EXPECT_EQ(times.seconds, again.seconds);
    for (size_t i = 0; i < job.tasks.size(); ++i) {
      EXPECT_EQ(times.tasks[i].end, again.tasks[i].end);
      for (const int32_t earlier : job.tasks[i].after)
        EXPECT_GE(times.tasks[i].start, times.tasks[static_cast<size_t>(earlier)].end);
      EXPECT_GE(times.activities[static_cast<size_t>(job.tasks[i].activities[0])].start, times.tasks[i].start);
    }
  }
}

// An added wait shortens a job by no more than what shares slow down: never below the bounds of the job without it.
TEST(JobTimelineProperty, AnAddedWaitStaysAboveTheBounds) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Job job = randomJob(seed);
    const double path = criticalPath(job);
    std::mt19937 random(seed + 1);
    const auto later = static_cast<size_t>(random() % job.tasks.size());
    if (later < 2) continue;
    // Two before it: the one directly before may be the other party.
    const auto earlier = static_cast<int32_t>(random() % (later - 1));
    if (std::ranges::find(job.tasks[later].after, earlier) != job.tasks[later].after.end()) continue;
    job.tasks[later].after.push_back(earlier);
    const JobTimes times = timesOf(job);
    if (!times.stuck.empty()) continue;  // the other party waits for this one
    EXPECT_GE(times.seconds, path - kError);
    for (size_t i = 0; i < job.capacities.size(); ++i)
      EXPECT_GE(times.seconds, times.busy[i] / job.capacities[i] - kError);
  }
}

}  // namespace
}  // namespace tokamak
