// Sizes that no memory holds, values that do not exist (yet, or any more): typed errors, after which the process goes
// on.
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

using ::testing::HasSubstr;

// An outer sum, [i0] and [i2] to [i0, i2], from inputs that repeat one element and so have any size.
const char* const kOuter =
    "fusion f(T0: f32[i0 strided], T1: f32[i2 strided]) -> T5 { T2 = unsqueeze(T0, axis=1) T3 = unsqueeze(T1, axis=0) "
    "T4 = add(T2, T3) T5 = neg(T4) } ";

class Exhaustion : public testing::Test {
 protected:
  RunBench bench_{{.threads = 2, .memory_limit = int64_t{64} << 20, .poisons_memory = true}};

  Tensor repeated(double element, int64_t size) {
    const Tensor one = bench_.numbers(DataType::F32, {1}, {element});
    const int64_t sizes[] = {size}, strides[] = {0};
    return {one.buffer(), 0, DataType::F32, sizes, strides};
  }
  std::vector<Tensor> outer(MultiDeviceExecutor& executor, int64_t rows, int64_t columns) {
    const RunValue inputs[] = {repeated(1, rows), repeated(2, columns)};
    return executor.runWithInput(inputs);
  }
};

TEST_F(Exhaustion, SizesThatDoNotFitMemoryAreATypedErrorAndTheNextRunWorks) {
  const auto fusion = fusionOf(kOuter);
  for (const Mode mode : kModes) {
    MultiDeviceExecutor executor(*fusion, bench_.device,
                                 {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1 << 14, 1 << 14},  // 1 GiB
                                        {int64_t{1} << 40, 1 << 20},
                                        {int64_t{1} << 40, int64_t{1} << 40},  // more elements than 63 bits count
                                        {int64_t{1} << 31, int64_t{1} << 31},  // more bytes than 63 bits count
                                        {INT64_MAX, 2},
                                        {INT64_MAX, INT64_MAX}}) {
      EXPECT_EQ(errorOf([&] { outer(executor, rows, columns); }).code(), ErrorCode::OutOfMemory)
          << rows << " x " << columns;
      EXPECT_EQ(numbersOf(outer(executor, 2, 3).at(0)), std::vector<double>(6, -3));
    }
  }
}

