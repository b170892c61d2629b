// Kernels on memory that few programs have: nothing along an axis, and elements further apart than 32 bits count.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "runtime/cpu/stream_edges.h"

namespace tokamak {
namespace {

MultiDeviceExecutor kernelsOf(const Fusion& fusion, Device& device) {
  return MultiDeviceExecutor(
      fusion, device, {.lowering = {.grouping = Grouping::Fused}, .evaluator = {.segments = SegmentMode::Kernels}});
}

// The same elements, by strides that mean nothing where nothing moves along an axis: reversing makes negative ones.
RunValue withStrangeStrides(const RunValue& input, int64_t strange) {
  const auto& tensor = std::get<Tensor>(input);
  std::vector<int64_t> strides(tensor.strides().begin(), tensor.strides().end());
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    if (tensor.numel() == 0 || tensor.sizes()[axis] == 1) strides[axis] = strange;
  }
  return Tensor(tensor.buffer(), tensor.offsetBytes(), tensor.dtype(), tensor.sizes(), strides);
}

TEST(UnusualMemory, SizesZeroAndOneOnAnyAxis) {
  const auto fusion = fusionOf(R"(
fusion f(T0: f32[i0, i1, i2], T1: f32[i2]) -> (T2, T4, T5, T6, T8) {
  T2 = softmax(T0)
  T3 = sum(mul(T0, T1), axes=[1])
  T4 = neg(T3)
  T5 = permute(T0, order=[2, 0, 1])
  T6 = max(T0, axes=[0, 1, 2])
  T7 = cat([T0, T0], axis=1)
  T8 = exp(T7)
})");
  for (const KernelRunner runner : {KernelRunner::Compiled, KernelRunner::Interpreted}) {
    RunBench bench({.threads = 2, .poisons_memory = true, .runner = runner});
    MultiDeviceExecutor executor = kernelsOf(*fusion, bench.device);
    for (const int64_t rows : {0, 1, 3}) {
      for (const int64_t middle : {0, 1, 3}) {
        for (const int64_t columns : {0, 1, 3}) {
          const auto inputs = bench.inputsOf(*fusion, {{"i0", rows}, {"i1", middle}, {"i2", columns}});
          EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "")
              << rows << ", " << middle << ", " << columns;
          for (const int64_t strange : {int64_t{-1}, int64_t{-24}, int64_t{7}, INT64_MIN, INT64_MAX}) {
            std::vector<RunValue> others;
            for (const RunValue& input : inputs) others.push_back(withStrangeStrides(input, strange));
            EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(others)), "")
                << rows << ", " << middle << ", " << columns << ", strides " << strange;
          }
        }
      }
    }
  }
}

TEST(UnusualMemory, ReductionsIntoOutputsOfAnyStrideOrder) {
  for (const KernelRunner runner : {KernelRunner::Compiled, KernelRunner::Interpreted}) {
    RunBench bench({.threads = 2, .poisons_memory = true, .runner = runner});
    const int64_t size = runner == KernelRunner::Compiled ? 70 : 35;
    for (const std::string axis : {"0", "1", "2"}) {
      const auto fusion = fusionOf("fusion f(T0: f32[i0, i1, i2]) -> T1 { T1 = sum(T0, axes=[" + axis + "]) }");
      MultiDeviceExecutor executor = kernelsOf(*fusion, bench.device);
      const auto inputs = bench.inputsOf(*fusion, {{"i0", size}, {"i1", size}, {"i2", size}});
      for (const int64_t gap : {0, 3}) {
        const std::vector<Tensor> given = {bench.empty(DataType::F32, {size, size}, {1, size + gap})};
        EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs, given)), "");
      }
    }
  }
}

// Rows are heads, which are a part of an axis of the result.
TEST(UnusualMemory, MergedHeadsIntoOutputsOfAnyStrideOrder) {
  const auto fusion = fusionOf(R"(
fusion f(T0: f32[rows, heads, size], T1: f32[size], T2: f32[rows, heads * size]) -> T5 {
  T3 = rms_norm(T0, T1)
  T4 = reshape(T3, shape=[rows, heads * size])
  T5 = add(T4, T2)
})");
  for (const KernelRunner runner : {KernelRunner::Compiled, KernelRunner::Interpreted}) {
    RunBench bench({.threads = 2, .poisons_memory = true, .runner = runner});
    MultiDeviceExecutor executor = kernelsOf(*fusion, bench.device);
    for (const int64_t heads : {0, 1, 3}) {
      for (const int64_t size : {0, 1, 8, 37}) {
        const auto inputs = bench.inputsOf(*fusion, {{"rows", 5}, {"heads", heads}, {"size", size}});
        const int64_t columns = heads * size;
        EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "");
        for (const int64_t gap : {0, 3}) {
          for (const std::vector<int64_t>& strides :
               {std::vector<int64_t>{1, 5 + gap}, std::vector<int64_t>{columns + gap, 1}, {2 * columns + gap, 2}}) {
            const std::vector<Tensor> given = {bench.empty(DataType::F32, {5, columns}, strides)};
            EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs, given)), "")
                << heads << ", " << size << ", gap " << gap;
          }
        }
      }
    }
  }
}

