// Random programs, in-place outputs among them, with random schedule commands on some of their tensors: cut into
// kernels as the pipeline cuts them, they give the reference's results or are refused. (illegal_schedules_test.cpp
// makes one kernel of each.)
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/kernel_target.h"
#include "generator/draw_commands.h"
#include "generator/environment.h"
#include "generator/run_case.h"
#include "ir/text/fusion_printer.h"
#include "jit/jit_device.h"

namespace tokamak {
namespace {

using namespace generator;

struct Commanded {
  std::unique_ptr<Fusion> fusion;
  std::string commands;
  int64_t carried_out = 0;
};

Commanded commandedProgram(const Program& program, uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15ULL + 13);
  Commanded result{.fusion = build(program)};
  giveLabels(*result.fusion);
  for (int64_t count = random.between(1, 5); count > 0; --count) {
    const DrawnCommand command = drawCommand(*result.fusion, random);
    try {
      applyCommand(*result.fusion, command);
      result.commands += toString(command) + "\n";
      ++result.carried_out;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Schedule) << toString(command) << ": " << error.what();
    }
  }
  return result;
}

// What a schedule may be refused with when it is lowered: by its own mistake, for a mark that gives no stream loop, or
// for a layout that memory does not have.
bool isRefusal(const Problem& problem) {
  return problem.text.starts_with("Stream on axis ") || problem.kind.ends_with("error schedule") ||
         problem.kind.ends_with("error unsupported") || problem.text.find("has stride") != std::string::npos;
}

// TOKAMAK_COMMANDED_PROGRAMS raises the number.
TEST(CommandedPrograms, GiveTheReferencesResultsOrAreRefused) {
  JitCpuDevice device({.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted});
  const uint64_t programs = fromEnvironment("TOKAMAK_COMMANDED_PROGRAMS", 1500);
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1) + 9000000;
  RunTally tally;
  int64_t commands = 0;
  int64_t refused = 0;
  int64_t updating = 0;
  int64_t problems = 0;
  for (uint64_t seed = first; seed < first + programs && problems < 5; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 8, .max_elements = 128});
    const Commanded commanded = commandedProgram(program, seed);
    commands += commanded.carried_out;
    updating += commanded.fusion->outputAliases().empty() ? 0 : 1;
    const RunConfig config = {
        .grouping = Grouping::Fused, .seed = seed, .target = seed % 2 == 0 ? hopperTarget() : cpuTarget()};
    const RunOptions options = {.place = {&device, device.createStream()}, .replays = 1, .runs_unstreamed = false};
    ++tally.programs;
    const auto problem =
        findProblem(*commanded.fusion, *build(program), drawData(program, seed), config, options, tally);
    if (problem && isRefusal(*problem)) {
      ++refused;
      continue;
    }
    problems += problem ? 1 : 0;
    EXPECT_FALSE(problem) << "seed " << seed << ": " << problem->kind << "\n"
                          << problem->text << "\n"
                          << printFusion(*commanded.fusion) << commanded.commands;
  }
  std::cout << tally.programs << " programs, " << updating << " update inputs, " << commands << " commands, " << refused
            << " refused; " << tally.steps << " plan steps, " << tally.runs << " runs, " << tally.elements
            << " elements\n";
  EXPECT_GT(updating, tally.programs / 30);
  EXPECT_LT(refused, tally.programs / 2);
  EXPECT_GT(commands, tally.programs);
}

}  // namespace
}  // namespace tokamak
