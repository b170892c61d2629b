// In builds with ThreadSanitizer: what communications leave unordered is always reported, what they order never.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "runtime/cpu/stream_edges.h"

namespace tokamak {

namespace {

constexpr int kRuns = 10;
constexpr int kReported = 66;

// How many of the runs reported a race.
int countReportedRuns(const std::string& scenario) {
  const std::string command =
      "TSAN_OPTIONS='exitcode=66 symbolize=0' " TOKAMAK_RANK_RACE " " + scenario + " >/dev/null 2>&1";
  int reports = 0;
  for (int run = 0; run < kRuns; ++run) {
    const int status = std::system(command.c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    EXPECT_TRUE(code == 0 || code == kReported) << scenario << " ended with status " << status;
    reports += code == kReported ? 1 : 0;
  }
  return reports;
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
