// Random fusions with random Stream schedules on the processor and on a GPU, against the reference (R2, R3, R12, R13,
// R14).
#include <iostream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "generator/environment.h"
#include "generator/run_case.h"
#include "jit/jit_device.h"
#include "jit/open_device.h"

namespace tokamak {
namespace {

using namespace generator;

// TOKAMAK_FUZZ_PROGRAMS raises it for longer runs; TOKAMAK_FUZZ_SEED is then the first seed.
const uint64_t kStreamPrograms = fromEnvironment("TOKAMAK_FUZZ_PROGRAMS", 200);
const uint64_t kFirstStreamSeed = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);

RunTally runSeeds(uint64_t first, uint64_t count, const CaseOptions& draw, const RunOptions& options) {
  RunTally tally;
  const int most_problems = options.place.device == nullptr ? 1 : 5;
  int problems = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::string illegal;
    const Case drawn = drawCase(seed, draw, illegal);
    EXPECT_EQ(illegal, "");
    if (const auto problem = findProblem(drawn, options, tally)) {
      // Each attempt at a smaller one would have kernels compiled.
      const Case small = options.place.device == nullptr ? minimiseCase(drawn, options, problem->kind) : drawn;
      ADD_FAILURE() << report(small, *problem);
      if (++problems == most_problems) return tally;
    }
  }
  std::cout << tally.programs << " programs (" << tally.streamed_programs << " streamed), " << tally.ops << " ops, "
            << tally.steps << " plan steps, " << tally.views << " views, " << tally.runs << " runs, " << tally.elements
            << " elements, " << tally.refused << " schedules refused\n";
  return tally;
}

TEST(StreamPrograms, GiveTheReferencesResultsInEveryMode) {
  const RunTally tally = runSeeds(kFirstStreamSeed, kStreamPrograms, {}, {});
  EXPECT_GT(tally.streamed_programs, tally.programs / 3);
  EXPECT_GT(tally.refused, tally.programs / 20);
}

// Every segment a kernel, compiled for this machine.
TEST(StreamPrograms, OfCompiledKernelsGiveTheReferencesResults) {
  const RunTally tally =
      runSeeds(kFirstStreamSeed + 2000000, fromEnvironment("TOKAMAK_STREAM_KERNEL_PROGRAMS", kStreamPrograms),
               {.program = {.max_ops = 6, .max_elements = 128}, .grouping = Grouping::Fused},
               {.runs_direct = false, .runs_unstreamed = false});
  EXPECT_GT(tally.streamed_programs, tally.programs / 3);
}

// Every segment a kernel for a GPU, as programs are cut for one, run by the interpreter.
TEST(StreamPrograms, OfKernelsForGpusGiveTheReferencesResults) {
  JitCpuDevice device({.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted});
  runSeeds(kFirstStreamSeed + 4000000, kStreamPrograms,
           {.program = {.max_ops = 10, .max_elements = 128}, .grouping = Grouping::Fused, .target = hopperTarget()},
           {.place = {&device, device.createStream()}, .runs_direct = false, .runs_unstreamed = false});
}

// Deep and wide programs: what `compile` makes, and the interpreter runs. TOKAMAK_GPU_PROGRAMS raises the number.
TEST(StreamPrograms, OfManyOpsAsKernelsForGpusGiveTheReferencesResults) {
  JitCpuDevice device({.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted});
  runSeeds(kFirstStreamSeed + 5000000, fromEnvironment("TOKAMAK_GPU_PROGRAMS", 25),
           {.program = {.max_ops = 60, .max_elements = 1024}, .grouping = Grouping::Fused, .target = hopperTarget()},
           {.place = {&device, device.createStream()}, .replays = 1, .runs_direct = false, .runs_unstreamed = false});
}

TEST(StreamPrograms, GiveTheSameBitsAHundredTimes) {
  runSeeds(kFirstStreamSeed + 1000000, kStreamPrograms, {.program = {.max_ops = 8, .max_elements = 64}},
           {.replays = 100, .runs_direct = false, .runs_unstreamed = false});
}

// Every segment a kernel; from the second run on, plans of several launches are graphs.
TEST(StreamPrograms, GiveTheSameBitsAHundredTimesOnTheGpu) {
  if (const std::string reason = reasonForNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
  const std::shared_ptr<Device> device = openCudaDevice(0, {.poisons_memory = true});
  const RunTally tally =
      runSeeds(kFirstStreamSeed + 2000000, kStreamPrograms,
               {.program = {.max_ops = 6, .max_elements = 128}, .grouping = Grouping::Fused, .target = hopperTarget()},
               {.place = {device.get(), device->createStream()},
                .replays = 100,
                .runs_direct = false,
                .runs_unstreamed = false});
  EXPECT_EQ(tally.runs, 100 * tally.programs);
}

// What the test above does with memory, on the processor.
TEST(StreamPrograms, GiveTheReferencesResultsOnMemoryOfTheDevice) {
  JitCpuDevice device({.threads = 2, .poisons_memory = true});
  runSeeds(kFirstStreamSeed + 3000000, 20, {},
           {.place = {&device, device.createStream()}, .replays = 3, .runs_direct = false, .runs_unstreamed = false});
}

}  // namespace
}  // namespace tokamak