// Kernels take these inputs in more axes than the programs.
TEST(UnusualMemory, InputsAreTakenInTheAxesThatTheyAreReadIn) {
  constexpr const char* kPrograms[] = {// beside something expanded
                                       R"(fusion f(T0: f32[a, 16], T1: f32[a]) -> T5 {
  T2 = expand(broadcast(T1, flags=[false, true]), shape=[a, 16])
  T3 = reshape(mul(T0, T2), shape=[a, 2, 8])
  T5 = softmax(T3)
})",
                                       // by two reshapes, the second of what the first is of
                                       R"(fusion f(T0: f32[a, 16]) -> (T8, T9) {
  T1 = exp(T0)
  T2 = sin(T1)
  T3 = reshape(T1, shape=[a, 2, 8])
  T4 = max(T3, axes=[2], keepdim=true)
  T8 = sub(T3, T4)
  T6 = reshape(T2, shape=[a, 2, 8])
  T7 = max(mul(T6, T4), axes=[2], keepdim=true)
  T9 = add(T6, T7)
})",
                                       // given as it is read
                                       R"(fusion f(T0: f32[24, g]) -> (T2, T3) {
  T1 = sin(T0)
  T2 = reshape(T1, shape=[3, 8, g])
  T3 = sum(T2, axes=[0])
})"};
  for (const char* program : kPrograms) {
    const auto fusion = fusionOf(program);
    for (const KernelRunner runner : {KernelRunner::Compiled, KernelRunner::Interpreted}) {
      for (const KernelTarget& target : {cpuTarget(2), hopperTarget()}) {
        if (runner == KernelRunner::Compiled && target.kind == TargetKind::Cuda) continue;
        RunBench bench({.threads = 2, .poisons_memory = true, .runner = runner});
        MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.target = target}});
        for (const int64_t size : {0, 1, 5}) {
          const auto inputs = bench.inputsOf(*fusion, {{"a", size}, {"g", size}});
          EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "")
              << program;
        }
      }
    }
  }
}

// As many elements as before, because there are none. What is a row does not depend on that.
TEST(UnusualMemory, ReshapesOfNothing) {
  const auto fusion = fusionOf(R"(
fusion f(T0: f32[i0, i1, i0]) -> T3 {
  T1 = sum(T0, axes=[0, 2])
  T2 = add(T0, broadcast(T1, flags=[true, false, true]))
  T3 = reshape(T2, shape=[i0, i1])
})");
  RunBench bench({.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted});
  MultiDeviceExecutor executor = kernelsOf(*fusion, bench.device);
  const auto inputs = bench.inputsOf(*fusion, {{"i0", 3}, {"i1", 0}});
  EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "");
}

