// Random fusions with random Stream schedules on the processor, against the reference (R2, R12, R13, R14).
#include <iostream>

#include <gtest/gtest.h>

#include "generator/environment.h"
#include "generator/run_case.h"

namespace tokamak {
namespace {

using namespace generator;

// TOKAMAK_FUZZ_PROGRAMS raises it for longer runs; TOKAMAK_FUZZ_SEED is then the first seed.
const uint64_t kPrograms = fromEnvironment("TOKAMAK_FUZZ_PROGRAMS", 200);
const uint64_t kFirstSeed = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);

RunTally runSeeds(uint64_t first, uint64_t count, const CaseOptions& draw, const RunOptions& options) {
  RunTally tally;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::string illegal;
    const Case drawn = drawCase(seed, draw, illegal);
    EXPECT_EQ(illegal, "");
    if (const auto problem = findProblem(drawn, options, tally)) {
      const Case small = minimiseCase(drawn, options, problem->kind);
      ADD_FAILURE() << report(small, *problem);
      return tally;
    }
  }
  std::cout << tally.programs << " programs (" << tally.streamed_programs << " streamed), " << tally.ops << " ops, "
            << tally.steps << " plan steps, " << tally.views << " views, " << tally.runs << " runs, " << tally.elements
            << " elements, " << tally.refused << " schedules refused\n";
  return tally;
}

TEST(StreamPrograms, GiveTheReferencesResultsInEveryMode) {
  const RunTally tally = runSeeds(kFirstSeed, kPrograms, {}, {});
  EXPECT_GT(tally.streamed_programs, tally.programs / 3);
  EXPECT_GT(tally.refused, tally.programs / 20);
}

// Every unit a kernel, compiled for this machine.
TEST(StreamPrograms, OfCompiledKernelsGiveTheReferencesResults) {
  const RunTally tally = runSeeds(kFirstSeed + 2000000, fromEnvironment("TOKAMAK_STREAM_KERNEL_PROGRAMS", kPrograms),
                                  {.program = {.max_ops = 6, .max_elements = 128}, .grouping = Grouping::Fused},
                                  {.runs_direct = false, .runs_unstreamed = false});
  EXPECT_GT(tally.streamed_programs, tally.programs / 3);
}

TEST(StreamPrograms, GiveTheSameBitsAHundredTimes) {
  runSeeds(kFirstSeed + 1000000, kPrograms, {.program = {.max_ops = 8, .max_elements = 64}},
           {.replays = 100, .runs_direct = false, .runs_unstreamed = false});
}

}  // namespace
}  // namespace tokamak
