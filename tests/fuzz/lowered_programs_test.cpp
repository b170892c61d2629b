// Random programs lowered for processors and GPUs as `compile` and the interpreter lower them: what is refused is
// refused with a reason, and every pass leaves kernels that the verifier accepts.
#include <chrono>
#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "generator/draw_data.h"
#include "generator/draw_numeric.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/run_case.h"
#include "heuristics/kernel_target.h"
#include "ir/text/fusion_printer.h"
#include "runtime/kernel/kernel_collector.h"

namespace tokamak {
namespace {

using namespace generator;

// TOKAMAK_LOWERED_PROGRAMS raises it for longer runs.
const uint64_t kLoweredPrograms = fromEnvironment("TOKAMAK_LOWERED_PROGRAMS", 300);
const uint64_t kFirstLowered = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);

class Lowered {
 public:
  int64_t kernels = 0;
  int64_t refused = 0;

  // Every kernel of the program for the target; the sentence of an internal error, or nothing.
  std::string lower(const Fusion& fusion, const std::vector<InputData>& inputs, const KernelTarget& target) {
    try {
      KernelCollector device(target, [&](const PreparedKernel&) { ++kernels; },
                             {.verify = KernelPassOptions::Verify::Always});
      MultiDeviceExecutor executor(
          fusion, device,
          {.lowering = {.grouping = Grouping::Fused, .target = target}, .evaluator = {.units = UnitMode::Kernels}});
      const BoundInputs bound(inputs, device);
      executor.planFor(bound.values());
    } catch (const Error& error) {
      ++refused;
      if (error.code() == ErrorCode::Internal) return error.what();
    }
    return "";
  }
};

TEST(LoweredPrograms, EndWithoutInternalErrors) {
  Lowered lowered;
  const auto start = std::chrono::steady_clock::now();
  int problems = 0;
  for (uint64_t seed = kFirstLowered; seed < kFirstLowered + kLoweredPrograms && problems < 5; ++seed) {
    const bool is_numeric = seed % 2 == 0;
    const Program program = drawProgram(seed, {.max_ops = 12, .max_elements = 2048});
    const std::unique_ptr<Fusion> fusion = is_numeric ? drawNumericProgram(seed) : build(program);
    const std::vector<InputData> inputs = is_numeric ? drawNumericData(*fusion, seed) : drawData(program, seed);
    const KernelTarget target = seed % 3 == 0 ? cpuTarget() : hopperTarget();
    const std::string problem = lowered.lower(*fusion, inputs, target);
    if (problem.empty()) continue;
    ++problems;
    ADD_FAILURE() << "seed " << seed << ": " << problem << "\n" << printFusion(*fusion);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::cout << fmt::format("{} programs, {} kernels, {} refused in {:.1f} s\n", kLoweredPrograms, lowered.kernels,
                           lowered.refused, seconds.count());
  EXPECT_GT(lowered.kernels, static_cast<int64_t>(kLoweredPrograms));
  EXPECT_LT(lowered.refused, static_cast<int64_t>(kLoweredPrograms / 10));
}

}  // namespace
}  // namespace tokamak
