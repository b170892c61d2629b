// Right programs judged: the comparison with the reference raises no false alarm (R38).
#include <chrono>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "define/callables.h"
#include "device/tensor_copies.h"
#include "generator/draw_numeric.h"
#include "generator/environment.h"
#include "generator/run_case.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"
#include "jit/jit_device.h"
#include "oracle/reference.h"

namespace tokamak {
namespace {

using namespace generator;

// TOKAMAK_JUDGED_PROGRAMS raises it for longer runs; TOKAMAK_JUDGED_RESULTS is then a file for their figures.
const uint64_t kJudgedPrograms = fromEnvironment("TOKAMAK_JUDGED_PROGRAMS", 1200);
const uint64_t kFirstJudged = fromEnvironment("TOKAMAK_JUDGED_SEED", 1);

struct Judged {
  int64_t outputs = 0;
  int64_t elements = 0;
  int64_t without_promise = 0;
  int64_t by_variations = 0;  // outputs whose mean error is above what the first typed evaluation allows
  int64_t alarms = 0;
  std::vector<uint64_t> seeds = {};

  void add(const oracle::Comparison& comparison, uint64_t seed, const Fusion& fusion, const std::string& what) {
    ++outputs;
    elements += comparison.count;
    without_promise += comparison.without_promise;
    by_variations += static_cast<int64_t>(comparison.limit_is_varied);
    if (comparison.isOk()) return;
    ++alarms;
    seeds.push_back(seed);
    if (alarms <= 20) ADD_FAILURE() << "seed " << seed << ", " << what << toString(comparison) << printFusion(fusion);
  }
};

class Judge {
 public:
  const Judged& judged() const { return judged_; }

  void judge(uint64_t seed) { judge(*drawNumericProgram(seed), seed); }

  void judge(const Fusion& fusion, uint64_t seed) {
    const std::vector<InputData> inputs = drawNumericData(fusion, seed);
    const oracle::Reference reference(fusion, toOracle(inputs));
    // Op by op and as kernels by turns.
    const Grouping grouping = seed % 2 == 0 ? Grouping::Single : Grouping::Fused;
    MultiDeviceExecutor executor(
        fusion, device_,
        {.lowering = {.grouping = grouping},
         .evaluator = {.segments = grouping == Grouping::Fused ? SegmentMode::Kernels : SegmentMode::OpByOp}});
    const BoundInputs bound(inputs, device_);
    const std::vector<Tensor> outputs = executor.runWithInput(bound.values());
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i].waitReady();
      const auto* data = static_cast<const std::byte*>(outputs[i].hostData());
      judged_.add(reference.compare(i, {.dtype = outputs[i].dtype(),
                                        .sizes = outputs[i].sizes(),
                                        .strides = outputs[i].strides(),
                                        .data = data}),
                  seed, fusion, fmt::format("output {}: ", i));
    }
    judgeVaried(seed, fusion, reference);
  }

 private:
  // Another right program, whose functions err by a half of what they may.
  void judgeVaried(uint64_t seed, const Fusion& fusion, const oracle::Reference& reference) {
    const oracle::Evaluation varied =
        oracle::evaluate(fusion, reference.inputs(), {.mode = oracle::Mode::varied(1000 + seed), .bindings = {}});
    for (size_t i = 0; i < varied.outputs.size(); ++i) {
      const oracle::OracleTensor& output = varied.outputs[i];
      const std::vector<std::byte> bytes = oracle::store(output);
      judged_.add(
          reference.compare(i, {.dtype = output.dtype, .sizes = output.sizes, .strides = {}, .data = bytes.data()}),
          seed, fusion, fmt::format("varied output {}: ", i));
    }
  }

  JitCpuDevice device_{{.threads = 1, .poisons_memory = true, .runner = KernelRunner::Interpreted}};
  Judged judged_;
};

void writeResults(const char* path, const Judged& judged, double seconds) {
  std::ofstream(path) << fmt::format(
      "{{\n  \"what\": \"random programs of all functions and composites on real numbers, run right and judged\",\n"
      "  \"command\": \"TOKAMAK_JUDGED_PROGRAMS={} TOKAMAK_JUDGED_SEED={} tests_fuzz "
      "--gtest_filter=JudgedPrograms.RaiseNoFalseAlarm\",\n"
      "  \"programs\": {},\n  \"outputs\": {},\n  \"elements\": {},\n  \"elements_without_promise\": {},\n"
      "  \"outputs_judged_by_variations\": {},\n  \"false_alarms\": {},\n  \"seeds\": [{}],\n  \"seconds\": "
      "{:.0f}\n}}\n",
      kJudgedPrograms, kFirstJudged, kJudgedPrograms, judged.outputs, judged.elements, judged.without_promise,
      judged.by_variations, judged.alarms, joined(judged.seeds), seconds);
}

TEST(JudgedPrograms, RaiseNoFalseAlarm) {
  const auto start = std::chrono::steady_clock::now();
  Judge judge;
  for (uint64_t seed = kFirstJudged; seed < kFirstJudged + kJudgedPrograms; ++seed) {
    try {
      judge.judge(seed);
    } catch (const Error& error) {
      ADD_FAILURE() << "seed " << seed << ": " << error.what() << "\n" << printFusion(*drawNumericProgram(seed));
    }
  }
  const Judged& judged = judge.judged();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::cout << fmt::format(
      "{} programs, {} outputs ({} judged by variations), {} elements ({} without promise), {} alarms in {:.1f} s\n",
      kJudgedPrograms, judged.outputs, judged.by_variations, judged.elements, judged.without_promise, judged.alarms,
      seconds.count());
  if (const char* path = std::getenv("TOKAMAK_JUDGED_RESULTS")) writeResults(path, judged, seconds.count());
  EXPECT_EQ(judged.alarms, 0);
  EXPECT_LT(judged.without_promise, judged.elements / 4);
}

