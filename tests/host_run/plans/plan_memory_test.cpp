// What plans need for intermediates: those whose uses are ordered share bytes, within an iteration and between
// iterations.
#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "host/sanitized_share.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

constexpr int64_t kChunk = 4;

struct MemoryCase {
  std::string name;
  std::string head;  // of the fusion, up to the end of its body; streamed along axis 0 of the output
  std::string output;
  std::string sizes;
};

std::vector<MemoryCase> cases() {
  return {
      {"two_ops", "fusion f(T0: f32[i0, 256]) -> T3 { T1 = exp(T0) T2 = neg(T1) T3 = mul(T2, 0.5) }", "T3", "i0 = 64"},
      {"eight_ops",
       "fusion f(T0: f32[i0, 256]) -> T8 { T1 = exp(T0) T2 = neg(T1) T3 = mul(T2, 0.5) T4 = sin(T3) T5 = cos(T4) "
       "T6 = neg(T5) T7 = sin(T6) T8 = neg(T7) }",
       "T8", "i0 = 64"},
      {"diamonds",
       "fusion f(T0: f32[i0, 256]) -> T7 { T1 = exp(T0) T2 = neg(T1) T3 = add(T1, T2) T4 = sin(T3) T5 = cos(T3) "
       "T6 = mul(T4, T5) T7 = add(T6, T3) }",
       "T7", "i0 = 64"},
      {"mlp",
       "fusion f(T0: f32[i0, model], T1: f32[hidden, model], T2: f32[model, hidden]) -> T5 { T3 = linear(T0, T1) "
       "T4 = gelu(T3) T5 = linear(T4, T2) }",
       "T5", "i0 = 64, model = 32, hidden = 128"},
      {"wide_then_narrow",
       "fusion f(T0: f32[i0, 64], T1: f32[64, 512], T2: f32[512, 16]) -> T6 { T3 = matmul(T0, T1) T4 = exp(T3) "
       "T5 = matmul(T4, T2) T6 = neg(T5) }",
       "T6", "i0 = 64"},
  };
}

std::unique_ptr<Fusion> streamed(const MemoryCase& it) {
  return fusionOf(
      fmt::format("{} sizes {{ {} }} schedule {{ split({}, axis=0, factor={}) parallelize({}, axis=0, "
                  "type=Stream) propagate({}) }}",
                  it.head, it.sizes, it.output, kChunk, it.output, it.output));
}

std::unique_ptr<Fusion> unstreamed(const MemoryCase& it) {
  return fusionOf(fmt::format("{} sizes {{ {} }}", it.head, it.sizes));
}

// Intermediates of a run at these rows; its values are compared with the oracle's, but for sanitizers, which look at
// how they come about.
int64_t arenaOf(const Fusion& fusion, int64_t rows, int64_t streams, StreamSync sync = StreamSync::Hoisted) {
  RunBench bench;
  HostLoweringOptions lowering{.grouping = Grouping::Single};
  lowering.stream_sync = sync;
  MultiDeviceExecutor executor(fusion, bench.device,
                               {.lowering = lowering, .evaluator = {.number_of_streams = streams}});
  const std::vector<RunValue> inputs = bench.inputsOf(fusion, {{"i0", rows}});
  const auto reference = oracleInputsOf(inputs);
  const auto outputs = executor.runWithInput(inputs);
  for (const Tensor& output : outputs) output.waitReady();
  if (kShare == 1) {
    EXPECT_EQ(differenceFromOracle(fusion, reference, outputs), "");
  }
  const Plan& plan = executor.planFor(inputs);
  return plan.summary().arena_bytes;
}

class StreamedMemory : public testing::TestWithParam<MemoryCase> {};

