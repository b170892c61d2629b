// Random commands on random fusions, most sequences with illegal ones among them: each is refused by a sentence that
// names the step and a tensor, or what it leads to is right.
#include <algorithm>
#include <iostream>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "generator/command_case.h"
#include "generator/environment.h"

namespace tokamak {
namespace {

using namespace generator;

TEST(IllegalSchedules, AreRefusedByNameOrComputeTheReference) {
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);
  const uint64_t count = fromEnvironment("TOKAMAK_ILLEGAL_SCHEDULES", 3700);
  CommandTally tally;
  const uint64_t most = fromEnvironment("TOKAMAK_ILLEGAL_PROBLEMS", 5);
  uint64_t problems = 0;
  for (uint64_t seed = first; seed < first + count && problems < most; ++seed) {
    const std::string problem = findCommandProblem(seed, tally);
    problems += problem.empty() ? 0 : 1;
    EXPECT_EQ(problem, "");
  }
  std::cout << tally.sequences << " sequences, " << tally.illegal << " illegal; " << tally.commands << " commands, "
            << tally.refused_commands << " refused; " << tally.refused_kernels << " schedules give no kernel, "
            << tally.kernels << " kernels compared (" << tally.meetings << " with barriers, " << tally.meetings_in_loops
            << " in loops); " << tally.sentences.size() << " sentences\n";
  if (fromEnvironment("TOKAMAK_ILLEGAL_LIST", 0) != 0) {
    for (const auto& [sentence, times] : tally.sentences) std::cout << fmt::format("{:6} {}\n", times, sentence);
  }
  const auto most_cases = static_cast<int64_t>(count);
  EXPECT_GE(tally.sequences, std::min<int64_t>(500, most_cases / 2));
  EXPECT_GE(tally.illegal, std::min<int64_t>(300, most_cases / 4));
  EXPECT_GE(tally.kernels, most_cases / 2);
  EXPECT_GE(tally.sentences.size(), 30U);
}

}  // namespace
}  // namespace tokamak