// Errors of a few numbers are in all elements here, or a few elements have nearly all of the error.
TEST(JudgedPrograms, WithSharedErrorsRaiseNoFalseAlarm) {
  constexpr const char* programs[] = {
      "fusion f(T0: f32[64, 96]) -> T2 {\n  T1 = sum(T0, axes=[0])\n  T2 = div(T0, T1)\n}\n",
      R"(fusion f(T0: f32[1, 51]) -> T8 {
  T4 = rms_norm(T0)
  T7 = var(T0, axes=[0, 1], correction=1.0, keepdim=true)
  T8 = pow(T7, T4)
})",
      "fusion f(T0: f32[55, 55]) -> T10 {\n  T3 = sum(T0, axes=[0], keepdim=true)\n  T10 = exp2(mul(T3, T3))\n}\n",
  };
  Judge judge;
  for (const char* const program : programs) {
    const auto fusion = parseFusion(program, "f", {.resolver = &definingResolver()});
    for (uint64_t seed = 0; seed < 40; ++seed) judge.judge(*fusion, seed);
  }
  EXPECT_EQ(judge.judged().alarms, 0);
  EXPECT_GT(judge.judged().by_variations, 0);
}

struct WrongProgram {
  const char* name;
  const char* right;
  const char* wrong;
};

constexpr WrongProgram kWrongPrograms[] = {
    {"a term of a sum is dropped", "T2 = sum(T0, axes=[1])",
     "T2 = sum(slice(T0, starts=[0, 0], stops=[16, 2046]), axes=[1])"},
    {"terms of a long sum are rounded to f16", "T2 = sum(T0, axes=[1])",
     "T2 = sum(cast(cast(T0, dtype=f16), dtype=f32), axes=[1])"},
    {"powers are rounded to bf16 before they are added", "T2 = sum(exp(T0), axes=[1])",
     "T2 = sum(cast(cast(exp(T0), dtype=bf16), dtype=f32), axes=[1])"},
    {"a sum by which all is divided lacks a term", "T2 = div(T0, sum(T0, axes=[1], keepdim=true))",
     "T2 = div(T0, sum(slice(T0, starts=[0, 0], stops=[16, 2046]), axes=[1], keepdim=true))"},
    {"numerators are rounded to f16", "T2 = div(T0, sum(T0, axes=[0]))",
     "T2 = div(cast(cast(T0, dtype=f16), dtype=f32), sum(T0, axes=[0]))"},
    {"an exponent is rounded to f16", "T3 = sum(T0, axes=[0])\n  T2 = exp2(mul(T3, T3))",
     "T3 = cast(cast(sum(T0, axes=[0]), dtype=f16), dtype=f32)\n  T2 = exp2(mul(T3, T3))"},
    {"the last columns are their neighbours", "T2 = tanh(T0)",
     "T2 = tanh(cat([slice(T0, starts=[0, 0], stops=[16, 2046]), slice(T0, starts=[0, 2045], stops=[16, 2046])], "
     "axis=1))"},
    {"a mean is of one element too many", "T2 = sub(T0, mean(T0, axes=[1], keepdim=true))",
     "T2 = sub(T0, div(sum(T0, axes=[1], keepdim=true), 2049.0))"},
    {"a softmax is rounded to f16 before it is divided", "T2 = softmax(T0)",
     "T3 = cast(cast(exp(sub(T0, max(T0, axes=[1], keepdim=true))), dtype=f16), dtype=f32)\n  T2 = div(T3, sum(T3, "
     "axes=[1], keepdim=true))"},
};

std::unique_ptr<Fusion> judgedProgram(const std::string& body) {
  return parseFusion(std::string("fusion f(T0: f32[16, 2047]) -> T2 {\n  ") + body + "\n}\n", "f",
                     {.resolver = &definingResolver()});
}

// What is wrong by more than right programs are is seen, also where errors are shared and elements are within their
// bounds.
TEST(JudgedPrograms, RoundingsDroppedTermsAndWrongTailsAreSeen) {
  for (const WrongProgram& program : kWrongPrograms) {
    const auto right = judgedProgram(program.right);
    const auto wrong = judgedProgram(program.wrong);
    const std::vector<oracle::Input> inputs = toOracle(drawNumericData(*right, 3));
    const oracle::Reference reference(*right, inputs);
    const oracle::Evaluation given = oracle::evaluate(*wrong, inputs, {.mode = oracle::Mode::typed(), .bindings = {}});
    const oracle::OracleTensor& output = given.outputs[0];
    const std::vector<std::byte> bytes = oracle::store(output);
    const oracle::Comparison comparison =
        reference.compare(0, {.dtype = output.dtype, .sizes = output.sizes, .strides = {}, .data = bytes.data()});
    EXPECT_FALSE(comparison.isOk()) << program.name << ": " << toString(comparison);
  }
}

}  // namespace
}  // namespace tokamak
