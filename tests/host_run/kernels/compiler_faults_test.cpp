// Programs whose kernels C compilers have translated wrongly, or not at all, while they vectorised and peeled loops
// (flags of toolchain/c_compiler_probe.cpp).
#include <chrono>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

void expectAsOracle(const std::string& program, const Sizes& sizes = {}, int64_t threads = 2, int runs = 1) {
  const auto fusion = fusionOf(program);
  RunBench bench({.threads = threads, .poisons_memory = true, .runner = KernelRunner::Compiled});
  MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.target = cpuTarget(threads)}});
  const auto inputs = bench.inputsOf(*fusion, sizes);
  const auto expected = oracleInputsOf(inputs);
  for (int i = 0; i < runs && !testing::Test::HasFailure(); ++i)
    EXPECT_EQ(differenceFromOracle(*fusion, expected, executor.runWithInput(inputs)), "") << program;
}

// Read at -1 instead of 1.
TEST(CompilerFaults, IndicesThatAreComparisons) {
  expectAsOracle(R"(
fusion f(T0: f32[64], T2: f32[64]) -> (T4, T6, T8) {
  T1 = cast(T0, dtype=bool)
  T4 = take_along_axis(T2, cast(T1, dtype=i64), axis=0)
  T6 = take_along_axis(T2, where(T1, 1, 0), axis=0)
  T8 = sinh(take_along_axis(T2, cast(cast(gt(T0, T2), dtype=i32), dtype=i64), axis=0))
})");
}

// A block wrote back what it had read of elements that another one writes.
TEST(CompilerFaults, NeighboursOfOtherBlocks) {
  const std::string program = R"(
fusion f(T0: f32[2, i0, i0], T1: f32[i0, i0, i0]) -> (T11, T17, T18, T23) {
  T2 = cast(T1, dtype=bool)
  T3 = logical_not(T2)
  T5 = sum(cast(T2, dtype=i64), axes=[0])
  T6 = broadcast(T5, flags=[true, false, false])
  T8 = add(cast(T2, dtype=i64), T6)
  T10 = broadcast(sum(T8, axes=[0]), flags=[true, false, false])
  T11 = maximum(T8, T10)
  T17 = set(pad(cat([T0, T1, T1, T1], axis=0), widths=[0, 0, 2, -1, 0, 0], value=2.0_f32))
  T18 = relu(T10)
  T19 = cast(neg(cast(T3, dtype=i64)), dtype=bool)
  T23 = remainder(cast(logical_and(T19, isreal(T0)), dtype=i64), cast(T19, dtype=i64))
})";
  expectAsOracle(program, {{"i0", 2}}, 3, 2000 / kShare);
}

// Taken apart by whether an element is a number until there was no memory left.
TEST(CompilerFaults, MinimaBesideSums) {
  expectAsOracle(R"(
fusion f(T0: f32[32, 2]) -> (T2, T4, T5, T7, T8) {
  T1 = min(T0, axes=[1])
  T2 = permute(T0, order=[0, 1])
  T3 = sum(T2, axes=[1])
  T4 = broadcast(T3, flags=[false, true])
  T5 = mul(T2, T4)
  T6 = sum(T5, axes=[1])
  T7 = broadcast(T6, flags=[false, true])
  T8 = maximum(T1, T3)
})");
}

// gcc 12 at -O3 added other elements: the loop over columns was peeled and its rest vectorised.
TEST(CompilerFaults, SumsOverMiddleAxes) {
  for (const char* dtype : {"i32", "i64", "bool", "f64"}) {
    for (const auto& [n, c] : {std::pair<int64_t, int64_t>{35, 5}, {33, 3}, {64, 7}, {40, 9}})
      expectAsOracle(fmt::format("fusion f(T0: {}[a, n, c]) -> T1 {{ T1 = sum(T0, axes=[1]) }}", dtype),
                     {{"a", 7}, {"n", n}, {"c", c}});
  }
}

// gcc 12 at -O3 took 70 s for them.
TEST(CompilerFaults, MaximaOverFewElements) {
  const auto begin = std::chrono::steady_clock::now();
  for (const int64_t m : {4, 8, 12}) {
    expectAsOracle("fusion f(T0: f64[n, m]) -> T2 { T1 = max(T0, axes=[-1], keepdim=true) T2 = ge(T1, T0) }",
                   {{"n", 5}, {"m", m}});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

// 0.0 + c * -1.0 became -c.
TEST(CompilerFaults, ZeroCountedBackwards) {
  expectAsOracle(R"(
fusion f() -> (T0, T1, T2, T3) {
  T0 = iota(length=5, start=0, step=-1, dtype=f32)
  T1 = cast(T0, dtype=f64)
  T2 = iota(length=5, start=2.5, step=-1, dtype=f64)
  T3 = iota(length=5, start=0, step=-0.5, dtype=f32)
})");
}

// What is turned into a block's own buffer is not written past the caches.
TEST(CompilerFaults, TransposedBuffers) {
  expectAsOracle(
      "fusion f(T0: f32[2, 2, 2]) -> T3 { T1 = cast(T0, dtype=f32) T2 = permute(T1, order=[1, 2, 0]) T3 = max(T2, "
      "axes=[1, 2]) } schedule { split(T3, axis=0, factor=5) }");
}

}  // namespace
}  // namespace tokamak
