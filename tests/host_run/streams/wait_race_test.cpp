// Every wait that the checker calls necessary is one whose absence ThreadSanitizer reports.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "host/check/checker.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "host_run/streams/two_sets.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {
namespace {

constexpr int kRuns = 5;
constexpr int kReported = 66;

int countReports(const std::string& which) {
  const std::string command =
      "TSAN_OPTIONS='exitcode=66 symbolize=0' " TOKAMAK_WAIT_RACE " " + which + " >/dev/null 2>&1";
  int reports = 0;
  for (int run = 0; run < kRuns; ++run) {
    const int status = std::system(command.c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    EXPECT_TRUE(code == 0 || code == kReported) << which << " ended with status " << status;
    reports += code == kReported ? 1 : 0;
  }
  return reports;
}

int64_t countNecessaryWaits() {
  RunBench bench;
  const auto fusion = fusionOf(kTwoSets);
  MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.grouping = Grouping::Single}, .evaluator = {}});
  const std::vector<RunValue> inputs = bench.inputsOf(*fusion, {{"i0", kTwoSetsRows}, {"i2", kTwoSetsColumns}});
  const Tensor outputs[] = {bench.empty(DataType::F32, {kTwoSetsRows, kTwoSetsColumns})};
  int64_t necessary = 0;
  for (const WaitNeed& need : listNecessaryWaits(executor.planFor(inputs, outputs).steps()))
    necessary += need.is_necessary ? 1 : 0;
  return necessary;
}

// Each of the four workers waits for the caller and is joined.
TEST(WaitRace, TwoSetsNeedEveryOneOfTheirWaits) { EXPECT_EQ(countNecessaryWaits(), 8); }

TEST(WaitRace, IsReportedForEveryNecessaryWaitLeftOutAndForNoneElse) {
  const int64_t necessary = countNecessaryWaits();
  EXPECT_EQ(countReports("none"), 0);
  if (!kThreadSanitizer) GTEST_SKIP() << "needs a build with -fsanitize=thread";
  for (int64_t wait = 0; wait < necessary; ++wait)
    EXPECT_EQ(countReports(std::to_string(wait)), kRuns) << "wait " << wait;
}

}  // namespace
}  // namespace tokamak
