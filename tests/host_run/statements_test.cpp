// What the statements of host programs do when they run: loops over segments, conditions, streams by index, memory in
// loops.
#include <gtest/gtest.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

class Statements : public testing::Test {
 protected:
  RunBench bench_;

  std::vector<double> run(std::unique_ptr<HostIrContainer> program, Mode mode, const std::vector<RunValue>& inputs) {
    HostIrEvaluator evaluator(std::move(program), bench_.device, {.mode = mode});
    std::vector<double> first = numbersOf(evaluator.runWithInput(bound(evaluator.program(), inputs)).at(0));
    EXPECT_EQ(numbersOf(evaluator.runWithInput(bound(evaluator.program(), inputs)).at(0)), first);
    return first;
  }
};

// T1 = T0 + 1 + 3 + 5: the segment adds the loop's index to T1, in place.
TEST_F(Statements, ALoopOverAUnitAccumulatesInPlace) {
  const HostText text{{"T0_g_int64_t[iS0{i0}]", "T1_g_int64_t[iS1{i0}]"},
                      "(@T0) -> (@T1)",
                      "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=i0, zero_init=false, resets_to_zero=false)\n"
                      "  @T1 = Set( @T0 )\n"
                      "  FOR i from 1 to 7 step 2:\n"
                      "    PostOnStream(HostUnit0, Inputs:{@T1, i, }, Outputs:{@T1, })\n",
                      "HostUnit0{\n"
                      "  %Fusion accumulate { (T0_l_int64_t[iS0{n}], k) -> (T1_l_int64_t[iS1{n}]) :\n"
                      "    T1_l_int64_t[iS1{n}]\n       = T0_l_int64_t[iS0{n}]\n       + k;\n"
                      "  } // %Fusion\n"
                      "}\n"};
  const Tensor in = bench_.numbers(DataType::I64, {3}, {10, 20, 30});
  for (const Mode mode : kModes) EXPECT_EQ(run(hostProgramOf(text), mode, {in}), (std::vector<double>{19, 29, 39}));
  for (const Mode mode : kModes) EXPECT_EQ(run(finishedProgramOf(text), mode, {in}), (std::vector<double>{19, 29, 39}));
}

TEST_F(Statements, AStreamByIndexIsTheSameStreamEachTime) {
  const std::vector<std::string> tensors = {"T0_g_float[iS0{i0}]", "T1_g_float[iS1{i0}]", "T2_g_float[iS2{i0}]"};
  const auto onStreams = [&](const std::string& first, const std::string& second) {
    return HostText{tensors, "(@T0) -> (@T2)",
                    "  GetCurrentStream into Stream 0\n"
                    "  SetCurrentStream to Stream ( " +
                        first +
                        " )\n"
                        "  Synchronize Stream 0\n"
                        "  @T1 = -@T0;\n"
                        "  SetCurrentStream to Stream ( " +
                        second +
                        " )\n"
                        "  @T2 = @T1 * float(2);\n"
                        "  SetCurrentStream to Stream 0\n"
                        "  Synchronize Stream ( " +
                        second + " )\n"};
  };
  const Tensor in = bench_.numbers(DataType::F32, {3}, {1, 2, 3});
  for (const char* const second : {"3", "( 1 + 2 )", "( 7 % numberOfStreams )"}) {
    for (const Mode mode : kModes)
      EXPECT_EQ(run(hostProgramOf(onStreams("3", second)), mode, {in}), (std::vector<double>{-2, -4, -6}));
    HostIrEvaluator evaluator(hostProgramOf(onStreams("3", second)), bench_.device);
    EXPECT_EQ(evaluator.planFor(bound(evaluator.program(), {in})).summary().streams, 2) << second;
  }
  // On two streams the second would have to wait for the first.
  HostIrEvaluator evaluator(hostProgramOf(onStreams("3", "2")), bench_.device);
  EXPECT_EQ(errorOf([&] { evaluator.planFor(bound(evaluator.program(), {in})); }).code(), ErrorCode::Race);
}

TEST_F(Statements, AConditionTakesEitherBody) {
  const HostText text{{"T0_g_float[iS0{i0}]", "T1_g_float[iS1{i0}]"},
                      "(@T0, limit) -> (@T1)",
                      "  IF ( i0 < limit ):\n"
                      "    @T1 = -@T0;\n"
                      "  ELSE:\n"
                      "    @T1 = @T0 * float(2);\n",
                      "Scalars:{\n  limit: int64_t\n}\n"};
  const Tensor in = bench_.numbers(DataType::F32, {3}, {1, 2, 3});
  for (const Mode mode : kModes) {
    HostIrEvaluator evaluator(hostProgramOf(text), bench_.device, {.mode = mode});
    const auto with = [&](int64_t limit) {
      return numbersOf(evaluator.runWithInput(bound(evaluator.program(), {in, ScalarValue{limit}})).at(0));
    };
    EXPECT_EQ(with(4), (std::vector<double>{-1, -2, -3}));
    EXPECT_EQ(with(3), (std::vector<double>{2, 4, 6}));
    EXPECT_EQ(with(4), (std::vector<double>{-1, -2, -3}));
  }
}

TEST_F(Statements, AConditionWithoutElseMayDoNothing) {
  const HostText text{{"T0_g_float[iS0{i0}]", "T1_g_float[iS1{i0}]"},
                      "(@T0) -> (@T1)",
                      "  @T1 = @T0 * float(2);\n"
                      "  IF ( i0 < 3 ):\n"
                      "    @T1 = -@T0;\n"};
  for (const Mode mode : kModes) {
    EXPECT_EQ(run(hostProgramOf(text), mode, {bench_.numbers(DataType::F32, {3}, {1, 2, 3})}),
              (std::vector<double>{2, 4, 6}));
    EXPECT_EQ(run(hostProgramOf(text), mode, {bench_.numbers(DataType::F32, {2}, {1, 2})}),
              (std::vector<double>{-1, -2}));
  }
}

