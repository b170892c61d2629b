// Random programs lowered for processors and GPUs as `compile` and the interpreter lower them: what is refused is
// refused with a reason, every pass leaves kernels that the verifier accepts, and no program takes long.
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "device/kernel_target.h"
#include "generator/draw_data.h"
#include "generator/draw_numeric.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/run_case.h"
#include "ir/text/fusion_printer.h"
#include "jit/kernel_collector.h"

namespace tokamak {
namespace {

using namespace generator;

// TOKAMAK_LOWERED_PROGRAMS raises it for longer runs.
const uint64_t kLoweredPrograms = fromEnvironment("TOKAMAK_LOWERED_PROGRAMS", 300);
const uint64_t kFirstLowered = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);

constexpr double kMostLoweredSeconds = 5;  // of a processor, for one program

double processorSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct LoweredProgram {
  uint64_t seed;
  std::unique_ptr<Fusion> fusion;
  std::vector<InputData> inputs;

  explicit LoweredProgram(uint64_t from) : seed(from) {
    if (seed % 2 == 0) {
      fusion = drawNumericProgram(seed);
      inputs = drawNumericData(*fusion, seed);
      return;
    }
    constexpr std::array<int64_t, 4> kOps = {12, 25, 40, 60};
    const Program program = drawProgram(seed, {.max_ops = kOps[seed / 2 % kOps.size()], .max_elements = 2048});
    fusion = build(program);
    inputs = drawData(program, seed);
  }

  // A third for the processor.
  KernelTarget target() const { return seed % 3 == 0 ? cpuTarget() : hopperTarget(); }
};

struct LoweredTally {
  int64_t programs = 0;
  int64_t ops = 0;
  int64_t longest = 0;
  int64_t kernels = 0;
  int64_t most_kernels = 0;  ///< of a program
  int64_t refused = 0;
  double most_seconds = 0;  ///< of a processor, for a program
  uint64_t slowest = 0;
  std::vector<uint64_t> problems;

  std::string report() const {
    return fmt::format(
        "{{\n  \"what\": \"random programs lowered for a processor or a GPU, verified after each pass\",\n"
        "  \"first_seed\": {},\n  \"programs\": {},\n  \"ops\": {},\n  \"longest\": {},\n  \"kernels\": {},\n"
        "  \"most_kernels\": {},\n  \"refused\": {},\n  \"problems\": {},\n  \"seeds_with_problems\": [{}],\n"
        "  \"most_processor_seconds\": {:.2f},\n  \"slowest\": [{}]\n}}\n",
        kFirstLowered, programs, ops, longest, kernels, most_kernels, refused, problems.size(), joined(problems),
        most_seconds, slowest);
  }
};

class Lowerings {
 public:
  void lower(const LoweredProgram& program) {
    const int64_t ops = std::ssize(program.fusion->exprs());
    const int64_t before = tally.kernels;
    const double start = processorSeconds();
    std::string problem = problemOf(program);
    const double seconds = processorSeconds() - start;
    ++tally.programs;
    tally.ops += ops;
    tally.longest = std::max(tally.longest, ops);
    tally.most_kernels = std::max(tally.most_kernels, tally.kernels - before);
    if (seconds > tally.most_seconds) tally.slowest = program.seed;
    tally.most_seconds = std::max(tally.most_seconds, seconds);
    if (problem.empty() && seconds > kMostLoweredSeconds)
      problem = fmt::format("{} kernels took {:.1f} s of a processor", tally.kernels - before, seconds);
    if (problem.empty()) return;
    tally.problems.push_back(program.seed);
    ADD_FAILURE() << "seed " << program.seed << ": " << problem << "\n" << printFusion(*program.fusion);
  }

  LoweredTally tally;

 private:
  // The sentence of an internal error, or nothing.
  std::string problemOf(const LoweredProgram& program) {
    try {
      const KernelTarget target = program.target();
      KernelCollector device(target, [&](const PreparedKernel&) { ++tally.kernels; },
                             {.verify = KernelPassOptions::Verify::Always});
      MultiDeviceExecutor executor(*program.fusion, device,
                                   {.lowering = {.grouping = Grouping::Fused, .target = target},
                                    .evaluator = {.segments = SegmentMode::Kernels}});
      const BoundInputs bound(program.inputs, device);
      executor.planFor(bound.values());
    } catch (const Error& error) {
      ++tally.refused;
      if (error.code() == ErrorCode::Internal) return error.what();
    }
    return "";
  }
};

// TOKAMAK_LOWERED_RESULTS: a file for the figures.
TEST(LoweredPrograms, EndWithoutInternalErrors) {
  Lowerings lowerings;
  const LoweredTally& tally = lowerings.tally;
  constexpr size_t kMostProblems = 5;
  for (uint64_t i = 0; i < kLoweredPrograms && tally.problems.size() < kMostProblems; ++i)
    lowerings.lower(LoweredProgram(kFirstLowered + i));
  std::cout << tally.report();
  if (const char* file = std::getenv("TOKAMAK_LOWERED_RESULTS")) std::ofstream(file) << tally.report();
  EXPECT_GT(tally.kernels, tally.programs);
  EXPECT_LT(tally.refused, tally.programs / 10);
  constexpr int64_t kMany = 300;
  constexpr int64_t kLong = 50;
  if (tally.programs >= kMany) {
    EXPECT_GT(tally.longest, kLong);
  }
}

}  // namespace
}  // namespace tokamak