TEST_P(StreamedMemory, IsThatOfOneChunksChainPerStream) {
  const auto whole = unstreamed(GetParam());
  const auto chunks = streamed(GetParam());
  const int64_t one_chunk = arenaOf(*whole, kChunk, 1);
  const int64_t all_rows = arenaOf(*whole, 64, 1);
  for (const StreamSync sync : {StreamSync::Hoisted, StreamSync::InLoop}) {
    for (const int64_t streams : {1, 2, 4}) {
      for (const int64_t rows : {64, 61}) {
        const int64_t peak = arenaOf(*chunks, rows, streams, sync);
        EXPECT_LE(peak, streams * one_chunk) << streams << " streams, " << rows << " rows";
        if (rows == 64 && sync == StreamSync::Hoisted) {
          std::cout << fmt::format("[  memory  ] {}: {} streams: {} bytes; {} times one chunk: {}; unstreamed: {}\n",
                                   GetParam().name, streams, peak, streams, streams * one_chunk, all_rows);
          EXPECT_LE(peak, all_rows);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, StreamedMemory, testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.name; });

// A result and its operand, whatever the number of ops.
TEST(UnstreamedMemory, OfAChainIsTwoBuffers) {
  std::string body = "T1 = neg(T0)";
  for (int i = 2; i <= 12; ++i) body += fmt::format(" T{} = {}(T{})", i, i % 2 == 0 ? "sin" : "neg", i - 1);
  const auto fusion = fusionOf("fusion f(T0: f32[i0, 256]) -> T12 { " + body + " } sizes { i0 = 16 }");
  EXPECT_EQ(arenaOf(*fusion, 16, 4), 2 * 16 * 256 * 4);
}

// What is made before a loop and read by it, and what a later loop makes, share bytes where the joins order them.
TEST(LoopMemory, OfTwoLoopsWithAnOpBetweenIsThatOfTheLargest) {
  const auto fusion = fusionOf(
      "fusion f(T0: f32[i0, 256]) -> T6 { T1 = exp(T0) T2 = neg(T1) T3 = sum(T2, axes=[0], keepdim=true) "
      "T4 = sub(T2, T3) T5 = sin(T4) T6 = neg(T5) } sizes { i0 = 64 } schedule { "
      "parallelize(T1, axis=0, type=Stream) parallelize(T2, axis=0, type=Stream) parallelize(T4, axis=0, type=Stream) "
      "parallelize(T5, axis=0, type=Stream) parallelize(T6, axis=0, type=Stream) }");
  const int64_t row = 256 * 4;
  // T2 as a whole and the sum; rows of T1, or of T4 and T5, on each of two streams.
  EXPECT_LE(arenaOf(*fusion, 64, 2), 64 * row + 2 * row + 4 * row);
}

// The memory of a loop does not grow with its iterations, nor does it when the program runs without a plan.
TEST(LoopMemory, DoesNotGrowWithTheIterations) {
  const auto fusion = streamed(cases()[1]);
  EXPECT_EQ(arenaOf(*fusion, 1000, 3), arenaOf(*fusion, 64, 3));
  for (const int64_t rows : {64, 1024}) {
    RunBench bench;
    MultiDeviceExecutor executor(
        *fusion, bench.device,
        {.lowering = {.grouping = Grouping::Single}, .evaluator = {.number_of_streams = 2, .mode = Mode::Direct}});
    const std::vector<RunValue> inputs = bench.inputsOf(*fusion, {{"i0", rows}});
    const auto inUse = [&] { return bench.device.memoryStatistics(MemoryKind::Device); };
    const int64_t before = inUse().bytes_in_use;
    const std::vector<Tensor> outputs = executor.runWithInput(inputs);
    EXPECT_LE(inUse().peak_bytes_in_use - before, rows * 256 * 4 + 2 * 2 * kChunk * 256 * 4);
  }
}

// --- programs written by hand ---

const std::vector<std::string> kThreeRows = {"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iS2{i0}, iS3{i2}]",
                                             "T2_g_float[iS4{i0}, iS5{i2}]", "T3_l_float[iS6{i2}]",
                                             "T4_l_float[iS7{i2}]",          "T5_l_float[iS8{i2}]",
                                             "T6_l_float[iS9{i2}]"};

// Rows of T2 by way of rows of T1; `views` looks at T1, `statements` makes T5 from T3.
HostText rowsBy(const std::string& zero_init, const std::string& views, const std::string& statements) {
  return {kThreeRows, "(@T0) -> (@T2)",
          "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=( i0 * i2 ), zero_init=" + zero_init +
              ", resets_to_zero=false)\n"
              "  @T2 = ALLOCATE(buffer=@T2, mem_type=global, size=( i0 * i2 ), zero_init=false, resets_to_zero=false)\n"
              "  GetCurrentStream into Stream 0\n"
              "  FOR StreamIdx in iS0{i0}:\n"
              "    SetCurrentStream to Stream ( StreamIdx % numberOfStreams )\n"
              "    Synchronize Stream 0\n"
              "    @T3 = HirAliasSelect( @T0, axis = iS0{i0}, index = StreamIdx )\n" +
              views + "    @T5 = HirAliasSelect( @T2, axis = iS4{i0}, index = StreamIdx )\n" + statements +
              "    SetCurrentStream to Stream 0\n"
              "    Synchronize Stream ( StreamIdx % numberOfStreams )\n"};
}

const char* const kView = "    @T4 = HirAliasSelect( @T1, axis = iS2{i0}, index = StreamIdx )\n";
const char* const kOtherView = "    @T6 = HirAliasSelect( @T1, axis = iS2{i0}, index = StreamIdx )\n";

// The plan's intermediates for nine rows of 64 on two streams; every element must come out as `factor` times the
// input's.
int64_t arenaOfRows(const HostText& text, double factor) {
  int64_t arena = 0;
  for (const Mode mode : {Mode::Direct, Mode::Plan}) {
    RunBench bench;
    const Tensor in = bench.random(DataType::F32, {9, 64}, 1);
    std::vector<double> expected;
    for (const double element : numbersOf(in)) expected.push_back(factor * element);
    HostIrEvaluator evaluator(finishedProgramOf(text), bench.device, {.number_of_streams = 2, .mode = mode});
    const auto values = bound(evaluator.program(), {in});
    EXPECT_EQ(numbersOf(evaluator.runWithInput(values).at(0)), expected);
    if (mode == Mode::Plan) arena = evaluator.planFor(values).summary().arena_bytes;
  }
  return arena;
}

// Every iteration waits for the caller's stream, which has waited for the iteration before.
constexpr int64_t kOneRow = 64 * 4;

TEST(SlicesOfAnIntermediate, AreAllocatedInTheIterations) {
  EXPECT_EQ(arenaOfRows(rowsBy("false", kView, "    @T4 = -@T3;\n    @T5 = @T4 * float(2);\n"), -2), kOneRow);
}

TEST(SlicesOfAnIntermediate, ThatStartAsZerosDoSoInEveryIteration) {
  EXPECT_EQ(arenaOfRows(rowsBy("true", kView, "    @T4 = @T4 + @T3;\n    @T5 = @T4 * float(2);\n"), 2), kOneRow);
}

TEST(SlicesOfAnIntermediate, MayHaveSeveralNames) {
  const std::string views = std::string(kView) + kOtherView;
  EXPECT_EQ(arenaOfRows(rowsBy("false", views, "    @T4 = -@T3;\n    @T5 = @T6 * float(2);\n"), -2), kOneRow);
}

TEST(SlicesOfAnIntermediate, OfOtherIterationsKeepTheWhole) {
  // The row of the first iteration, which all read.
  const std::string first = "    @T6 = HirAliasSelect( @T1, axis = iS2{i0}, index = 0 )\n";
  const std::string text =
      "    @T4 = -@T3;\n    Synchronize Stream ( 0 )\n    @T5 = @T4 * float(2);\n    @T5 = @T5 + @T6;\n    @T5 = @T5 - "
      "@T6;\n";
  RunBench bench;
  const Tensor in = bench.numbers(DataType::F32, {3, 1}, {1, 2, 3});
  HostIrEvaluator evaluator(finishedProgramOf(rowsBy("false", std::string(kView) + first, text)), bench.device,
                            {.number_of_streams = 2});
  EXPECT_EQ(numbersOf(evaluator.runWithInput(bound(evaluator.program(), {in})).at(0)),
            (std::vector<double>{-2, -4, -6}));
}

}  // namespace
}  // namespace tokamak
