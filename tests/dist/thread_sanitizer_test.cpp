// In builds with ThreadSanitizer: what communications leave unordered is always reported, what they order never.
#include <string>

#include <gtest/gtest.h>

#include "race_reports.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {

namespace {

constexpr int kRuns = 10;

int countReportedRuns(const std::string& scenario) {
  return test::countRaceReports(TOKAMAK_RANK_RACE, scenario, kRuns);
}

TEST(RanksUnderThreadSanitizer, MistakesAreReportedInEveryRun) {
  if (!kThreadSanitizer) GTEST_SKIP() << "needs a build with -fsanitize=thread";
  for (const char* scenario : {"operand-overwritten", "result-read-at-once", "broadcast-orders-no-receivers"})
    EXPECT_EQ(countReportedRuns(scenario), kRuns) << scenario;
}

TEST(RanksUnderThreadSanitizer, CorrectProgramsAreReportedInNone) {
  if (!kThreadSanitizer) GTEST_SKIP() << "needs a build with -fsanitize=thread";
  for (const char* scenario : {"operands-written-before", "operand-overwritten-behind", "allgather-orders-all"})
    EXPECT_EQ(countReportedRuns(scenario), 0) << scenario;
}

}  // namespace

}  // namespace tokamak