// Addresses that nothing stands behind until they are touched.
class SparseMemory {
 public:
  explicit SparseMemory(int64_t bytes) : bytes_(bytes) {
    void* const address = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    address_ = address == MAP_FAILED ? nullptr : static_cast<float*>(address);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  ~SparseMemory() {
    if (address_ != nullptr) munmap(address_, static_cast<size_t>(bytes_));
  }
  float* address() const { return address_; }

 private:
  int64_t bytes_;
  float* address_ = nullptr;
};

#ifndef TK_THREAD_SANITIZER  // which keeps several times as much memory
TEST(UnusualMemory, ElementsFurtherApartThan32BitsCount) {
  constexpr int64_t kApart = (int64_t{1} << 30) + 5;  // the last row starts behind element 2^32
  constexpr int64_t kRows = 5;
  constexpr int64_t kColumns = 37;
  const SparseMemory memory((kRows * kApart + kColumns) * static_cast<int64_t>(sizeof(float)));
  if (memory.address() == nullptr) GTEST_SKIP() << "no 20 GiB of addresses";
  RunBench bench;
  const auto fusion = fusionOf(R"(
fusion f(T0: f32[i0 strided, i2 strided]) -> (T1, T2, T4) {
  T1 = neg(T0)
  T2 = sum(T0, axes=[0])
  T3 = permute(T0, order=[1, 0])
  T4 = exp(T3)
})");
  for (const Grouping grouping : {Grouping::Fused, Grouping::Single}) {
    MultiDeviceExecutor executor(
        *fusion, bench.device,
        {.lowering = {.grouping = grouping},
         .evaluator = {.segments = grouping == Grouping::Fused ? SegmentMode::Kernels : SegmentMode::OpByOp}});
    for (const bool is_turned : {false, true}) {
      const std::vector<int64_t> sizes = is_turned ? std::vector{kColumns, kRows} : std::vector{kRows, kColumns};
      const std::vector<int64_t> strides =
          is_turned ? std::vector<int64_t>{1, kApart} : std::vector<int64_t>{kApart, 1};
      const Tensor dense = bench.random(DataType::F32, {kRows, kColumns}, 3);
      const auto* elements = static_cast<const float*>(dense.hostData());
      for (int64_t row = 0; row < kRows; ++row)
        std::memcpy(memory.address() + row * kApart, elements + row * kColumns, kColumns * sizeof(float));
      const Tensor apart =
          Tensor::borrow(bench.device, memory.address(), DataType::F32, sizes, strides, MemoryKind::Device);
      const std::vector<RunValue> near = {
          Tensor(dense.buffer(), 0, DataType::F32, sizes,
                 is_turned ? std::vector<int64_t>{1, kColumns} : std::vector<int64_t>{kColumns, 1})};
      EXPECT_EQ(
          differenceFromOracle(*fusion, oracleInputsOf(near), executor.runWithInput(std::vector<RunValue>{apart})), "");
    }
  }
}

#endif

// Given memory for every element of an expanded axis, kernels by hand write all of them, too.
TEST(UnusualMemory, ExpandedOutputsInFullUnderASchedule) {
  const std::string program =
      "fusion f(T0: f32[1 ex i0, i1], T1: f32[1 ex i0, i1]) -> T3 { T2 = exp(T0) T3 = add(T2, T1) }";
  for (const std::string schedule :
       {"split(T3, axis=0, factor=3)", "split(T3, axis=0, factor=3, inner_split=false)", "merge(T3, axis=0)",
        "merge(T3, axis=0) split(T3, axis=0, factor=4) parallelize(T3, axis=0, type=BIDx) inline_most()",
        "reorder(T2, order=[1, 0]) split(T2, axis=1, factor=2) reorder(T3, order=[1, 0]) split(T3, axis=1, factor=2) "
        "inline_at(T2, position=2)",
        "parallelize(T3, axis=0, type=BIDx) inline_at(T2, position=1)",
        "split(T2, axis=0, factor=5) split(T3, axis=1, factor=2)"}) {
    SCOPED_TRACE(schedule);
    const auto fusion = fusionOf(program + " schedule { " + schedule + " }");
    for (const KernelRunner runner : {KernelRunner::Compiled, KernelRunner::Interpreted}) {
      RunBench bench({.threads = 2, .poisons_memory = true, .runner = runner});
      MultiDeviceExecutor executor = kernelsOf(*fusion, bench.device);
      for (const int64_t rows : {0, 1, 7}) {
        std::vector<RunValue> inputs;
        for (const uint64_t seed : {1, 2}) {
          const Tensor row = bench.random(DataType::F32, {6}, seed);
          inputs.emplace_back(
              Tensor(row.buffer(), 0, DataType::F32, std::vector<int64_t>{rows, 6}, std::vector<int64_t>{0, 1}));
        }
        const std::vector<Tensor> given = {bench.empty(DataType::F32, {rows, 6})};
        EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs, given)), "");
        EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "");
      }
    }
  }
}