// Each iteration has memory of its own for T1: were it kept, every row would hold the first one's sum.
TEST_F(Statements, AllocationInALoopIsFreshInEachIteration) {
  const HostText text{
      {"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iS2{i2}]", "T2_g_float[iS3{i0}, iS4{i2}]", "T3_l_float[iS5{i2}]",
       "T4_l_float[iS6{i2}]"},
      "(@T0) -> (@T2)",
      "  @T2 = ALLOCATE(buffer=@T2, mem_type=global, size=( i0 * i2 ), zero_init=false, resets_to_zero=false)\n"
      "  FOR i in iS0{i0}:\n"
      "    @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=i2, zero_init=true, resets_to_zero=false)\n"
      "    @T3 = HirAliasSelect( @T0, axis = iS0{i0}, index = i )\n"
      "    @T4 = HirAliasSelect( @T2, axis = iS3{i0}, index = i )\n"
      "    @T1 = @T1 + @T3;\n"
      "    @T4 = @T1 * float(10);\n"};
  const Tensor in = bench_.numbers(DataType::F32, {3, 2}, {1, 2, 3, 4, 5, 6});
  for (const Mode mode : kModes)
    EXPECT_EQ(run(hostProgramOf(text), mode, {in}), (std::vector<double>{10, 20, 30, 40, 50, 60}));
  HostIrEvaluator evaluator(hostProgramOf(text), bench_.device);
  // Iterations are in order on one stream, so that they share the bytes.
  EXPECT_EQ(evaluator.planFor(bound(evaluator.program(), {in})).summary().arena_bytes, 256);
}

TEST_F(Statements, AllocationBeforeALoopIsKeptThroughIt) {
  const HostText text{{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iS2{i2}]", "T3_l_float[iS5{i2}]"},
                      "(@T0) -> (@T1)",
                      "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=i2, zero_init=true, resets_to_zero=false)\n"
                      "  FOR i in iS0{i0}:\n"
                      "    @T3 = HirAliasSelect( @T0, axis = iS0{i0}, index = i )\n"
                      "    @T1 = @T1 + @T3;\n"};
  const Tensor in = bench_.numbers(DataType::F32, {3, 2}, {1, 2, 3, 4, 5, 6});
  for (const Mode mode : kModes) EXPECT_EQ(run(hostProgramOf(text), mode, {in}), (std::vector<double>{9, 12}));
}

TEST_F(Statements, ALoopWithoutIterationsLeavesTheRest) {
  const HostText text{{"T0_g_float[iS0{i0}]", "T1_g_float[iS1{i0}]"},
                      "(@T0) -> (@T1)",
                      "  @T1 = @T0 * float(2);\n"
                      "  FOR i from 5 to 5:\n"
                      "    @T1 = -@T0;\n"
                      "  FOR j from 5 to 2:\n"
                      "    @T1 = -@T0;\n"};
  for (const Mode mode : kModes)
    EXPECT_EQ(run(hostProgramOf(text), mode, {bench_.numbers(DataType::F32, {1}, {4})}), (std::vector<double>{8}));
}

TEST_F(Statements, NestedLoopsTileBothAxes) {
  const HostText text{
      {"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iS2{i0}, iS3{i2}]", "T2_l_float[iS4{i2}]", "T3_l_float[iS5{i2}]",
       "T4_l_float[]", "T5_l_float[]"},
      "(@T0) -> (@T1)",
      "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=( i0 * i2 ), zero_init=false, resets_to_zero=false)\n"
      "  FOR i in iS0{i0}:\n"
      "    @T2 = HirAliasSelect( @T0, axis = iS0{i0}, index = i )\n"
      "    @T3 = HirAliasSelect( @T1, axis = iS2{i0}, index = i )\n"
      "    FOR j in iS1{i2}:\n"
      "      @T4 = HirAliasSelect( @T2, axis = iS4{i2}, index = j )\n"
      "      @T5 = HirAliasSelect( @T3, axis = iS5{i2}, index = j )\n"
      "      @T5 = -@T4;\n"};
  const Tensor in = bench_.numbers(DataType::F32, {2, 3}, {1, 2, 3, 4, 5, 6});
  for (const Mode mode : kModes)
    EXPECT_EQ(run(hostProgramOf(text), mode, {in}), (std::vector<double>{-1, -2, -3, -4, -5, -6}));
}

TEST_F(Statements, AnIndexOutsideTheAxisIsRefusedAndTheNextRunWorks) {
  const HostText text{{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iS2{i2}]", "T2_l_float[iS3{i2}]"},
                      "(@T0, k) -> (@T1)",
                      "  @T2 = HirAliasSelect( @T0, axis = iS0{i0}, index = k )\n"
                      "  @T1 = -@T2;\n",
                      "Scalars:{\n  k: int64_t\n}\n"};
  const Tensor in = bench_.numbers(DataType::F32, {2, 2}, {1, 2, 3, 4});
  for (const Mode mode : kModes) {
    HostIrEvaluator evaluator(hostProgramOf(text), bench_.device, {.mode = mode});
    const auto row = [&](int64_t k) {
      return evaluator.runWithInput(bound(evaluator.program(), {in, ScalarValue{k}}));
    };
    for (const int64_t k : {int64_t{2}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
      EXPECT_EQ(errorOf([&] { row(k); }).code(), ErrorCode::HostProgram) << k;
    }
    EXPECT_EQ(numbersOf(row(1).at(0)), (std::vector<double>{-3, -4}));
  }
}

}  // namespace
}  // namespace tokamak
