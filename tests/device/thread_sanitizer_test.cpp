// In builds with ThreadSanitizer: a missing wait is reported in every run, a correct program in none.
#include <string>

#include <gtest/gtest.h>

#include "race_reports.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {

namespace {

constexpr int kRuns = 20;

int countReports(const std::string& scenario) { return test::countRaceReports(TOKAMAK_STREAM_RACE, scenario, kRuns); }

class RaceReported : public testing::TestWithParam<const char*> {};
class NothingReported : public testing::TestWithParam<const char*> {};

TEST_P(RaceReported, InEveryRun) {
  if (!kThreadSanitizer) GTEST_SKIP() << "needs a build with -fsanitize=thread";
  EXPECT_EQ(countReports(GetParam()), kRuns);
}

TEST_P(NothingReported, InAnyRun) {
  if (!kThreadSanitizer) GTEST_SKIP() << "needs a build with -fsanitize=thread";
  EXPECT_EQ(countReports(GetParam()), 0);
}

std::string caseName(const testing::TestParamInfo<const char*>& instance) {
  std::string name = instance.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Streams, RaceReported,
                         testing::Values("no-wait", "no-wait-but-later", "record-too-early",
                                         "record-too-early-late-wait", "wait-too-late", "overwritten",
                                         "host-reads-at-once", "host-reads-other-synchronized", "host-writes-after",
                                         "host-writes-between", "copies-no-wait", "memory-used-after-release",
                                         "allocator-is-no-order"),
                         caseName);
INSTANTIATE_TEST_SUITE_P(Streams, NothingReported,
                         testing::Values("wait", "wait-through-third", "host-reads-synchronized",
                                         "host-reads-when-done", "host-writes-before", "copies-wait", "flag",
                                         "memory-moves"),
                         caseName);

}  // namespace

}  // namespace tokamak
