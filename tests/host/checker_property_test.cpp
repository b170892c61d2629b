// The checker against judges that know nothing of it, on random programs and on their mutants.
#include <array>
#include <cstdio>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "host/check/checker.h"
#include "host/mutants.h"
#include "host/race_judge.h"
#include "host/sanitized_share.h"
#include "host/step_list_generator.h"

namespace tokamak {

namespace {

// --gtest_random_seed=N draws other programs; 0, the default, always the same.
std::mt19937 randomFor(int64_t program) {
  const auto block = static_cast<uint32_t>(GTEST_FLAG_GET(random_seed));
  return std::mt19937(block * 10'000'019U + static_cast<uint32_t>(program));
}

constexpr CheckOptions kAllRaces = {.report_limit = 1'000'000};

struct Verdict {
  StepPairs races;
  std::set<std::string> others;
};

Verdict verdictOf(const StepList& list) {
  Verdict verdict;
  for (const RaceReport& report : checkStepList(list, kAllRaces)) {
    EXPECT_FALSE(report.message.empty());
    if (report.kind == RaceReport::Kind::Race) {
      verdict.races.insert({report.first, report.second});
    } else {
      verdict.others.insert(fmt::format("{} at step {}", raceKindName(report.kind), report.second));
    }
  }
  return verdict;
}

std::string describeWithReports(const StepList& list) {
  std::string text = describe(list);
  for (const RaceReport& report : checkStepList(list)) text += report.message + "\n";
  return text;
}

TEST(HostCheckerProperty, AgreesWithEveryOrderOfSmallPrograms) {
  constexpr int64_t kPrograms = 3000 / kShare;
  int64_t orders = 0;
  int64_t racy = 0;
  for (int64_t seed = 0; seed < kPrograms; ++seed) {
    std::mt19937 random = randomFor(seed);
    const StepList list = smallProgram(random);
    if (!canRunInAllOrders(list)) continue;
    const StepPairs expected = racesByAllOrders(list, orders);
    ASSERT_EQ(verdictOf(list).races, expected) << "seed " << seed << "\n" << describeWithReports(list);
    ASSERT_EQ(racesByClosure(list), expected) << "seed " << seed << "\n" << describeWithReports(list);
    ASSERT_EQ(verdictOf(list).others, otherProblems(list)) << "seed " << seed << "\n" << describeWithReports(list);
    racy += expected.empty() ? 0 : 1;
  }
  std::printf("%lld programs, %lld with races, %lld orders run\n", static_cast<long long>(kPrograms),
              static_cast<long long>(racy), static_cast<long long>(orders));
  EXPECT_GT(racy, kPrograms / 5);
  EXPECT_LT(racy, kPrograms * 9 / 10);
}

// Programs and the share of their synchronisations that the checker calls necessary, as the closure does.
struct Waits {
  int64_t all = 0;
  int64_t necessary = 0;
};

void expectNecessaryWaitsExact(const StepList& list, Waits& waits) {
  for (const WaitNeed& need : listNecessaryWaits(list)) {
    const bool expected = !racesByClosure(withoutStep(list, static_cast<size_t>(need.step))).empty();
    ASSERT_EQ(need.is_necessary, expected) << "step " << need.step << "\n" << describeWithReports(list);
    ++waits.all;
    waits.necessary += expected ? 1 : 0;
  }
}

TEST(HostCheckerProperty, RaisesNoFalseAlarmOnCorrectPrograms) {
  constexpr int64_t kPrograms = 6000 / kShare;
  int64_t steps = 0;
  int64_t streams = 0;
  Waits waits;
  for (int64_t seed = 0; seed < kPrograms; ++seed) {
    std::mt19937 random = randomFor(seed);
    const StepList list = seed % 2 == 0 ? loweredProgram(random) : synchronisedProgram(random);
    ASSERT_TRUE(racesByClosure(list).empty()) << "the generator is wrong; seed " << seed << "\n"
                                              << describeWithReports(list);
    ASSERT_TRUE(otherProblems(list).empty()) << "the generator is wrong; seed " << seed << "\n"
                                             << describeWithReports(list);
    ASSERT_TRUE(checkStepList(list).empty()) << "seed " << seed << "\n" << describeWithReports(list);
    ASSERT_NO_THROW(requireRaceFree(list));
    if (seed % 20 < 2) expectNecessaryWaitsExact(list, waits);
    if (HasFatalFailure()) return;
    steps += static_cast<int64_t>(list.steps.size());
    streams += list.stream_count;
  }
  std::printf(
      "%lld programs, on average %.1f steps on %.1f streams, 0 false alarms; of %lld waits %lld are necessary\n",
      static_cast<long long>(kPrograms), static_cast<double>(steps) / kPrograms,
      static_cast<double>(streams) / kPrograms, static_cast<long long>(waits.all),
      static_cast<long long>(waits.necessary));
  EXPECT_GT(waits.necessary, 0);
  EXPECT_LT(waits.necessary, waits.all);
}

struct Tally {
  int64_t all = 0;
  int64_t true_ones = 0;
  int64_t reported = 0;
};

void printTallies(const char* programs, const std::array<Tally, kAllMutantKinds.size()>& tallies) {
  std::printf("mutants of %s\n", programs);
  for (const MutantKind kind : kAllMutantKinds) {
    const Tally& tally = tallies[static_cast<size_t>(kind)];
    std::printf("  %-22s %6lld, true %6lld, reported %6lld, equivalent %6lld\n",
                std::string(mutantKindName(kind)).c_str(), static_cast<long long>(tally.all),
                static_cast<long long>(tally.true_ones), static_cast<long long>(tally.reported),
                static_cast<long long>(tally.all - tally.true_ones));
  }
}

void judge(const Mutant& mutant, const StepPairs& races, Tally& tally) {
  const std::set<std::string> others = otherProblems(mutant.list);
  const Verdict verdict = verdictOf(mutant.list);
  ASSERT_EQ(verdict.races, races) << mutant.text << "\n" << describeWithReports(mutant.list);
  ASSERT_EQ(verdict.others, others) << mutant.text << "\n" << describeWithReports(mutant.list);
  ++tally.all;
  tally.true_ones += races.empty() && others.empty() ? 0 : 1;
  tally.reported += verdict.races.empty() && verdict.others.empty() ? 0 : 1;
}

int64_t missingSynchronisations(const std::array<Tally, kAllMutantKinds.size()>& tallies) {
  int64_t true_ones = 0;
  for (const MutantKind kind : kAllMutantKinds) {
    const Tally& tally = tallies[static_cast<size_t>(kind)];
    EXPECT_EQ(tally.reported, tally.true_ones) << mutantKindName(kind);
    EXPECT_GT(tally.true_ones, 0) << mutantKindName(kind);
    if (isMissingSynchronisation(kind)) true_ones += tally.true_ones;
  }
  return true_ones;
}

TEST(HostCheckerProperty, ReportsExactlyTheTrueMutantsOfCorrectPrograms) {
  constexpr int64_t kPrograms = 300 / kShare;
  std::array<Tally, kAllMutantKinds.size()> tallies;
  for (int64_t seed = 0; seed < kPrograms; ++seed) {
    std::mt19937 random = randomFor(seed + 1'000'000);
    const StepList list = seed % 2 == 0 ? loweredProgram(random) : synchronisedProgram(random);
    for (const Mutant& mutant : mutantsOf(list, random)) {
      judge(mutant, racesByClosure(mutant.list), tallies[static_cast<size_t>(mutant.kind)]);
      if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
  }
  printTallies("lowered and synchronised programs, judged by closure", tallies);
  EXPECT_GE(missingSynchronisations(tallies), 2000 / kShare);
}

TEST(HostCheckerProperty, ReportsExactlyTheTrueMutantsOfSmallProgramsByAllOrders) {
  constexpr int64_t kPrograms = 200 / kShare;
  std::array<Tally, kAllMutantKinds.size()> tallies;
  int64_t orders = 0;
  int64_t programs = 0;
  for (int64_t seed = 0; programs < kPrograms; ++seed) {
    std::mt19937 random = randomFor(seed + 2'000'000);
    const StepList list = smallProgram(random);
    if (list.stream_count == 1 || !racesByClosure(list).empty() || !otherProblems(list).empty()) continue;
    ++programs;
    for (const Mutant& mutant : mutantsOf(list, random)) {
      judge(mutant, racesByAllOrders(mutant.list, orders), tallies[static_cast<size_t>(mutant.kind)]);
      if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
  }
  printTallies("small programs, judged by all orders", tallies);
  std::printf("%lld orders run\n", static_cast<long long>(orders));
  EXPECT_GE(missingSynchronisations(tallies), 200 / kShare);
}

}  // namespace

}  // namespace tokamak
