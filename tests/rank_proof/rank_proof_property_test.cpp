// The proof over ranks against a judge that runs every order, on random programs and on their mutants.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compile/rank_proof.h"
#include "host/ir/text/host_parser.h"
#include "rank_proof/program_of_ranks.h"
#include "rank_proof/rank_judge.h"
#include "rank_proof/rank_programs.h"

namespace tokamak {
namespace {

int64_t numberIn(const char* variable, int64_t otherwise) {
  const char* const given = std::getenv(variable);
  return given == nullptr ? otherwise : std::atoll(given);
}

// TOKAMAK_RANK_PROGRAMS=20000: so many programs, and mutants (half), judged ones and those of classes (3 in 20).
int64_t programs() { return numberIn("TOKAMAK_RANK_PROGRAMS", 2000); }
int64_t judgedPrograms() { return programs() * 3 / 20; }

// TOKAMAK_RANK_SEED=N draws other programs; without, always the same.
std::mt19937 randomFor(int64_t program) {
  return std::mt19937(static_cast<uint32_t>(numberIn("TOKAMAK_RANK_SEED", 0) + program));
}

// What the proof says; a program that cannot be read is refused as well.
std::string findingOf(const RankTexts& program) {
  try {
    const auto locals = hostProgramsOf(program);
    const RankProof proof = proveLocalPrograms(locals, {});
    return proof.findings.empty() ? "" : proof.findings[0].message;
  } catch (const Error& error) {
    return error.what();
  }
}

std::string describe(const RankTexts& program) {
  std::string text;
  for (size_t rank = 0; rank < program.size(); ++rank)
    text += fmt::format("rank {}:\n{}", rank, textOf(program[rank], static_cast<int64_t>(rank)));
  return text;
}

TEST(RankProofProperty, RaisesNoFalseAlarmOnLegalPrograms) {
  for (int64_t seed = 0; seed < programs(); ++seed) {
    std::mt19937 random = randomFor(seed);
    const RankTexts program = legalProgram(random, {.ranks = 2 + seed % 4, .events = 2 + seed % 9});
    ASSERT_EQ(findingOf(program), "") << "seed " << seed << "\n" << describe(program);
  }
  std::printf("%lld programs, 0 false alarms\n", static_cast<long long>(programs()));
}

TEST(RankProofProperty, AgreesWithAllOrdersOnSmallLegalPrograms) {
  int64_t judged = 0;
  int64_t states = 0;
  for (int64_t seed = 0; judged < judgedPrograms(); ++seed) {
    std::mt19937 random = randomFor(seed + 3'000'000);
    const RankTexts program = legalProgram(random, {.ranks = 2 + seed % 2, .events = 2});
    const auto verdict = judgeByAllOrders(program, 20'000);
    if (!verdict) continue;
    ASSERT_EQ(verdict->fault, "") << "the generator is wrong; seed " << seed << "\n" << describe(program);
    ASSERT_EQ(findingOf(program), "") << "seed " << seed << "\n" << describe(program);
    ++judged;
    states += verdict->states;
  }
  std::printf("%lld programs in %lld states\n", static_cast<long long>(judged), static_cast<long long>(states));
}

struct Tally {
  int64_t all = 0;
  int64_t faults = 0;
  int64_t reported = 0;
};

TEST(RankProofProperty, ReportsAllMutantsThatAreFaults) {
  std::map<std::string_view, Tally> tallies;
  int64_t mutants = 0;
  for (int64_t seed = 0; mutants < programs() / 2; ++seed) {
    std::mt19937 random = randomFor(seed + 5'000'000);
    const RankTexts program = legalProgram(random, {.ranks = 2 + seed % 2, .events = 2 + seed % 2});
    for (const RankMutant& mutant : mutantsOf(program, random)) {
      const auto verdict = judgeByAllOrders(mutant.program, 20'000);
      if (!verdict) continue;
      const std::string finding = findingOf(mutant.program);
      Tally& tally = tallies[mutant.kind];
      ++mutants;
      ++tally.all;
      tally.faults += verdict->fault.empty() ? 0 : 1;
      tally.reported += finding.empty() ? 0 : 1;
      ASSERT_TRUE(verdict->fault.empty() || !finding.empty())
          << mutant.kind << ", seed " << seed << ": " << verdict->fault << "\n"
          << describe(mutant.program);
      // What is reported and no fault may be a race that other ranks prevent: no mutant of these kinds has one.
      const bool is_exact = mutant.kind.starts_with("wrong") || mutant.kind.starts_with("missing");
      ASSERT_TRUE(!is_exact || verdict->fault.empty() == finding.empty())
          << mutant.kind << ", seed " << seed << ": " << finding << "\n"
          << describe(mutant.program);
    }
  }
  int64_t faults = 0;
  for (const auto& [kind, tally] : tallies) {
    std::printf("%-24s %5lld mutants, %5lld faults, %5lld reported\n", std::string(kind).c_str(),
                static_cast<long long>(tally.all), static_cast<long long>(tally.faults),
                static_cast<long long>(tally.reported));
    faults += tally.faults;
  }
  std::printf("all: %lld mutants, %lld faults, all of them reported\n", static_cast<long long>(mutants),
              static_cast<long long>(faults));
  EXPECT_GT(faults, mutants / 2);
}

std::set<std::string_view> kindsOf(const RankProof& proof) {
  std::set<std::string_view> kinds;
  for (const RankFinding& finding : proof.findings) kinds.insert(rankFindingName(finding.kind));
  return kinds;
}

TEST(RankProofProperty, FindsTheSameByClassesAsByEachRank) {
  int64_t faulty = 0;
  int64_t classes = 0;
  int64_t ranks = 0;
  for (int64_t seed = 0; seed < judgedPrograms(); ++seed) {
    std::mt19937 random = randomFor(seed + 7'000'000);
    const int64_t job = 2 + seed % 15;
    const std::string text = programOfRanks(random, job);
    const auto program = parseHostProgram(text, "test.host_ir");
    const RankProof by_classes = proveRanks(*program, {}, {.ranks = job, .limit = 10'000});
    const RankProof by_ranks =
        proveRanks(*program, {}, {.ranks = job, .by = RankProofOptions::By::EachRank, .limit = 10'000});
    ASSERT_EQ(kindsOf(by_classes), kindsOf(by_ranks))
        << "seed " << seed << "\n"
        << text << (by_ranks.findings.empty() ? by_classes : by_ranks).findings[0].message;
    faulty += by_ranks.findings.empty() ? 0 : 1;
    classes += by_classes.classes;
    ranks += job;
  }
  std::printf("%lld programs, %lld with faults; %lld classes of %lld ranks\n", static_cast<long long>(judgedPrograms()),
              static_cast<long long>(faulty), static_cast<long long>(classes), static_cast<long long>(ranks));
  EXPECT_GT(faulty, judgedPrograms() / 5);
  EXPECT_LT(faulty, judgedPrograms() * 4 / 5);
  EXPECT_LT(classes, ranks / 2);
}

}  // namespace
}  // namespace tokamak
