// Plans: the memory they say they take and take, the waits they keep, and what the checker refuses.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/bind_shape.h"
#include "host/check/checker.h"
#include "host/ir/text/host_parser.h"
#include "host/plan/recorder.h"
#include "host/plan/step_clocks.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kChunkBytes = 4 * 256 * 4;  // of kChain: four rows of 256 floats

// Three ops over chunks of four rows; the two intermediates rotate.
const char* const kChain =
    "fusion f(T0: f32[i0, 256]) -> T3 { T1 = exp(T0) T2 = neg(T1) T3 = mul(T2, 0.5) } sizes { i0 = 64 } "
    "schedule { split(T3, axis=0, factor=4) parallelize(T3, axis=0, type=Stream) propagate(T3) }";

MultiDeviceExecutor chainOn(RunBench& bench, int64_t streams, const Fusion& fusion) {
  return MultiDeviceExecutor(
      fusion, bench.device,
      {.lowering = {.grouping = Grouping::Single}, .evaluator = {.number_of_streams = streams, .calls_in_flight = 1}});
}

TEST(PlanMemory, AnIntermediateOfAStreamLoopTakesOneChunkPerStream) {
  RunBench bench;
  const auto fusion = fusionOf(kChain);
  for (const int64_t streams : {1, 2, 4, 7, 16, 100}) {
    for (const int64_t rows : {64, 3, 61}) {
      MultiDeviceExecutor executor = chainOn(bench, streams, *fusion);
      const std::vector<RunValue> inputs = bench.inputsOf(*fusion, {{"i0", rows}});
      const PlanSummary summary = executor.planFor(inputs).summary();
      // Two intermediates, each of as many chunks as there are streams and iterations.
      const int64_t slots = std::min(streams * 4, rows) * 256 * 4;
      EXPECT_LE(summary.arena_bytes, 2 * slots) << streams << " streams, " << rows << " rows";
      EXPECT_LE(summary.arena_bytes, 2 * streams * kChunkBytes);
      EXPECT_EQ(summary.output_bytes, rows * 256 * 4);
      EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "");
    }
  }
}

TEST(PlanMemory, WhatIsSaidBeforeIsWhatTheDeviceSees) {
  for (const int64_t streams : {1, 4}) {
    RunBench bench;
    const auto fusion = fusionOf(kChain);
    MultiDeviceExecutor executor = chainOn(bench, streams, *fusion);
    const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
    const auto inUse = [&] { return bench.device.memoryStatistics(MemoryKind::Device).bytes_in_use; };
    const int64_t before = inUse();
    const PlanSummary summary = executor.planFor(inputs).summary();
    EXPECT_EQ(inUse(), before);
    {
      const std::vector<Tensor> first = executor.runWithInput(inputs);
      EXPECT_EQ(inUse() - before, summary.peakBytes());
      const std::vector<Tensor> second = executor.runWithInput(inputs);
      second.at(0).waitReady();
      EXPECT_EQ(inUse() - before, summary.peakBytes() + summary.output_bytes);
    }
    EXPECT_EQ(inUse() - before, summary.arena_bytes);
    EXPECT_EQ(bench.device.memoryStatistics(MemoryKind::Device).peak_bytes_in_use - before,
              summary.peakBytes() + summary.output_bytes);
  }
}

TEST(PlanMemory, GoesBackWithTheEvaluator) {
  RunBench bench;
  const auto fusion = fusionOf(kChain);
  const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
  const int64_t before = bench.device.memoryStatistics(MemoryKind::Device).bytes_in_use;
  for (const Mode mode : {Mode::Plan, Mode::Direct}) {
    std::vector<Tensor> outputs;
    {
      MultiDeviceExecutor executor(*fusion, bench.device,
                                   {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
      outputs = executor.runWithInput(inputs);
    }
    EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), outputs), "");
    outputs.clear();
    EXPECT_EQ(bench.device.memoryStatistics(MemoryKind::Device).bytes_in_use, before)
        << "mode " << static_cast<int>(mode);
  }
}

