// Sums of many equal numbers, the worst for a chain of additions: all of them round to the same side. Numbers of either
// sign, which other tests draw, hide how long the chains are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

constexpr std::string_view kOrders[] = {"[0, 1, 2]", "[0, 2, 1]", "[1, 0, 2]", "[1, 2, 0]", "[2, 0, 1]", "[2, 1, 0]"};
constexpr std::string_view kAxes[] = {"[0, 1, 2]", "[0, 1]", "[0, 2]", "[1, 2]", "[0]", "[1]", "[2]"};
// A narrow axis, which no lanes fit in; one that lies far from the others; one that is long and alone.
const std::vector<int64_t> kShapes[] = {{300, 63, 9}, {2, 3, 20011}, {1000, 70, 3}};

// Of the combinations, which are compiled one by one; no divisor of their numbers.
constexpr int64_t kEvery = kShare > 1 ? 53 : 5;

void expectRight(const std::string& text, DataType dtype, const std::vector<int64_t>& sizes, KernelRunner runner) {
  RunBench bench({.threads = 2, .poisons_memory = true, .runner = runner});
  const auto fusion = fusionOf(text);
  MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.target = cpuTarget(1)}});
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const std::vector<RunValue> inputs = {
      bench.numbers(dtype, sizes, std::vector<double>(static_cast<size_t>(count), 0.1))};
  EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "")
      << text << "\nof " << joined(sizes, " x ");
}

TEST(LongSums, OfEqualNumbersAreRightInAnyOrderOfAxes) {
  int64_t number = 0;
  for (const DataType dtype : {DataType::F32, DataType::F64}) {
    for (const std::vector<int64_t>& sizes : kShapes) {
      for (const std::string_view order : kOrders) {
        for (const std::string_view axes : kAxes) {
          if (number++ % kEvery != 0) continue;
          const std::string text = fmt::format(
              "fusion f(T0: {}[i0, i1, i2]) -> T2 {{ T1 = neg(permute(T0, order={})) T2 = sum(T1, axes={}) }}",
              dataTypeName(dtype), order, axes);
          expectRight(text, dtype, sizes, KernelRunner::Compiled);
        }
      }
    }
  }
}

TEST(LongSums, OfOneOpAreRight) {
  for (const DataType dtype : {DataType::F32, DataType::F64}) {
    for (const std::vector<int64_t>& sizes : kShapes) {
      for (const std::string_view axes : kAxes) {
        const std::string text =
            fmt::format("fusion f(T0: {}[i0, i1, i2]) -> T1 {{ T1 = sum(T0, axes={}) }}", dataTypeName(dtype), axes);
        expectRight(text, dtype, sizes, KernelRunner::OpByOp);
      }
    }
  }
}

}  // namespace
}  // namespace tokamak
