// Values that do not fit a program are refused with a message that names them, before anything runs, on the first call
// and once a plan is there; the next good call gives the right values.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host_run/program_text.h"
#include "host_run/run_bench.h"

namespace tokamak {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<std::pair<Val*, RunValue>>;

const HostText kProgram{{"T0_g_float[iS0{i0}, iS1{i2}]", "T1_g_float[iS2{i0}, iS3{i2}]", "T2_g_float[iS4{i0}, iS5{i2}]",
                         "T3_g_float[iS6{i0}, iS7{i2}]"},
                        "(@T0, @T1, factor) -> (@T2, @T3)",
                        "  @T2 = @T0 * factor;\n  @T3 = @T2 + @T1;\n",
                        "Scalars:{\n  factor: float\n}\n"};

struct BadCall {
  std::string name;
  std::function<void(RunBench&, const HostIrContainer&, Values&)> spoil;
  std::string message;
};

std::ostream& operator<<(std::ostream& out, const BadCall& c) { return out << c.name; }

const BadCall kCalls[] = {
    {"wrong_rank", [](RunBench& b, auto&, Values& v) { v[0].second = b.random(DataType::F32, {4, 2, 1}, 1); },
     "bind: T0: f32[i0, i2] has 2 axes, but a tensor of rank 3 was given"},
    {"wrong_size", [](RunBench& b, auto&, Values& v) { v[1].second = b.random(DataType::F32, {4, 3}, 1); },
     "bind: T1: f32[i0, i2]: axis 1 has size 3, but i2 is 2 elsewhere"},
    {"wrong_dtype", [](RunBench& b, auto&, Values& v) { v[0].second = b.random(DataType::F64, {4, 2}, 1); },
     "bind: T0: f32[i0, i2] takes elements of type f32, but the given tensor has f64"},
    {"wrong_strides", [](RunBench& b, auto&, Values& v) { v[0].second = b.random(DataType::F32, {4, 2}, 1, {1, 4}); },
     "bind: T0: f32[i0, i2]: axis 1 must be dense with stride 1, but its stride is 4; declare the tensor strided or "
     "copy it"},
    {"rows_apart", [](RunBench& b, auto&, Values& v) { v[0].second = b.random(DataType::F32, {4, 2}, 1, {3, 1}); },
     "bind: T0: f32[i0, i2]: axis 0 must be dense with stride 2, but its stride is 3; declare the tensor strided or "
     "copy it"},
    {"repeated_rows", [](RunBench& b, auto&, Values& v) { v[0].second = b.random(DataType::F32, {4, 2}, 1, {0, 1}); },
     "bind: T0: f32[i0, i2]: axis 0 must be dense with stride 2, but its stride is 0; declare the tensor strided or "
     "copy it"},
    {"negative_stride",
     [](RunBench& b, auto&, Values& v) {
       const Tensor whole = b.random(DataType::F32, {4, 2}, 1);
       const int64_t sizes[] = {4, 2}, strides[] = {-2, 1};
       v[0].second = Tensor(whole.buffer(), 24, DataType::F32, sizes, strides);
     },
     "bind: T0: f32[i0, i2]: the stride of axis 0 is -2; strides cannot be negative"},
    {"missing_tensor", [](RunBench&, auto&, Values& v) { v.erase(v.begin()); },
     "bind: input T0: f32[i0, i2] is missing"},
    {"missing_scalar", [](RunBench&, auto&, Values& v) { v.erase(v.begin() + 2); }, "bind: input factor is missing"},
    {"nothing", [](RunBench&, auto&, Values& v) { v.clear(); }, "bind: input T0: f32[i0, i2] is missing"},
    {"undefined_tensor", [](RunBench&, auto&, Values& v) { v[0].second = Tensor(); },
     "bind: input T0: f32[i0, i2] is missing"},
    {"tensor_given_twice", [](RunBench&, auto&, Values& v) { v.push_back(v[0]); },
     "bind: T0: f32[i0, i2] is given twice"},
    {"scalar_given_twice", [](RunBench&, auto&, Values& v) { v.emplace_back(v[2].first, ScalarValue{5.0}); },
     "bind: factor is given twice"},
    {"output_given_twice",
     [](RunBench& b, const HostIrContainer& p, Values& v) {
       for (int i = 0; i < 2; ++i) v.emplace_back(p.outputs()[0], b.empty(DataType::F32, {4, 2}));
     },
     "bind: T2: f32[i0, i2] is given twice"},
    {"tensor_for_a_scalar", [](RunBench& b, auto&, Values& v) { v[2].second = b.random(DataType::F32, {1}, 1); },
     "bind: input factor is a scalar, but a tensor was given"},
    {"scalar_for_a_tensor", [](RunBench&, auto&, Values& v) { v[0].second = ScalarValue{1.0}; },
     "bind: T0: f32[i0, i2] is a tensor, but a scalar was given"},
    {"a_symbol_with_another_value",
     [](RunBench&, const HostIrContainer& p, Values& v) {
       v.emplace_back(tensorOf(p, 0)->axis(0)->extent(), ScalarValue{int64_t{7}});
     },
     "bind: T0: f32[i0, i2]: axis 0 has size 4, but i0 is 7 elsewhere"},
    {"a_value_of_another_program",
     [](RunBench&, auto&, Values& v) {
       static const auto other = hostProgramOf(kProgram);
       v[0].first = other->inputs()[0];
     },
     "bind: T0: f32[i0, i2] is neither an input nor an output of the program"},
    {"a_scalar_of_another_program",
     [](RunBench&, auto&, Values& v) {
       static const auto other = hostProgramOf(kProgram);
       v.emplace_back(tensorOf(*other, 0)->axis(0)->extent(), ScalarValue{int64_t{7}});
     },
     "bind: i0 is no input of the program"},
    {"another_device",
     [](RunBench&, auto&, Values& v) {
       static RunBench other;
       v[0].second = other.random(DataType::F32, {4, 2}, 1);
     },
     "bind: T0: f32[i0, i2]: the given tensor is on device cpu, the program runs on another Device "
     "object of that name"},
    {"output_of_another_size",
     [](RunBench& b, const HostIrContainer& p, Values& v) {
       v.emplace_back(p.outputs()[0], b.empty(DataType::F32, {4, 3}));
     },
     "bind: output T2: f32[i0, i2] has sizes [4, 2], but the given tensor [4, 3]"},
    {"output_of_another_rank",
     [](RunBench& b, const HostIrContainer& p, Values& v) {
       v.emplace_back(p.outputs()[0], b.empty(DataType::F32, {8}));
     },
     "bind: output T2: f32[i0, i2] has sizes [4, 2], but the given tensor [8]"},
    {"output_of_another_type",
     [](RunBench& b, const HostIrContainer& p, Values& v) {
       v.emplace_back(p.outputs()[0], b.empty(DataType::F64, {4, 2}));
     },
     "bind: T2: f32[i0, i2] takes elements of type f32, but the given tensor has f64"},
    {"output_of_another_device",
     [](RunBench&, const HostIrContainer& p, Values& v) {
       static RunBench other;
       v.emplace_back(p.outputs()[0], other.empty(DataType::F32, {4, 2}));
     },
     "bind: T2: f32[i0, i2]: the given tensor is on device cpu, the program runs on another Device "
     "object of that name"},
    {"output_whose_rows_are_one",
     [](RunBench& b, const HostIrContainer& p, Values& v) {
       v.emplace_back(p.outputs()[0], b.empty(DataType::F32, {4, 2}, {0, 1}));
     },
     "bind: output T2: f32[i0, i2]: two elements of the given tensor share memory (sizes [4, 2], strides [0, 1])"},
    {"output_whose_rows_overlap",
     [](RunBench& b, const HostIrContainer& p, Values& v) {
       v.emplace_back(p.outputs()[0], b.empty(DataType::F32, {4, 2}, {1, 1}));
     },
     "bind: output T2: f32[i0, i2]: two elements of the given tensor share memory (sizes [4, 2], strides [1, 1])"},
    {"output_with_a_negative_stride",
     [](RunBench& b, const HostIrContainer& p, Values& v) {
       const Tensor whole = b.empty(DataType::F32, {4, 2});
       const int64_t sizes[] = {4, 2}, strides[] = {-2, 1};
       v.emplace_back(p.outputs()[0], Tensor(whole.buffer(), 24, DataType::F32, sizes, strides));
     },
     "bind: output T2: f32[i0, i2]: the stride of axis 0 is -2; strides cannot be negative"},
    {"output_in_an_inputs_memory",
     [](RunBench&, const HostIrContainer& p, Values& v) {
       v.emplace_back(p.outputs()[0], std::get<Tensor>(v[1].second));
     },
     "bind: the tensor given for output T2: f32[i0, i2] overlaps the one given for input T1: f32[i0, i2]; declare an "
     "alias for an in-place update"},
    {"outputs_that_overlap",
     [](RunBench& b, const HostIrContainer& p, Values& v) {
       const Tensor both = b.empty(DataType::F32, {7, 2});
       v.emplace_back(p.outputs()[0], both.slice(0, 0, 4));
       v.emplace_back(p.outputs()[1], both.slice(0, 3, 7));
     },
     "bind: the tensors given for outputs T2: f32[i0, i2] and T3: f32[i0, i2] overlap"},
};

class BadCalls : public testing::TestWithParam<BadCall> {};

TEST_P(BadCalls, AreRefusedAndTheNextGoodOneWorks) {
  RunBench bench;
  for (const Mode mode : {Mode::Plan, Mode::Direct}) {
    SCOPED_TRACE("mode " + std::to_string(static_cast<int>(mode)));
    HostIrEvaluator evaluator(hostProgramOf(kProgram), bench.device, {.mode = mode});
    const Tensor left = bench.random(DataType::F32, {4, 2}, 1), right = bench.random(DataType::F32, {4, 2}, 2);
    const Values good = bound(evaluator.program(), {left, right, ScalarValue{2.0}});
    // Outputs that a plan for such a call could be found for.
    Values with_outputs = good;
    for (TensorView* output : evaluator.program().outputs())
      with_outputs.emplace_back(output, bench.empty(DataType::F32, {4, 2}));
    Values with_one_output(with_outputs.begin(), with_outputs.end() - 1);
    for (int attempt = 0; attempt < 2; ++attempt) {
      Values bad = good;
      GetParam().spoil(bench, evaluator.program(), bad);
      EXPECT_EQ(refusalOf([&] { evaluator.runWithInput(bad); }), GetParam().message) << "attempt " << attempt;
      for (const Values& values : {good, with_outputs, with_one_output}) {
        const std::vector<Tensor> outputs = evaluator.runWithInput(values);
        const std::vector<double> a = numbersOf(left), b = numbersOf(right), product = numbersOf(outputs.at(0)),
                                  sum = numbersOf(outputs.at(1));
        for (size_t i = 0; i < a.size(); ++i) {
          ASSERT_EQ(product[i], 2 * a[i]);
          ASSERT_EQ(sum[i], 2 * a[i] + b[i]);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, BadCalls, testing::ValuesIn(kCalls),
                         [](const auto& instance) { return instance.param.name; });

TEST(BadCall, ScalarsThatDifferInTheirLastBitsHavePlansOfTheirOwn) {
  RunBench bench;
  const HostText text{{"T0_g_int64_t[iS0{i0}]", "T1_g_int64_t[iS1{i0}]"},
                      "(@T0, k) -> (@T1)",
                      "  @T1 = @T0 + k;\n",
                      "Scalars:{\n  k: int64_t\n}\n"};
  HostIrEvaluator evaluator(hostProgramOf(text), bench.device);
  const Tensor in = bench.numbers(DataType::I64, {1}, {0});
  for (const int64_t k : {(int64_t{1} << 53), (int64_t{1} << 53) + 1}) {
    const Tensor out = evaluator.runWithInput(bound(evaluator.program(), {in, ScalarValue{k}})).at(0);
    EXPECT_EQ(*static_cast<const int64_t*>(out.hostData()), k);
  }
}

TEST(BadCall, AnOutputThatUpdatesAnInputIsThatInputsMemory) {
  RunBench bench;
  const HostText text{{"T0_g_float[iS0{i0}]", "T1_g_float[iS1{i0}]"},
                      "(@T0) -> (@T1)",
                      "  @T1 = @T0 * float(2);\n",
                      "Aliases:{\n  @T1 -> @T0\n}\n"};
  for (const Mode mode : {Mode::Plan, Mode::Direct}) {
    HostIrEvaluator evaluator(hostProgramOf(text), bench.device, {.mode = mode});
    const Tensor state = bench.numbers(DataType::F32, {2}, {1, 2});
    Values values = bound(evaluator.program(), {state});
    values.emplace_back(evaluator.program().outputs()[0], state);
    EXPECT_EQ(numbersOf(evaluator.runWithInput(values).at(0)), (std::vector<double>{2, 4}));
    values.back().second = bench.empty(DataType::F32, {2});
    EXPECT_EQ(
        refusalOf([&] { evaluator.runWithInput(values); }),
        "bind: output T1: f32[i0] lies in the memory of input T0: f32[i0]; give that input's tensor for it, or none");
    EXPECT_EQ(numbersOf(evaluator.runWithInput(bound(evaluator.program(), {state})).at(0)),
              (std::vector<double>{4, 8}));
  }
}

TEST(BadCall, OfTheHotEntryIsRefusedToo) {
  RunBench bench;
  const HostText text{{"T0_g_float[iS0{i0}]", "T1_g_float[iS1{i0}]"}, "(@T0) -> (@T1)", "  @T1 = -@T0;\n"};
  HostIrEvaluator evaluator(hostProgramOf(text), bench.device);
  const Tensor in = bench.numbers(DataType::F32, {2}, {1, 2});
  const auto run = [&](std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
    return refusalOf([&] { evaluator.run(inputs, outputs, *bench.stream); });
  };
  RunBench other;
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(run({}, {}), "bind: run: 0 inputs and 0 outputs given; the program has 1 and 1");
    EXPECT_EQ(run({in}, {Tensor()}),
              "bind: host_program: an output without memory was given; run() allocates outputs, this call takes memory "
              "for each");
    EXPECT_EQ(run({Tensor()}, {bench.empty(DataType::F32, {2})}), "bind: input T0: f32[i0] is missing");
    EXPECT_THAT(run({in}, {in}), HasSubstr("overlaps the one given for input"));
    EXPECT_THAT(run({in}, {bench.empty(DataType::F32, {3})}), HasSubstr("has sizes [2], but the given tensor [3]"));
    EXPECT_THAT(run({in}, {other.empty(DataType::F32, {2})}), HasSubstr("the given tensor is on device"));
    std::vector<Tensor> good = {bench.empty(DataType::F32, {2})};
    evaluator.run(std::vector<Tensor>{in}, good, *bench.stream);
    EXPECT_EQ(numbersOf(good[0]), (std::vector<double>{-1, -2}));
  }
}

}  // namespace
}  // namespace tokamak
