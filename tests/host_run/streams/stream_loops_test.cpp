// Every program with a Stream axis that must work: the structure of its top level, and its values against the oracle,
// from a fusion and from a program written by hand, in both forms of synchronisation and both modes.
#include <gtest/gtest.h>

#include "host_run/streams/stream_cases.h"

namespace tokamak {
namespace {

std::string caseName(const testing::TestParamInfo<StreamCase>& instance) { return instance.param.name; }

class StreamLoops : public testing::TestWithParam<StreamCase> {};

std::string loweredTopLevel(HostIrContainer& program, StreamSync sync) {
  lowerStreams(program, sync);
  return topLevelOf(program);
}

TEST_P(StreamLoops, HaveThisTopLevel) {
  const auto fusion = fusionOf(GetParam().fusion);
  EXPECT_EQ(loweredTopLevel(*makeHostProgram(*fusion, {.grouping = Grouping::Single}), StreamSync::Hoisted),
            GetParam().hoisted);
  EXPECT_EQ(loweredTopLevel(*makeHostProgram(*fusion, {.grouping = Grouping::Single}), StreamSync::InLoop),
            GetParam().in_loop);
  EXPECT_EQ(loweredTopLevel(*hostProgramOf(GetParam().program), StreamSync::Hoisted), GetParam().hoisted);
  EXPECT_EQ(loweredTopLevel(*hostProgramOf(GetParam().program), StreamSync::InLoop), GetParam().in_loop);
}

// Three calls of one evaluator; all must give the oracle's values, and the same bits as `expected`, which the first
// ever sets.
void expectRuns(const Fusion& fusion, HostIrEvaluator& evaluator, const std::vector<RunValue>& inputs,
                std::vector<std::vector<std::byte>>& expected) {
  const auto reference = oracleInputsOf(inputs);
  for (int call = 0; call < 3; ++call) {
    const std::vector<Tensor> outputs = evaluator.runWithInput(bound(evaluator.program(), inputs));
    ASSERT_EQ(differenceFromOracle(fusion, reference, outputs), "") << "call " << call;
    std::vector<std::vector<std::byte>> bytes;
    for (const Tensor& output : outputs) bytes.push_back(bytesOf(output));
    if (expected.empty()) expected = bytes;
    EXPECT_EQ(bytes, expected) << "call " << call;
  }
}

TEST_P(StreamLoops, GiveTheOraclesValuesInTheSameBitsHoweverTheyRun) {
  RunBench bench;
  const auto fusion = fusionOf(GetParam().fusion);
  for (const Sizes& sizes : GetParam().sizes) {
    const std::vector<RunValue> inputs = bench.inputsOf(*fusion, sizes);
    std::vector<std::vector<std::byte>> expected;
    for (const StreamSync sync : {StreamSync::Hoisted, StreamSync::InLoop}) {
      for (const Mode mode : {Mode::Plan, Mode::Direct}) {
        for (const int64_t streams : {1, 4}) {
          SCOPED_TRACE("sync " + std::to_string(static_cast<int>(sync)) + ", mode " +
                       std::to_string(static_cast<int>(mode)) + ", streams " + std::to_string(streams) +
                       ", first input of " + std::to_string(std::get<Tensor>(inputs[0]).numel()));
          const HostIrEvaluatorParams params{.number_of_streams = streams, .mode = mode};
          HostLoweringOptions lowering{.grouping = Grouping::Single};
          lowering.stream_sync = sync;
          MultiDeviceExecutor executor(*fusion, bench.device, {.lowering = lowering, .evaluator = params});
          expectRuns(*fusion, executor.evaluator(), inputs, expected);
          HostIrEvaluator by_hand(finishedProgramOf(GetParam().program, sync), bench.device, params);
          expectRuns(*fusion, by_hand, inputs, expected);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, StreamLoops, testing::ValuesIn(streamCases()), caseName);

const std::vector<std::string> kSums = {"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iS2{i0}, iS3{i2}]",
                                        "T2_g_float[iS4{i0}, iS5{i2}]", "T3_l_float[iS6{i2}]",
                                        "T4_l_float[iS7{i2}]",          "T5_l_float[iS8{i2}]"};

// Rows of T2 by way of rows of T1, each on the stream that `stream` says.
HostText rowsOn(const std::string& stream, const std::string& zero_init, const std::string& statements) {
  return {kSums, "(@T0) -> (@T2)",
          "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=( i0 * i2 ), zero_init=" + zero_init +
              ", resets_to_zero=false)\n"
              "  @T2 = ALLOCATE(buffer=@T2, mem_type=global, size=( i0 * i2 ), zero_init=false, resets_to_zero=false)\n"
              "  GetCurrentStream into Stream 0\n"
              "  FOR StreamIdx in iS0{i0}:\n"
              "    SetCurrentStream to Stream ( " +
              stream +
              " )\n"
              "    Synchronize Stream 0\n"
              "  FOR StreamIdx in iS0{i0}:\n"
              "    SetCurrentStream to Stream ( " +
              stream +
              " )\n"
              "    @T3 = HirAliasSelect( @T0, axis = iS0{i0}, index = StreamIdx )\n"
              "    @T4 = HirAliasSelect( @T1, axis = iS2{i0}, index = StreamIdx )\n"
              "    @T5 = HirAliasSelect( @T2, axis = iS4{i0}, index = StreamIdx )\n" +
              statements +
              "    @T5 = @T4 * float(2);\n"
              "    SetCurrentStream to Stream 0\n"
              "    Synchronize Stream ( " +
              stream + " )\n"};
}

// Slots are shared by iterations of one stream: a program that deals iterations out otherwise keeps its buffers.
TEST(StreamSlots, AreNotSharedByIterationsOnDifferentStreams) {
  RunBench bench;
  const Tensor in = bench.random(DataType::F32, {9, 64}, 1);
  std::vector<double> expected;
  for (const double element : numbersOf(in)) expected.push_back(-2 * element);
  for (const char* const stream : {"StreamIdx", "( StreamIdx % numberOfStreams )", "( StreamIdx / 2 )", "0"}) {
    for (const Mode mode : {Mode::Plan, Mode::Direct}) {
      HostIrEvaluator evaluator(finishedProgramOf(rowsOn(stream, "false", "    @T4 = -@T3;\n")), bench.device,
                                {.mode = mode});
      EXPECT_EQ(numbersOf(evaluator.runWithInput(bound(evaluator.program(), {in})).at(0)), expected) << stream;
    }
  }
}

TEST(StreamSlots, AreNotUsedWhereEveryIterationNeedsZeros) {
  RunBench bench;
  const Tensor in = bench.random(DataType::F32, {9, 64}, 1);
  std::vector<double> expected;
  for (const double element : numbersOf(in)) expected.push_back(2 * element);
  for (const Mode mode : {Mode::Plan, Mode::Direct}) {
    HostIrEvaluator evaluator(
        finishedProgramOf(rowsOn("( StreamIdx % numberOfStreams )", "true", "    @T4 = @T4 + @T3;\n")), bench.device,
        {.mode = mode});
    EXPECT_EQ(numbersOf(evaluator.runWithInput(bound(evaluator.program(), {in})).at(0)), expected);
  }
}

}  // namespace
}  // namespace tokamak
