// Aliases: chains in both orders, updates of inputs in place, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

const std::vector<std::string> kVectors = {"T0_g_float[iS0{i0}]", "T1_g_float[iS1{i0}]", "T2_g_float[iS2{i0}]",
                                           "T3_g_float[iS3{i0}]"};
class Aliases : public testing::Test {
 protected:
  RunBench bench_;
  Tensor in_ = bench_.numbers(DataType::F32, {3}, {1, 2, 3});

  std::vector<double> run(const HostText& text, Mode mode) {
    HostIrEvaluator evaluator(hostProgramOf(text), bench_.device, {.mode = mode});
    std::vector<double> first = numbersOf(evaluator.runWithInput(bound(evaluator.program(), {in_})).at(0));
    EXPECT_EQ(numbersOf(evaluator.runWithInput(bound(evaluator.program(), {in_})).at(0)), first);
    return first;
  }
};

TEST_F(Aliases, AChainEndsAtItsBufferInWhateverOrderItIsDeclared) {
  for (const char* const order :
       {"Aliases:{\n  @T2 -> @T1\n  @T1 -> @T0\n}\n", "Aliases:{\n  @T1 -> @T0\n  @T2 -> @T1\n}\n"}) {
    for (const Mode mode : kModes) {
      EXPECT_EQ(run({kVectors, "(@T0) -> (@T3)", "  @T3 = @T2 + @T1;\n", order}, mode), (std::vector<double>{2, 4, 6}));
    }
  }
}

TEST_F(Aliases, MarkAliasTakesBothOrders) {
  for (const bool is_forward : {true, false}) {
    auto program = hostProgramOf({kVectors, "(@T0) -> (@T3)", "  @T3 = @T2 + @T1;\n"});
    TensorView* const t[] = {tensorOf(*program, 0), tensorOf(*program, 1), tensorOf(*program, 2)};
    if (is_forward) program->markAlias(t[0], t[1]);
    program->markAlias(t[1], t[2]);
    if (!is_forward) program->markAlias(t[0], t[1]);
    HostIrEvaluator evaluator(std::move(program), bench_.device);
    EXPECT_EQ(numbersOf(evaluator.runWithInput(bound(evaluator.program(), {in_})).at(0)),
              (std::vector<double>{2, 4, 6}));
  }
}

TEST_F(Aliases, WhatIsWrittenUnderOneNameIsReadUnderTheOther) {
  const HostText text{kVectors, "(@T0) -> (@T3)",
                      "  @T1 = ALLOCATE(buffer=@T1, mem_type=global, size=i0, zero_init=true, resets_to_zero=false)\n"
                      "  @T2 = -@T0;\n"
                      "  @T3 = @T1 + @T1;\n",
                      "Aliases:{ @T2 -> @T1 }\n"};
  for (const Mode mode : kModes) EXPECT_EQ(run(text, mode), (std::vector<double>{-2, -4, -6}));
}

TEST_F(Aliases, AnOutputThatIsAnAliasUpdatesItsInputInPlace) {
  const HostText text{kVectors, "(@T0) -> (@T2)", "  @T1 = @T0 * float(2);\n  @T2 = @T1 + float(1);\n",
                      "Aliases:{ @T2 -> @T0 }\n"};
  for (const Mode mode : kModes) {
    Tensor state = bench_.numbers(DataType::F32, {3}, {1, 2, 3});
    HostIrEvaluator evaluator(hostProgramOf(text), bench_.device, {.mode = mode});
    for (int call = 0; call < 2; ++call) {
      const Tensor output = evaluator.runWithInput(bound(evaluator.program(), {state})).at(0);
      output.waitReady();
      EXPECT_EQ(output.data(), state.data());
    }
    EXPECT_EQ(numbersOf(state), (std::vector<double>{7, 11, 15}));
  }
}