// Some results in full, others as one element of each axis that only shows it.
TEST(UnusualMemory, ExpandedReductionsInFull) {
  for (const std::string program :
       {"fusion f(T0: f32[2, 1, 1 ex 2, 2]) -> (T1, T3) { T1 = sum(T0, axes=[3]) T2 = broadcast(T1, flags=[false, "
        "false, false, true]) T3 = clamp(T0, T0, T2) }",
        "fusion f(T0: f32[5, 1 ex 2, 2]) -> (T2, T6) { T2 = max(T0, axes=[2]) T6 = sum(exp(sub(T0, broadcast(T2, "
        "flags=[false, false, true]))), axes=[2]) }",
        "fusion f(T0: f32[1 ex 7, 2, 2, 2]) -> (T1, T2, T4) { T1 = signbit(T0) T2 = sum(T0, axes=[3]) T4 = sub(T0, "
        "broadcast(T2, flags=[false, false, false, true])) }"}) {
    SCOPED_TRACE(program);
    const auto fusion = fusionOf(program);
    for (const KernelTarget& target : {cpuTarget(2), hopperTarget()}) {
      RunBench bench({.threads = 2, .poisons_memory = true, .runner = KernelRunner::Interpreted});
      MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = {.target = target}});
      const TensorView* input = tensorsOf(fusion->inputs())[0];
      std::vector<int64_t> sizes;
      std::vector<int64_t> strides;
      int64_t elements = 1;
      for (const IterDomain* axis : input->logical()) sizes.push_back(*axis->visibleExtent()->constantInt());
      for (size_t i = sizes.size(); i-- > 0;) {
        const bool is_shown = input->logical()[i]->isBroadcast();
        strides.insert(strides.begin(), is_shown ? 0 : elements);
        if (!is_shown) elements *= sizes[i];
      }
      const Tensor memory = bench.random(DataType::F32, {elements}, 3);
      const std::vector<RunValue> inputs = {Tensor(memory.buffer(), 0, DataType::F32, sizes, strides)};
      const std::vector<Tensor> shown = executor.runWithInput(inputs);
      EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), shown), "");
      // Each way to give memory: in full, or what the program chose.
      for (size_t choice = 0; choice < size_t{1} << shown.size(); ++choice) {
        std::vector<Tensor> given;
        for (size_t i = 0; i < shown.size(); ++i) {
          const std::vector<int64_t> extents(shown[i].sizes().begin(), shown[i].sizes().end());
          given.push_back((choice >> i & 1) != 0 ? bench.empty(shown[i].dtype(), extents) : Tensor());
        }
        EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs, given)), "");
      }
    }
  }
}

// Rows of the result lie across what is read, which goes in parts from one position each.
TEST(UnusualMemory, PositionsAlongTransposedRows) {
  const auto fusion = fusionOf(R"(
fusion f(T0: f32[1, 10, 8], T2: f32[1, 1, 1], T4: i32[2, 10, 8]) -> T5 {
  T1 = expand(T0, shape=[2, 10, 8])
  T3 = lt(T1, T2)
  T5 = take_along_axis(T3, T4, axis=0)
})");
  for (const Grouping grouping : {Grouping::Single, Grouping::Fused}) {
    RunBench bench;
    MultiDeviceExecutor executor(
        *fusion, bench.device,
        {.lowering = {.grouping = grouping},
         .evaluator = {.segments = grouping == Grouping::Fused ? SegmentMode::Kernels : SegmentMode::OpByOp}});
    const auto inputs = bench.inputsOf(*fusion);
    for (const std::vector<int64_t>& strides :
         {std::vector<int64_t>{80, 8, 1}, {1, 2, 20}, {160, 16, 2}, {80, 1, 10}, {2, 4, 40}, {8, 16, 1}}) {
      const std::vector<Tensor> given = {bench.empty(DataType::Bool, {2, 10, 8}, strides)};
      EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs, given)), "");
    }
  }
}

// One element shown four thousand million times; what is read of it lies behind 2^32.
TEST(UnusualMemory, MoreElementsThan32BitsCount) {
  RunBench bench;
  const auto fusion = fusionOf(R"(
fusion f(T0: f32[1 ex i0, 1 ex i1, i2 strided]) -> T4 {
  T1 = slice(T0, axis=0, start=69990, stop=69993)
  T2 = slice(T1, axis=1, start=69997, stop=70000)
  T3 = exp(T2)
  T4 = add(T3, T2)
})");
  MultiDeviceExecutor executor = kernelsOf(*fusion, bench.device);
  const Tensor few = bench.random(DataType::F32, {4}, 5);
  const std::vector<RunValue> inputs = {
      Tensor(few.buffer(), 0, DataType::F32, std::vector<int64_t>{70000, 70000, 4}, std::vector<int64_t>{0, 0, 1})};
  const std::vector<Tensor> outputs = executor.runWithInput(inputs);
  const std::vector<double> row = numbersOf(few);
  const std::vector<double> numbers = numbersOf(outputs.at(0));
  ASSERT_EQ(numbers.size(), 36U);
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_NEAR(numbers[i], std::exp(row[i % 4]) + row[i % 4], 1e-4);
}

}  // namespace
}  // namespace tokamak
