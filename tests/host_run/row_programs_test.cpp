// Programs of rows: norms and softmaxes beside sums of columns, repeated along new axes, compared. Whatever is grouped
// into a kernel while sizes are symbols is one at all sizes, none and one included.
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "heuristics/kernel_target.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

// What differs from the oracle, or why there is no kernel; empty when all is well.
std::string problemAt(const Fusion& fusion, MultiDeviceExecutor& executor, RunBench& bench, const Sizes& sizes) {
  const auto inputs = bench.inputsOf(fusion, sizes);
  const auto reference = oracleInputsOf(inputs);
  try {
    return differenceFromOracle(fusion, reference, executor.runWithInput(inputs));
  } catch (const Error& error) {
    return error.message();
  }
}

template <class Visit>
void forEachTarget(const Visit& visit) {
  for (const KernelTarget& target : {cpuTarget(2), hopperTarget()}) {
    SCOPED_TRACE(target.kind == TargetKind::Cpu ? "for the processor" : "for a GPU");
    RunBench bench({.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted, .target = target});
    visit(bench);
  }
}

const std::string kRowCases[] = {
    // Of a row there is one element for all that an axis repeats; rows end within a turn of the threads.
    "(v: f32[m, n]) -> y { y = broadcast_in_dim(softmax(v), shape=[m, 4, n], axes=[0, 2]) }",
    "(v: f32[m, n], g: f32[n]) -> y { y = broadcast_in_dim(layer_norm(v, g), shape=[m, n, 2], axes=[0, 1]) }",
    "(v: f32[m, n]) -> y { y = lt(broadcast_in_dim(rms_norm(v), shape=[3, m, n], axes=[1, 2]), 0.5) }",
    // Parts of columns over no rows.
    "(x: f32[m, n]) -> (a, b) { a = rms_norm(x) b = sum(a * x, axes=[0]) }",
    "(x: f32[m, n]) -> (a, b) { a = softmax(x) b = sum(a * x, axes=[0]) }",
};

TEST(RowPrograms, OfKnownFaults) {
  forEachTarget([](RunBench& bench) {
    for (const std::string& text : kRowCases) {
      const auto fusion = fusionOf("fusion f" + text);
      MultiDeviceExecutor executor(*fusion, bench.device, {});
      for (const int64_t m : {0, 7}) {
        for (const int64_t n : {15, 65, 500})
          EXPECT_EQ(problemAt(*fusion, executor, bench, {{"m", m}, {"n", n}}), "")
              << text << " sizes { m = " << m << ", n = " << n << " }";
      }
    }
  });
}

}  // namespace
}  // namespace tokamak