// N workers: one wait each at the start, one join each at the end.
TEST(PlanWaits, AreOnePerWorkerAtTheStartAndOnePerWorkerAtTheEnd) {
  RunBench bench;
  const auto fusion = fusionOf(kChain);
  for (const StreamSync sync : {StreamSync::Hoisted, StreamSync::InLoop}) {
    for (const int64_t streams : {1, 2, 4, 8, 16}) {
      HostLoweringOptions lowering{.grouping = Grouping::Single};
      lowering.stream_sync = sync;
      MultiDeviceExecutor executor(*fusion, bench.device,
                                   {.lowering = lowering, .evaluator = {.number_of_streams = streams}});
      const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
      const Plan& plan = executor.planFor(inputs);
      EXPECT_EQ(plan.summary().streams, streams + 1);
      EXPECT_EQ(plan.summary().waits_written, 32);  // 16 iterations: in, and out
      EXPECT_EQ(plan.summary().waits_written, countWaits(plan.recorded()));
      EXPECT_EQ(plan.summary().waits_kept, countWaits(plan.steps()));
      EXPECT_LE(plan.summary().waits_kept, plan.summary().waits_written);
      // in-loop asks for an order that nothing needs: each iteration after the one before. It is kept.
      if (sync == StreamSync::InLoop) continue;
      EXPECT_EQ(plan.summary().waits_kept, 2 * streams);
      for (const WaitNeed& need : listNecessaryWaits(plan.steps()))
        EXPECT_TRUE(need.is_necessary) << "step " << need.step << "\n" << plan.toString();
    }
  }
}

// --- races ---

const std::vector<std::string> kTwoRows = {"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iS2{i0}, iS3{i2}]",
                                           "T2_l_float[iS4{i2}]", "T3_l_float[iS5{i2}]"};

// Copies rows on workers, with the given synchronisations.
HostText rowsOnWorkers(const std::string& before, const std::string& after) {
  return {kTwoRows, "(@T0) -> (@T1)",
          "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=( i0 * i2 ), zero_init=false, resets_to_zero=false)\n"
          "  GetCurrentStream into Stream 0\n"
          "  FOR i in iS0{i0}:\n"
          "    SetCurrentStream to Stream ( i % numberOfStreams )\n" +
              before +
              "    @T2 = HirAliasSelect( @T0, axis = iS0{i0}, index = i )\n"
              "    @T3 = HirAliasSelect( @T1, axis = iS2{i0}, index = i )\n"
              "    @T3 = -@T2;\n"
              "    SetCurrentStream to Stream 0\n" +
              after};
}

const char* const kWait = "    Synchronize Stream 0\n";
const char* const kJoin = "    Synchronize Stream ( i % numberOfStreams )\n";

TEST(PlanRaces, AProgramThatForgetsAWaitIsRefusedBeforeItRuns) {
  RunBench bench;
  const Tensor in = bench.random(DataType::F32, {3, 4}, 1);
  const auto refusal = [&](const HostText& text) {
    HostIrEvaluator evaluator(hostProgramOf(text), bench.device);
    return refusalOf([&] { evaluator.runWithInput(bound(evaluator.program(), {in})); });
  };
  EXPECT_EQ(refusal(rowsOnWorkers(kWait, kJoin)), "internal: nothing was raised");
  const std::string no_wait = refusal(rowsOnWorkers("", kJoin));
  EXPECT_THAT(no_wait, testing::StartsWith("race: "));
  EXPECT_THAT(no_wait, HasSubstr("the caller before the program (stream 0)"));
  EXPECT_THAT(no_wait, HasSubstr("`T3 = neg(T2)` (stream 1)"));
  const std::string no_join = refusal(rowsOnWorkers(kWait, ""));
  EXPECT_THAT(no_join, testing::StartsWith("race: "));
  EXPECT_THAT(no_join, HasSubstr("the caller after the program (stream 0)"));
  EXPECT_THAT(no_join, HasSubstr("`T3 = neg(T2)` (stream 1)"));
}

TEST(PlanRaces, BothStatementsAreNamed) {
  RunBench bench;
  const HostText text{{"T0_g_float[iS0{i0}]", "T1_g_float[iS1{i0}]", "T2_g_float[iS2{i0}]"},
                      "(@T0) -> (@T2)",
                      "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=i0, zero_init=false, resets_to_zero=false)\n"
                      "  GetCurrentStream into Stream 0\n"
                      "  SetCurrentStream to Stream ( 0 )\n"
                      "  Synchronize Stream 0\n"
                      "  @T1 = -@T0;\n"
                      "  SetCurrentStream to Stream 0\n"
                      "  @T2 = @T1 * float(2);\n"
                      "  Synchronize Stream ( 0 )\n"};
  HostIrEvaluator evaluator(hostProgramOf(text), bench.device);
  const Tensor in = bench.numbers(DataType::F32, {2}, {1, 2});
  const std::string message = refusalOf([&] { evaluator.runWithInput(bound(evaluator.program(), {in})); });
  EXPECT_THAT(message, testing::StartsWith("race: "));
  EXPECT_THAT(message, HasSubstr("T1 = neg(T0)"));
  EXPECT_THAT(message, HasSubstr("T2 = mul(T1)"));
}