TEST_F(Aliases, AStreamedUpdateInPlaceOfAFusion) {
  const auto fusion = fusionOf(
      "fusion f(T0: f32[i0, i2]) -> (T2 aliases T0) { T1 = mul(T0, 2.0) T2 = add(T1, 1.0) } "
      "schedule { parallelize(T1, axis=0, type=Stream) parallelize(T2, axis=0, type=Stream) }");
  for (const Mode mode : kModes) {
    Tensor state = bench_.numbers(DataType::F32, {3, 2}, {1, 2, 3, 4, 5, 6});
    MultiDeviceExecutor executor(*fusion, bench_.device,
                                 {.lowering = {.grouping = Grouping::Single}, .evaluator = {.mode = mode}});
    const RunValue inputs[] = {state};
    const Tensor output = executor.runWithInput(inputs).at(0);
    EXPECT_EQ(numbersOf(output), (std::vector<double>{3, 5, 7, 9, 11, 13}));
    EXPECT_EQ(output.data(), state.data());
  }
}

TEST_F(Aliases, AUnitInAProgramWithAliasesComputesWithItsOwnTensors) {
  const auto fusion = fusionOf(
      "fusion f(T0: f32[i0]) -> (T4 aliases T0) { T1 = mul(T0, 2.0) T2 = add(T1, 1.0) T3 = mul(T2, T1) T4 = sub(T3, "
      "T0) }");
  for (const Grouping grouping : {Grouping::Single, Grouping::Segments}) {
    for (const Mode mode : kModes) {
      Tensor state = bench_.numbers(DataType::F32, {3}, {1, 2, 3});
      HostLoweringOptions lowering{.grouping = Grouping::Single};
      lowering.grouping = grouping;
      MultiDeviceExecutor executor(*fusion, bench_.device, {.lowering = lowering, .evaluator = {.mode = mode}});
      const RunValue inputs[] = {state};
      EXPECT_EQ(numbersOf(executor.runWithInput(inputs).at(0)), (std::vector<double>{5, 18, 39}));
    }
  }
}

TEST_F(Aliases, AnOutputOfTheInputsMemoryOutlivesTheCallersTensor) {
  const HostText text{kVectors, "(@T0) -> (@T1)", "  @T1 = Set( @T0 )\n"};  // not lowered: it binds its operand
  for (const Mode mode : kModes) {
    HostIrEvaluator evaluator(hostProgramOf(text), bench_.device, {.mode = mode});
    Tensor in = bench_.numbers(DataType::F32, {3}, {1, 2, 3});
    const std::weak_ptr<Buffer> memory = in.buffer();
    const Tensor output = evaluator.runWithInput(bound(evaluator.program(), {in})).at(0);
    EXPECT_EQ(output.data(), in.data());
    in = Tensor();
    EXPECT_FALSE(memory.expired()) << "mode " << static_cast<int>(mode);
    if (!memory.expired()) {
      EXPECT_EQ(numbersOf(output), (std::vector<double>{1, 2, 3}));
    }
  }
}

TEST_F(Aliases, AnInputIsNone) {
  const HostText text{kVectors, "(@T0, @T1) -> (@T2)", "  @T2 = @T0 + @T1;\n", "Aliases:{ @T1 -> @T0 }\n"};
  EXPECT_EQ(refusalOf([&] { HostIrEvaluator(hostProgramOf(text), bench_.device); }),
            "host program: host program host_program: Inputs cannot be aliased: T1: f32[i0] is (inputs-not-aliased)");
}

TEST_F(Aliases, ACycleIsRefused) {
  const HostText text{kVectors, "(@T0) -> (@T3)", "  @T3 = @T0 + @T1;\n", "Aliases:{\n  @T1 -> @T2\n  @T2 -> @T1\n}\n"};
  EXPECT_THAT(
      refusalOf([&] { hostProgramOf(text); }),
      testing::StartsWith(
          "parse: test.host_ir:6:3: markAlias: T2 as an alias of T1 closes a cycle; an alias must end at a buffer"));
  auto program = hostProgramOf({kVectors, "(@T0) -> (@T3)", "  @T3 = @T0 + @T1;\n"});
  program->markAlias(tensorOf(*program, 1), tensorOf(*program, 3));
  EXPECT_EQ(refusalOf([&] { program->markAlias(tensorOf(*program, 3), tensorOf(*program, 1)); }),
            "host program: markAlias: T1 as an alias of T3 closes a cycle; an alias must end at a buffer");
  EXPECT_EQ(refusalOf([&] { program->markAlias(tensorOf(*program, 3), tensorOf(*program, 3)); }),
            "host program: markAlias: T3 already is an alias of T1");
}

}  // namespace
}  // namespace tokamak
