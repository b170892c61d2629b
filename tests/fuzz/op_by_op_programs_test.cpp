// Random programs, cut into segments for kernels, on a device that makes none: op by op, against the reference.
#include <iostream>

#include <gtest/gtest.h>

#include "generator/environment.h"
#include "generator/run_case.h"
#include "jit/jit_device.h"

namespace tokamak {
namespace {

using namespace generator;

// TOKAMAK_OP_BY_OP_PROGRAMS raises the number.
TEST(OpByOpPrograms, GiveTheReferencesResults) {
  JitCpuDevice device({.threads = 2, .poisons_memory = true, .runner = KernelRunner::OpByOp});
  const uint64_t programs = fromEnvironment("TOKAMAK_OP_BY_OP_PROGRAMS", 300);
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1) + 6000000;
  RunTally tally;
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    std::string illegal;
    const Case drawn =
        drawCase(seed, {.program = {.max_ops = 15, .max_elements = 256}, .grouping = Grouping::Fused}, illegal);
    EXPECT_EQ(illegal, "");
    const RunOptions options = {.place = {&device, device.createStream()}, .runs_unstreamed = seed % 3 == 0};
    const auto problem = findProblem(drawn, options, tally);
    ASSERT_FALSE(problem) << report(minimiseCase(drawn, options, problem->kind), *problem);
  }
  std::cout << tally.programs << " programs (" << tally.streamed_programs << " streamed), " << tally.ops << " ops, "
            << tally.steps << " plan steps, " << tally.runs << " runs, " << tally.elements << " elements\n";
  EXPECT_GT(tally.streamed_programs, tally.programs / 3);
}

}  // namespace
}  // namespace tokamak