TEST(PlanRaces, TheProgramsOfTheExamplesHaveNone) {
  for (const auto& entry : std::filesystem::directory_iterator(TOKAMAK_TEST_DIR "/../examples/streams")) {
    SCOPED_TRACE(entry.path().filename().string());
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    RunBench bench;
    const auto fusion = fusionOf(text.str());
    for (const int64_t streams : {1, 3, 4}) {
      HostIrEvaluator evaluator(lowerToHostProgram(*fusion, {.grouping = Grouping::Single}), bench.device,
                                {.number_of_streams = streams});
      const Plan& plan = evaluator.planFor(bound(evaluator.program(), bench.inputsOf(*fusion)));
      EXPECT_TRUE(checkStepList(plan.recorded()).empty());
      EXPECT_TRUE(checkStepList(plan.steps()).empty());
    }
  }
}

// --- communications, which nothing runs yet: recorded without a device ---

StepList recordWithoutDevice(const HostIrContainer& program, const ScalarBindings& sizes) {
  Recorder recorder(nullptr);
  RunStreams streams(recorder, 4);
  WorkCache works;
  StatementRunner runner(program, recorder, recorder.callerStream(), streams, works);
  int64_t number = 0;
  for (TensorView* input : tensorsOf(program.inputs())) {
    RunTensor value;
    value.dtype = input->dtype();
    value.sizes = sizesOf(*input, sizes);
    value.strides = freshStrides(*input, value.sizes);
    const int64_t bytes = spanOf(value.sizes, value.strides) * sizeOf(value.dtype);
    value.address = recorder.registerBuffer(
        {.origin = StepBuffer::Origin::Input, .number = number++, .bytes = bytes, .name = nameOf(*input)});
    runner.bind(input, std::move(value));
  }
  runner.run();
  StepList list = recorder.steps();
  for (TensorView* output : program.outputs()) {
    StepBuffer& buffer = list.buffers[static_cast<size_t>(recorder.resolve(runner.value(output).address).buffer)];
    buffer.origin = StepBuffer::Origin::Output;
    buffer.number = 0;
    std::erase_if(list.steps, [&](const Step& step) {
      return step.kind == StepKind::Allocate && &list.buffers[static_cast<size_t>(step.accesses[0].buffer)] == &buffer;
    });
    runner.value(output).storage->disown();
  }
  return list;
}

std::string goldenText(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(std::string(TOKAMAK_TEST_DIR) + "/golden/" + name).rdbuf();
  return text.str();
}

TEST(Communications, OfTheAllGatherAndLinearGoldensAreOrdered) {
  for (const char* const name : {"ag_linear.one-loop.host_ir", "ag_linear.two-loops.host_ir"}) {
    SCOPED_TRACE(name);
    const auto program = parseHostProgram(goldenText(name), name);
    const StepList list = recordWithoutDevice(*program, {});
    EXPECT_EQ(std::ranges::count(list.steps, StepKind::Post, &Step::kind), 8);
    EXPECT_EQ(std::ranges::count(list.steps, StepKind::Join, &Step::kind), 8);
    std::string reports;
    for (const RaceReport& report : checkStepList(list)) reports += report.message + "\n";
    EXPECT_EQ(reports, "");
    for (const WaitNeed& need : listNecessaryWaits(list)) {
      const Step& step = list.steps[static_cast<size_t>(need.step)];
      if (step.kind == StepKind::Join) {
        EXPECT_TRUE(need.is_necessary) << "step " << need.step << " " << step.text;
      }
    }
  }
}

TEST(Communications, WithoutTheirWaitAreReported) {
  std::string text = goldenText("ag_linear.two-loops.host_ir");
  const size_t wait = text.find("    Wait Communication 0\n");
  ASSERT_NE(wait, std::string::npos);
  text.erase(wait, text.find('\n', wait) + 1 - wait);
  const StepList list = recordWithoutDevice(*parseHostProgram(text, "no_wait"), {});
  const std::string message = refusalOf([&] { requireRaceFree(list); });
  EXPECT_THAT(message, testing::StartsWith("race: "));
  EXPECT_THAT(message, HasSubstr("linear"));
  EXPECT_THAT(message, HasSubstr("communication"));
}

}  // namespace
}  // namespace tokamak
