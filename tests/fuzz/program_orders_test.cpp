// The step lists of random programs: free of races by the checker and by a judge that shares nothing with it, their
// mutants reported exactly when the judge finds a race, waits dropped and buffers placed without a change of meaning
// (R10, R11).
#include <iostream>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

#include "generator/environment.h"
#include "generator/run_case.h"
#include "host/check/checker.h"
#include "host/mutants.h"
#include "host/plan/step_clocks.h"
#include "host/race_judge.h"
#include "host/step_closure.h"

namespace tokamak {
namespace {

using namespace generator;

struct OrderTally {
  int64_t programs = 0;
  int64_t judged = 0;  ///< lists small enough for the judge
  int64_t mutants = 0;
  int64_t true_mutants = 0;
  int64_t missing_synchronisation = 0;  ///< true ones of it
};

constexpr CheckOptions kAllRaces = {.report_limit = 1'000'000};

struct OrderVerdict {
  StepPairs races;
  std::set<std::string> others;
};

OrderVerdict verdictOf(const StepList& list) {
  OrderVerdict verdict;
  for (const RaceReport& report : checkStepList(list, kAllRaces)) {
    if (report.kind == RaceReport::Kind::Race)
      verdict.races.insert({report.first, report.second});
    else
      verdict.others.insert(std::string(raceKindName(report.kind)) + " at step " + std::to_string(report.second));
  }
  return verdict;
}

constexpr size_t kJudgedSteps = 400;

// Whether the list was small enough for the judge.
bool judge(const StepList& list, OrderVerdict& verdict) {
  if (list.steps.size() > kJudgedSteps) return false;
  try {
    verdict = {racesByClosure(list), otherProblems(list)};
    return true;
  } catch (const std::length_error&) {
    return false;
  }
}

void judgeMutants(const StepList& list, uint64_t seed, OrderTally& tally) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::vector<Mutant> mutants = mutantsOf(list, random);
  std::shuffle(mutants.begin(), mutants.end(), random);
  if (mutants.size() > 12) mutants.resize(12);
  for (const Mutant& mutant : mutants) {
    OrderVerdict expected;
    if (!judge(mutant.list, expected)) continue;
    const OrderVerdict found = verdictOf(mutant.list);
    ASSERT_EQ(found.races, expected.races) << mutant.text;
    ASSERT_EQ(found.others, expected.others) << mutant.text;
    const bool is_true = !expected.races.empty() || !expected.others.empty();
    ++tally.mutants;
    tally.true_mutants += is_true ? 1 : 0;
    tally.missing_synchronisation += is_true && isMissingSynchronisation(mutant.kind) ? 1 : 0;
  }
}

void checkPlan(const Plan& plan, uint64_t seed, OrderTally& tally) {
  const StepList dropped = dropImpliedWaits(plan.recorded());
  for (const StepList* list : {&plan.recorded(), &dropped, &plan.steps()}) {
    const std::vector<RaceReport> reports = checkStepList(*list);
    ASSERT_TRUE(reports.empty()) << reports.front().message;
    OrderVerdict verdict;
    if (!judge(*list, verdict)) continue;
    ++tally.judged;
    ASSERT_TRUE(verdict.races.empty() && verdict.others.empty());
    // The judge does not know that an arena is shared with the call before.
    if (list != &plan.steps()) judgeMutants(*list, seed, tally);
    if (testing::Test::HasFatalFailure()) return;
  }
  if (plan.recorded().steps.size() > kJudgedSteps) return;
  ASSERT_EQ(problemOfDroppedWaits(plan.recorded(), dropped), "");
  ASSERT_EQ(problemOfPlaces(dropped, plan.steps()), "");
}

TEST(ProgramOrders, AreFreeOfRacesAndTheirTrueMutantsAreReported) {
  const uint64_t programs = fromEnvironment("TOKAMAK_FUZZ_PROGRAMS", 300);
  OrderTally tally;
  for (uint64_t seed = 1; seed <= programs; ++seed) {
    std::string illegal;
    const Case drawn = drawCase(seed + 2000000, {.program = {.max_ops = 6, .max_elements = 24}}, illegal);
    ASSERT_EQ(illegal, "");
    Device& device = deviceWith(1);
    MultiDeviceExecutor executor(
        *buildScheduled(drawn.program), device,
        {.lowering = loweringOf(drawn.config), .evaluator = {.number_of_streams = drawn.config.streams}});
    const std::vector<InputData> data = drawData(drawn.program, drawn.program.seed);
    const BoundInputs inputs(data, device);
    checkPlan(executor.planFor(inputs.values()), seed, tally);
    ++tally.programs;
    if (HasFatalFailure()) FAIL() << report(drawn, {"order", executor.planFor(inputs.values()).toString()});
  }
  std::cout << tally.programs << " programs, " << tally.judged << " lists judged, " << tally.mutants << " mutants, "
            << tally.true_mutants << " true ones, " << tally.missing_synchronisation
            << " of them of missing synchronisation\n";
  EXPECT_GT(tally.missing_synchronisation, tally.programs / 3);
}

}  // namespace
}  // namespace tokamak
