// Devices that make no kernels: segments run op by op on the library's own loops, who asked for kernels is told, or an
// error is raised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/temporary_folder.h"
#include "device/kernel_observer.h"
#include "error_of.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "runtime/cpu/cpu_device.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Listener final : public KernelObserver {
 public:
  void onKernel(const Fusion&, const std::string&, const std::string&) override { ++kernels; }
  void onNoCompiler(const std::string& reason) override { reasons.push_back(reason); }
  int64_t kernels = 0;
  std::vector<std::string> reasons;
};

constexpr const char* kNormalise =
    "fusion f(T0: bf16[i0, i2], T1: f32[i2]) -> T2 { T2 = cast(layer_norm(cast(T0, dtype=f32), weight=T1), "
    "dtype=bf16) } sizes { i0 = 7, i2 = 33 }";

void expectRight(RunBench& bench, MultiDeviceExecutor& executor, const Fusion& fusion) {
  const std::vector<RunValue> inputs = bench.inputsOf(fusion);
  const auto reference = oracleInputsOf(inputs);
  EXPECT_EQ(differenceFromOracle(fusion, reference, executor.runWithInput(inputs)), "");
}

TEST(OpByOp, IsWhatADeviceDoesWithoutACompilerAndItsObserverIsToldOnce) {
  const ScopedVariable none("TOKAMAK_CC", "/nowhere/cc");
  Listener listener;
  RunBench bench({.threads = 2, .poisons_memory = true, .kernels = &listener});
  const auto fusion = fusionOf(kNormalise);
  for (const Mode mode : kModes) {
    MultiDeviceExecutor executor(*fusion, bench.device, {.evaluator = {.mode = mode}});
    EXPECT_EQ(executor.evaluator().segmentMode(), SegmentMode::OpByOp);
    expectRight(bench, executor, *fusion);
  }
  EXPECT_EQ(listener.kernels, 0);
  EXPECT_THAT(listener.reasons, ElementsAre(HasSubstr("C compiler: '/nowhere/cc' is no program that can be run")));
}

TEST(OpByOp, IsNotLookedIntoByProgramsWithoutSegments) {
  const ScopedVariable none("TOKAMAK_CC", "/nowhere/cc");
  Listener listener;
  RunBench bench({.threads = 2, .poisons_memory = true, .kernels = &listener});
  const auto fusion = fusionOf("fusion f(T0: f32[5]) -> T1 { T1 = exp(T0) }");
  MultiDeviceExecutor executor(*fusion, bench.device, {});
  expectRight(bench, executor, *fusion);
  EXPECT_TRUE(listener.reasons.empty());
}

TEST(OpByOp, NeedsNoCompilerWhereItIsAskedFor) {
  Listener listener;
  RunBench bench({.threads = 2, .poisons_memory = true, .kernels = &listener, .runner = KernelRunner::OpByOp});
  const auto fusion = fusionOf(kNormalise);
  MultiDeviceExecutor executor(*fusion, bench.device, {});
  expectRight(bench, executor, *fusion);
  EXPECT_EQ(listener.kernels, 0);
  EXPECT_TRUE(listener.reasons.empty());
}

TEST(OpByOp, IsAnErrorWhereKernelsMustBeCompiled) {
  const ScopedVariable none("TOKAMAK_CC", "/nowhere/cc");
  RunBench bench({.threads = 2, .runner = KernelRunner::CompiledOnly});
  const auto fusion = fusionOf(kNormalise);
  const Error error = errorOf([&] { MultiDeviceExecutor(*fusion, bench.device, {}); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("kernels: they must be compiled (compiled-only), and nothing here compiles: C "
                                         "compiler: '/nowhere/cc' is no program that can be run"));
}

TEST(OpByOp, MakesNoKernelOfASegmentThatSomebodyPreparesAllTheSame) {
  const auto fusion = fusionOf(kNormalise);
  const auto program = makeHostProgram(*fusion);
  const ScalarBindings no_sizes;
  const Expr& segment = *program->topLevel().exprs.at(0);
  const Error error =
      errorOf([&] { CpuDevice({.threads = 1}).prepare({.expr = segment, .operands = {}, .bindings = no_sizes}); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("this device makes no kernels; segments run op by op here"));
}

TEST(OpByOp, IsWhatADeviceDoesThatNobodyGaveKernels) {
  CpuDevice device({.threads = 2, .poisons_memory = true});
  const auto fusion = fusionOf(kNormalise);
  MultiDeviceExecutor executor(*fusion, device, {});
  EXPECT_FALSE(device.makesKernels());
  EXPECT_EQ(executor.evaluator().segmentMode(), SegmentMode::OpByOp);
}

// Of a chain of ops two results are there at a time.
TEST(OpByOp, GivesTheMemoryOfIntermediatesBackWhenTheyAreDead) {
  RunBench bench({.threads = 2, .poisons_memory = true, .runner = KernelRunner::OpByOp});
  std::string text = "fusion f(T0: f32[4096]) -> T21 { ";
  for (int i = 1; i <= 21; ++i) text += "T" + std::to_string(i) + " = sin(T" + std::to_string(i - 1) + ") ";
  const auto fusion = fusionOf(text + "}");
  MultiDeviceExecutor executor(*fusion, bench.device, {});
  const PlanSummary summary = executor.planFor(bench.inputsOf(*fusion)).summary();
  EXPECT_EQ(summary.steps, 21);
  EXPECT_EQ(summary.arena_bytes, 2 * 4096 * 4);
  expectRight(bench, executor, *fusion);
}

// Slices, permutations, broadcasts and reshapes inside of a segment are views.
TEST(OpByOp, CopiesNothingForViewsInSegments) {
  RunBench bench({.threads = 2, .poisons_memory = true, .runner = KernelRunner::OpByOp});
  const auto fusion = fusionOf(
      "fusion f(T0: f32[6, 8], T1: f32[4, 6], T2: f32[4]) -> T3 { "
      "T3 = add(mul(permute(slice(T0, starts=[0, 2], stops=[6, 6], steps=[1, 1]), order=[1, 0]), T1), "
      "broadcast(T2, flags=[false, true])) }");
  MultiDeviceExecutor executor(*fusion, bench.device, {});
  EXPECT_EQ(executor.planFor(bench.inputsOf(*fusion)).summary().steps, 2);
  expectRight(bench, executor, *fusion);
}

}  // namespace
}  // namespace tokamak