TEST_F(Exhaustion, StreamedSizesThatDoNotFitAreATypedErrorToo) {
  const auto fusion =
      fusionOf(std::string(kOuter) +
               "schedule { split(T5, axis=0, factor=1048576) parallelize(T5, axis=0, type=Stream) propagate(T5) }");
  for (const Mode mode : kModes) {
    MultiDeviceExecutor executor(*fusion, bench_.device,
                                 {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
    // More elements than 63 bits count in 4,096 iterations: each is recorded before the outputs are allocated. More
    // iterations than a loop may have are refused before.
    using Case = std::tuple<int64_t, int64_t, ErrorCode>;
    for (const auto& [rows, columns, code] :
         {Case{1 << 14, 1 << 14, ErrorCode::OutOfMemory},
          Case{int64_t{1} << 32, int64_t{1} << 40, ErrorCode::OutOfMemory}, Case{INT64_MAX, 2, ErrorCode::Bind}}) {
      EXPECT_EQ(errorOf([&] { outer(executor, rows, columns); }).code(), code) << rows << " x " << columns;
      EXPECT_EQ(numbersOf(outer(executor, 2, 3).at(0)), std::vector<double>(6, -3));
    }
  }
}

TEST_F(Exhaustion, EveryAllocationOfARunMayFail) {
  const auto fusion = fusionOf(kOuter);
  for (const Mode mode : kModes) {
    const std::vector<RunValue> inputs = {repeated(1, 2), repeated(2, 3)};
    int failures = 0;
    // A failure behind which memory can be given up is none for the caller.
    for (int64_t n = 1; n < 8; ++n) {
      MultiDeviceExecutor executor(*fusion, bench_.device,
                                   {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
      bench_.device.failAllocation(n);
      const Error error = errorOf([&] { executor.runWithInput(inputs); });
      bench_.device.failAllocation(0);
      EXPECT_EQ(numbersOf(executor.runWithInput(inputs).at(0)), std::vector<double>(6, -3));
      if (error.code() == ErrorCode::Internal) continue;  // nothing was raised
      EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
      ++failures;
    }
    EXPECT_GE(failures, mode == Mode::Plan ? 1 : 2) << "mode " << static_cast<int>(mode);
  }
}

// Each size leaves a plan with intermediates; all of them do not fit.
TEST_F(Exhaustion, PlansOfOtherSizesGiveUpTheirMemory) {
  const auto fusion = fusionOf(kOuter);
  MultiDeviceExecutor executor(*fusion, bench_.device, {.lowering = {.grouping = Grouping::Single}, .evaluator = {}});
  for (int64_t round = 0; round < 2; ++round) {
    for (int64_t rows = 1000; rows < 1010; ++rows) {
      const std::vector<Tensor> outputs = outer(executor, rows, 2000);
      EXPECT_EQ(numbersOf(outputs.at(0).slice(0, 0, 2)), std::vector<double>(4000, -3));
    }
  }
  EXPECT_GT(bench_.device.memoryStatistics(MemoryKind::Device).bytes_in_use, 0);
}

TEST_F(Exhaustion, TheErrorNamesTheRequestWhatItIsForAndWhatIsInUse) {
  const auto fusion = fusionOf(kOuter);
  MultiDeviceExecutor executor(*fusion, bench_.device, {.lowering = {.grouping = Grouping::Single}, .evaluator = {}});
  const Tensor held = bench_.empty(DataType::F32, {1024, 8192});  // half of it
  const Error intermediates = errorOf([&] { outer(executor, 4096, 2560); });
  EXPECT_THAT(intermediates.message(),
              testing::MatchesRegex("allocate: [0-9]+ bytes of device memory were asked for while [0-9]+ are held; the "
                                    "device may hold 67108864; [0-9]+ blocks are in use, the largest of "
                                    "\\[33554432 \\(device\\)[^]]*\\] bytes"));
  EXPECT_THAT(
      std::string(intermediates.what()),
      HasSubstr("while allocating 41969664 bytes of intermediates, the largest of them T4 (41943040 bytes), T2"));
  const Error outputs = errorOf([&] { outer(executor, 2048, 2560); });
  EXPECT_THAT(std::string(outputs.what()), HasSubstr("while allocating 20971520 bytes for output T5"));
  EXPECT_EQ(numbersOf(outer(executor, 2, 3).at(0)), std::vector<double>(6, -3));
}

TEST_F(Exhaustion, SizesThatComeOutNegativeAreRefused) {
  const auto fusion = fusionOf("fusion f(T0: f32[i0]) -> T1 { T1 = slice(T0, axis=0, start=5) }");
  for (const Mode mode : kModes) {
    MultiDeviceExecutor executor(*fusion, bench_.device,
                                 {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
    const RunValue bad[] = {bench_.random(DataType::F32, {3}, 1)};
    EXPECT_EQ(errorOf([&] { executor.runWithInput(bad); }).code(), ErrorCode::Bind);
    const RunValue good[] = {bench_.numbers(DataType::F32, {6}, {1, 2, 3, 4, 5, 6})};
    EXPECT_EQ(numbersOf(executor.runWithInput(good).at(0)), (std::vector<double>{6}));
  }
  const int64_t negative[] = {-1};
  EXPECT_EQ(
      errorOf([&] { Tensor::empty(bench_.device, bench_.stream, DataType::F32, negative, MemoryKind::Device); }).code(),
      ErrorCode::Bind);
}

TEST_F(Exhaustion, AValueIsNotReadBeforeItExists) {
  const std::vector<std::string> tensors = {"T0_g_float[iS0{i0}]", "T1_g_float[iS1{i0}]", "T2_g_float[iS2{i0}]"};
  const auto refusal = [&](const std::string& body) {
    return refusalOf([&] { HostIrEvaluator(hostProgramOf({tensors, "(@T0) -> (@T2)", body}), bench_.device); });
  };
  EXPECT_THAT(
      refusal("  @T2 = @T1 + @T0;\n  @T1 = -@T0;\n"),
      HasSubstr(
          "host program: host program host_program: value T1: f32[i0] must be precomputed before being retrieved"));
  EXPECT_THAT(refusal("  @T1 = -@T0;\n"), HasSubstr("nothing computes output T2: f32[i0]"));
  EXPECT_THAT(refusal("  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=i0, zero_init=false, resets_to_zero=false)\n "
                      " @T2 = -@T1;\n"),
              HasSubstr("value T1: f32[i0] is read by pointwise, but is only allocated"));
  EXPECT_THAT(refusal("  @T1 = -@T0;\n  DEALLOCATE(buffer=@T1)\n  @T2 = -@T1;\n"),
              HasSubstr("T1: f32[i0] is read by pointwise after its Deallocate"));
  EXPECT_THAT(refusal("  @T2 = -@T0;\n  DEALLOCATE(buffer=@T0)\n"),
              HasSubstr("is deallocated, and the caller owns it"));
  EXPECT_THAT(refusal("  @T1 = -@T0;\n  @T2 = -@T1;\n  DEALLOCATE(buffer=@T1)\n  DEALLOCATE(buffer=@T1)\n"),
              HasSubstr("T1: f32[i0] is deallocated twice"));
  EXPECT_EQ(refusal("  @T1 = -@T0;\n  @T2 = -@T1;\n  DEALLOCATE(buffer=@T1)\n"), "internal: nothing was raised");
}

// A loop that may not run leaves its value unknown: the program is legal, and its run tells.
TEST_F(Exhaustion, AValueOfALoopThatDoesNotRunIsMissedWhenRead) {
  const HostText text{{"T0_g_float[iS0{i0}]", "T1_g_float[iS1{i0}]", "T2_g_float[iS2{i0}]"},
                      "(@T0, k) -> (@T2)",
                      "  FOR i from 0 to k:\n    @T1 = -@T0;\n  @T2 = -@T1;\n",
                      "Scalars:{\n  k: int64_t\n}\n"};
  const Tensor in = bench_.numbers(DataType::F32, {2}, {1, 2});
  for (const Mode mode : kModes) {
    HostIrEvaluator evaluator(hostProgramOf(text), bench_.device, {.mode = mode});
    const auto run = [&](int64_t k) {
      return evaluator.runWithInput(bound(evaluator.program(), {in, ScalarValue{k}}));
    };
    EXPECT_EQ(refusalOf([&] { run(0); }), "host program: value T1: f32[i0] must be precomputed before being retrieved");
    EXPECT_EQ(numbersOf(run(1).at(0)), (std::vector<double>{1, 2}));
    EXPECT_EQ(errorOf([&] { run(0); }).code(), ErrorCode::HostProgram);
  }
}

}  // namespace
}  // namespace tokamak
