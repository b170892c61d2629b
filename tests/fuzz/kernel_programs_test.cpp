// Random programs as kernels: the interpreter agrees with the reference and finds nothing wrong.
#include <algorithm>
#include <iostream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/kernel_case.h"
#include "generator/minimise.h"
#include "ir/text/fusion_printer.h"

namespace tokamak {
namespace {

using namespace generator;

std::optional<Problem> problemOf(const Program& program, KernelTally& tally) {
  return findKernelProblem(*build(program), drawData(program, program.seed), tally);
}

std::string minimised(const Program& program, const std::string& kind) {
  const Program small = minimise(program,
                                 [&](const Program& candidate) {
                                   KernelTally tally;
                                   const auto problem = problemOf(candidate, tally);
                                   return problem && problem->kind == kind;
                                 },
                                 {.max_attempts = 1500});
  KernelTally tally;
  return problemOf(small, tally)->text + "\n" + printFusion(*build(small));
}

// TOKAMAK_FUZZ_PROGRAMS raises the number for longer runs; TOKAMAK_FUZZ_SEED is the first seed.
TEST(KernelPrograms, InterpretedKernelsAgreeWithTheReference) {
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);
  const uint64_t count = fromEnvironment("TOKAMAK_FUZZ_PROGRAMS", 2000);
  KernelTally tally;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 12, .max_elements = 512});
    const auto problem = problemOf(program, tally);
    ASSERT_FALSE(problem.has_value()) << "seed " << seed << ": " << problem->kind << "\n"
                                      << problem->text << "\nminimised:\n"
                                      << minimised(program, problem->kind);
  }
  std::cout << tally.programs << " programs, " << tally.refused << " cannot be one kernel, " << tally.ops << " ops, "
            << tally.elements << " elements\n";
  EXPECT_GT(tally.programs, tally.refused);
}

}  // namespace
}  // namespace tokamak
