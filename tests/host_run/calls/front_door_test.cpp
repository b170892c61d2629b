// The front door: fusions with named inputs and outputs, compiled programs, the caller's memory as tensors.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compile/program.h"
#include "define/functions.h"
#include "define/reductions.h"
#include "define/shapes.h"
#include "define/softmax.h"
#include "error_of.h"
#include "ir/text/fusion_printer.h"
#include "jit/jit_device.h"
#include "schedule/transforms.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<double> softmaxOf(std::span<const float> x, int64_t columns) {
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += static_cast<size_t>(columns)) {
    double sum = 0;
    for (size_t i = 0; i < static_cast<size_t>(columns); ++i) sum += std::exp(static_cast<double>(x[row + i]));
    for (size_t i = 0; i < static_cast<size_t>(columns); ++i)
      y[row + i] = std::exp(static_cast<double>(x[row + i])) / sum;
  }
  return y;
}

std::vector<float> someNumbers(size_t count) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = 0.25F * static_cast<float>(i * 7 % 23) - 2;
  return numbers;
}

void expectSoftmax(std::span<const float> y, std::span<const float> x, int64_t columns) {
  const std::vector<double> expected = softmaxOf(x, columns);
  ASSERT_EQ(y.size(), expected.size());
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 1e-6) << i;
}

TEST(FrontDoor, SoftmaxOfTheCallersMemory) {
  const std::vector<float> x = someNumbers(4 * 9);
  std::vector<float> y(x.size());

  Fusion fusion("softmax_rows");
  fusion.output("y", softmax(fusion.input("x", DataType::F32, {"n", "m"}), 1));
  JitCpuDevice device;
  Program program = compile(fusion, device);
  program.run({Tensor::wrap(device, x, {4, 9})}, {Tensor::wrap(device, y, {4, 9})});

  expectSoftmax(y, x, 9);
  EXPECT_EQ(program.name(), "softmax_rows");
  EXPECT_THAT(program.inputNames(), ElementsAre("x"));
  EXPECT_THAT(program.outputNames(), ElementsAre("y"));
  const std::vector<Tensor> fresh = program.run({Tensor::wrap(device, std::span(x).first(18), {2, 9})});
  expectSoftmax(fresh.at(0).read<float>(), std::span(x).first(18), 9);
}

TEST(FrontDoor, NamesStandInTextsAndMessages) {
  Fusion fusion("scaled");
  TensorView* x = fusion.input("x", DataType::F32, {"n", "m"});
  TensorView* bias = fusion.input("bias", DataType::F32, {"m"});
  Scalar* scale = fusion.scalarInput("scale", DataType::F64);
  fusion.output("y", mul(add(x, bias), scale));
  const std::string text = printFusion(fusion);
  EXPECT_THAT(text, HasSubstr("fusion scaled(x: f32[n, m], bias: f32[m], scale: f64) -> y {"));
  const std::unique_ptr<Fusion> read = readFusion(text, "scaled.fusion");
  EXPECT_EQ(printFusion(*read), text);

  JitCpuDevice device;
  Program program = compile(*read, device);
  EXPECT_THAT(program.inputNames(), ElementsAre("x", "bias", "scale"));
  const std::vector<float> numbers = someNumbers(12);
  const auto run = [&](int64_t columns) {
    return program.run({Tensor::wrap(device, numbers, {4, 3}),
                        Tensor::wrap(device, std::span(numbers).first(static_cast<size_t>(columns)), {columns}), 2.0});
  };
  const std::vector<Tensor> outputs = run(3);
  EXPECT_EQ(outputs.at(0).read<float>()[4], (numbers[4] + numbers[1]) * 2);
  EXPECT_EQ(errorOf([&] { run(4); }).message(), "bias: f32[m]: axis 0 has size 4, but m is 3 elsewhere");
}

TEST(FrontDoor, TakesTheTextOfAHostProgram) {
  JitCpuDevice device;
  const std::unique_ptr<Fusion> fusion = readFusion(
      "fusion rows(x: f32[n, m], w: f32[m, k]) -> y { y = matmul(x, w) } schedule { parallelize(y, axis=0, "
      "type=Stream) }");
  Program first = compile(*fusion, device);
  for (const bool makes_kernels : {true, false}) {
    Program again = compileHostProgram(first.hostText(), "rows.host_ir", device, {.makes_kernels = makes_kernels});
    const std::vector<float> x = someNumbers(6), w = someNumbers(6);
    const std::vector<Tensor> inputs = {Tensor::wrap(device, x, {2, 3}), Tensor::wrap(device, w, {3, 2})};
    EXPECT_EQ(again.run(inputs).at(0).read<float>()[3], first.run(inputs).at(0).read<float>()[3]);
  }
  EXPECT_THAT(errorOf([&] { compileHostProgram("%nonsense", "rows.host_ir", device); }).message(),
              HasSubstr("rows.host_ir:1:"));
}

TEST(FrontDoor, RefusesNamesThatAreTakenOrNone) {
  Fusion fusion("names");
  TensorView* x = fusion.input("x", DataType::F32, {"n", 4});
  const auto said = [&](const auto& action) {
    const Error error = errorOf(action);
    EXPECT_EQ(error.code(), ErrorCode::Definition);
    return error.message();
  };
  EXPECT_EQ(said([&] { fusion.input("x", DataType::F32, {"n"}); }),
            "input 'x': the fusion has a tensor of that name; give it another one");
  EXPECT_EQ(said([&] { fusion.input("n", DataType::F32, {"n"}); }),
            "input 'n': the fusion has an extent or a scalar of that name; give it another one");
  EXPECT_EQ(said([&] { fusion.input("k", DataType::F32, {"k"}); }),
            "input 'k': an extent has its name; give one of them another name");
  EXPECT_EQ(said([&] { fusion.input("z", DataType::F32, {"x"}); }),
            "extent 'x': the fusion has a tensor of that name; give it another one");
  EXPECT_THAT(said([&] { fusion.input("T0", DataType::F32, {"n"}); }), HasSubstr("input 'T0': no name; "));
  EXPECT_THAT(said([&] { fusion.scalarInput("a b", DataType::F32); }), HasSubstr("input 'a b': no name; "));
  EXPECT_THAT(said([&] { fusion.input("w", DataType::F32, {-3}); }), HasSubstr("the extent -3 is negative"));
  fusion.scalarInput("s", DataType::F64);
  EXPECT_EQ(said([&] { fusion.input("v", DataType::F32, {"s"}); }),
            "extent 's': the fusion has a scalar of type f64 of that name");
  EXPECT_EQ(said([&] { fusion.output("y", x); }), "output 'y': the tensor is x already; set() makes another of it");
  EXPECT_EQ(said([&] { fusion.output("y", nullptr); }),
            "output 'y': the tensor is null; it must be a tensor of the fusion");
  Fusion other;
  TensorView* far = other.input("x", DataType::F32, {2});
  EXPECT_EQ(said([&] { fusion.output("y", far); }),
            "output 'y': the tensor is of another fusion; it must be a tensor of the fusion");
  EXPECT_EQ(fusion.inputs().size(), 2U);
}

static_assert(std::is_convertible_v<int, NamedSize> && std::is_convertible_v<size_t, NamedSize>);
static_assert(std::is_convertible_v<const char*, NamedSize> && std::is_convertible_v<std::string_view, NamedSize>);
static_assert(!std::is_convertible_v<char, NamedSize> && !std::is_convertible_v<bool, NamedSize> &&
              !std::is_convertible_v<std::nullptr_t, NamedSize>);

// A state that calls update is an input and no output: memory for outputs is that of the others.
TEST(FrontDoor, UpdatesInPlaceComeBeforeOutputsWithoutMovingThem) {
  for (const bool makes_kernels : {true, false}) {
    Fusion fusion("momentum");
    TensorView* state = fusion.input("state", DataType::F32, {"n"});
    TensorView* gradient = fusion.input("gradient", DataType::F32, {"n"});
    TensorView* next = add(mul(state, 0.5), gradient);
    fusion.update(state, next);
    TensorView* step = fusion.output("step", neg(next));
    fusion.output("size", abs(step));
    JitCpuDevice device;
    Program program = compile(fusion, device, {.makes_kernels = makes_kernels});
    EXPECT_THAT(program.outputNames(), ElementsAre("step", "size"));
    std::vector<float> state_memory = {2, 4}, step_memory(2), size_memory(2);
    const std::vector<float> ones = {1, 1};
    const std::vector<Tensor> inputs = {Tensor::wrap(device, state_memory, {2}), Tensor::wrap(device, ones, {2})};
    const std::vector<Tensor> outputs = {Tensor::wrap(device, step_memory, {2}),
                                         Tensor::wrap(device, size_memory, {2})};
    EXPECT_EQ(program.run(inputs, outputs).size(), 2U);
    EXPECT_THAT(state_memory, ElementsAre(2, 3));
    EXPECT_THAT(step_memory, ElementsAre(-2, -3));
    EXPECT_THAT(size_memory, ElementsAre(2, 3));
    EXPECT_EQ(program.run(inputs, std::span(outputs).first(1)).at(1).read<float>()[0], 2);
    EXPECT_THAT(step_memory, ElementsAre(-2, -2.5));
    const std::vector<Tensor> three(3, outputs[0]);
    EXPECT_EQ(errorOf([&] { program.run(inputs, three); }).message(),
              "momentum: gives 2 outputs, storage for 3 was given");
  }
}

// Rank and sizes that are known when the program runs; one program's outputs are the next one's inputs.
TEST(FrontDoor, SizesAreListsToo) {
  JitCpuDevice device;
  for (int64_t rank = 1; rank <= 4; ++rank) {
    std::vector<NamedSize> names;
    for (int64_t axis = 0; axis < rank; ++axis) names.emplace_back("n" + std::to_string(axis));
    const std::vector<int64_t> sizes(static_cast<size_t>(rank), 2);
    Fusion fusion("negated");
    fusion.output("y", neg(fusion.input("x", DataType::F32, names)));
    Program program = compile(fusion, device);
    const std::vector<float> x = someNumbers(size_t{1} << static_cast<size_t>(rank));
    const std::vector<Tensor> once = program.run({Tensor::wrap(device, x, sizes)});
    const std::vector<Tensor> twice = program.run(once);
    EXPECT_EQ(twice.at(0).read<float>()[1], x[1]);
    EXPECT_EQ(twice.at(0).rank(), rank);
  }
}

TEST(FrontDoor, PreparedSizesAreRecordedOnce) {
  Fusion fusion("prepared");
  TensorView* x = fusion.input("x", DataType::F32, {"n", "m"});
  Scalar* shift = fusion.scalarInput("shift", DataType::F32);
  fusion.output("y", exp(add(x, shift)));
  fusion.output("sums", sum(x, {1}));
  JitCpuDevice device;
  Program program = compile(fusion, device);
  program.prepare({{"n", 6}, {"m", 32}});
  program.prepare({{"n", 5}, {"m", 32}, {"shift", 1.0}});
  EXPECT_EQ(program.statistics().new_calls, 2);
  alignas(64) std::array<float, 6 * 32> numbers = {};
  for (int64_t rows : {6, 5, 6}) {
    const std::vector<Tensor> outputs =
        program.run({Tensor::wrap(device, std::span(numbers).first(static_cast<size_t>(rows * 32)), {rows, 32}), 2.0});
    EXPECT_NEAR(outputs.at(0).read<float>()[3], std::exp(2.0), 1e-5);
    EXPECT_EQ(outputs.at(1).read<float>()[2], 0);
  }
  EXPECT_EQ(program.statistics().new_calls, 2);
  EXPECT_EQ(program.statistics().known_calls, 3);
  EXPECT_EQ(errorOf([&] { program.prepare({{"n", 6}, {"k", 2}}); }).message(),
            "prepare: prepared has no extent or scalar 'k'; it has m, n, shift");
  EXPECT_EQ(errorOf([&] { program.prepare({{"n", 6}}); }).code(), ErrorCode::Bind);
  EXPECT_EQ(errorOf([&] { program.prepare({{"n", -6}, {"m", 2}}); }).code(), ErrorCode::Bind);
}

// Memory that lies as the program's own outputs do is written by the plan that prepare() made; other memory is not.
TEST(FrontDoor, PreparedSizesServeGivenOutputs) {
  Fusion fusion("prepared");
  TensorView* x = fusion.input("x", DataType::F32, {"n", "m"});
  TensorView* state = fusion.input("state", DataType::F32, {"n"});
  fusion.output("y", exp(x));
  fusion.output("sums", sum(x, {1}));
  fusion.update(state, neg(state));
  fusion.output("top", slice(x, {0, 0}, {2, 4}));
  CompileOptions options;
  options.output_views = OutputViews::Copy;
  JitCpuDevice device;
  Program program = compile(fusion, device, options);
  program.prepare({{"n", 6}, {"m", 32}});
  const std::shared_ptr<Stream> stream = device.createStream();
  alignas(64) std::array<float, 6 * 32> numbers = {};
  numbers.fill(2);
  alignas(64) std::array<float, 6> state_memory = {1, 1, 1, 1, 1, 1};
  const std::vector<Tensor> inputs = {Tensor::wrap(device, numbers, {6, 32}), Tensor::wrap(device, state_memory, {6})};
  alignas(64) std::array<float, 8 + 8> top_memory = {};
  alignas(64) std::array<float, 6 * 32> y_memory = {};
  alignas(64) std::array<float, 6 + 1> sums_memory = {};
  const auto run = [&](size_t sums_begin, int64_t top_stride) {
    const std::array<int64_t, 2> strides = {top_stride, 1};
    const std::array<int64_t, 2> sizes = {2, 4};
    y_memory.fill(-1);
    sums_memory.fill(-1);
    std::vector<Tensor> outputs = {
        Tensor::wrap(device, y_memory, {6, 32}),
        Tensor::wrap(device, std::span(sums_memory).subspan(sums_begin, 6), {6}),
        Tensor::borrowHost(device, top_memory.data(), DataType::F32, sizes, strides.data(), false)};
    program.runInto(inputs, outputs, *stream);
    stream->synchronize();
    EXPECT_NEAR(y_memory[191], std::exp(2.0), 1e-5);
    EXPECT_EQ(sums_memory[sums_begin + 5], 64);
    EXPECT_EQ(top_memory[static_cast<size_t>(top_stride) + 3], 2);
  };
  run(0, 4);
  EXPECT_EQ(program.statistics().new_calls, 1);
  run(0, 4);
  EXPECT_EQ(program.statistics().known_calls, 2);
  run(0, 8);  // with gaps
  EXPECT_EQ(program.statistics().new_calls, 2);
  run(1, 4);  // misaligned
  EXPECT_EQ(program.statistics().new_calls, 3);
  EXPECT_EQ(program.run(inputs).at(1).read<float>()[0], 64);
  EXPECT_EQ(program.statistics().new_calls, 3);
  EXPECT_EQ(program.statistics().plans, 3);
  EXPECT_EQ(state_memory[2], -1);
}

// Memory for an output with an expanded axis has one element for all along that axis, and no others twice.
TEST(FrontDoor, GivenMemoryHasAllElements) {
  JitCpuDevice device;
  Program program =
      compile(*readFusion("fusion f(x: f32[n, k]) -> y { y = expand(unsqueeze(x + 1, 0), shape=[2, n, k]) }"), device);
  alignas(64) std::array<float, 16> numbers = {};
  alignas(64) std::array<float, 64> memory = {};
  const std::vector<Tensor> inputs = {Tensor::wrap(device, numbers, {4, 4})};
  const std::array<int64_t, 3> sizes = {2, 4, 4};
  const auto run = [&](std::array<int64_t, 3> strides) {
    memory.fill(-1);
    program.run(inputs, std::vector<Tensor>{
                            Tensor::borrowHost(device, memory.data(), DataType::F32, sizes, strides.data(), false)});
    return std::ranges::count(memory, 1.0F);
  };
  EXPECT_EQ(run({0, 4, 1}), 16);
  EXPECT_EQ(run({0, 1, 4}), 16);
  EXPECT_EQ(run({16, 4, 1}), 32);
  EXPECT_EQ(run({32, 8, 1}), 32);
  for (const auto& strides : std::vector<std::array<int64_t, 3>>{
           {0, 0, 1}, {0, 4, 0}, {0, 0, 0}, {8, 0, 1}, {16, 0, 1}, {16, 4, 0}, {1, 4, 1}, {0, 3, 1}})
    EXPECT_THAT(errorOf([&] { run(strides); }).message(), HasSubstr("two elements of the given tensor share memory"));
}

TEST(FrontDoor, AnOutputThatIsAnInputLiesThere) {
  JitCpuDevice device;
  Program program = compile(*readFusion("fusion f(x: f32[n]) -> (x, y) { y = x + 1 }"), device);
  std::vector<float> numbers = {1, 2}, others = {0, 0}, results = {0, 0};
  const std::vector<Tensor> inputs = {Tensor::wrap(device, numbers, {2})};
  const std::shared_ptr<Stream> stream = device.createStream();
  const auto run = [&](std::vector<float>& memory) {
    std::vector<Tensor> outputs = {Tensor::wrap(device, memory, {2}), Tensor::wrap(device, results, {2})};
    program.runInto(inputs, outputs, *stream);
    stream->synchronize();
  };
  EXPECT_EQ(errorOf([&] { run(others); }).message(),
            "output x: f32[n] lies in the memory of input x: f32[n]; give that input's tensor for it, or none");
  run(numbers);
  EXPECT_THAT(results, ElementsAre(2, 3));
  EXPECT_EQ(program.run(inputs).at(0).buffer(), inputs[0].buffer());
}

// What is told of outputs is what a call gives, for every kind of memory.
TEST(FrontDoor, OutputsAreToldBeforeACall) {
  using Memory = OutputLayout::Memory;
  Fusion fusion("told");
  Scalar* factor = fusion.scalarInput("factor", DataType::F32);
  TensorView* x = fusion.input("x", DataType::F32, {"n", "m"});
  TensorView* state = fusion.input("state", DataType::F32, {"m"});
  fusion.update(state, neg(state));
  TensorView* y = fusion.output("y", mul(x, factor));
  fusion.output("turned", permute(y, {1, 0}));
  fusion.output("part", slice(x, {1, 2}, {3, 6}));
  fusion.output("sums", sum(x, {1}));
  JitCpuDevice device;
  Program program = compile(fusion, device);
  alignas(64) std::array<float, 4 * 8> numbers = {};
  alignas(64) std::array<float, 8> states = {};
  const std::vector<Argument> inputs = {2.0, Tensor::wrap(device, numbers, {4, 8}), Tensor::wrap(device, states, {8})};
  const std::vector<OutputLayout> told = program.outputLayouts(inputs);
  EXPECT_EQ(program.statistics().new_calls, 1);
  const std::vector<Tensor> outputs = program.run(inputs);
  EXPECT_EQ(program.statistics().new_calls, 1);
  ASSERT_EQ(told.size(), outputs.size());
  for (size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].dtype, outputs[i].dtype()) << i;
    EXPECT_TRUE(std::ranges::equal(told[i].sizes, outputs[i].sizes())) << i;
    EXPECT_TRUE(std::ranges::equal(told[i].strides, outputs[i].strides())) << i;
    const std::byte* begin = static_cast<const std::byte*>(outputs[i].buffer()->address());
    if (told[i].memory == Memory::Own) {
      EXPECT_EQ(told[i].bytes, outputs[i].buffer()->bytes()) << i;
    } else {
      const Tensor& owner =
          told[i].memory == Memory::Output ? outputs[told[i].of] : std::get<Tensor>(inputs[told[i].of].value());
      EXPECT_EQ(outputs[i].buffer(), owner.buffer()) << i;
      begin = static_cast<const std::byte*>(owner.data());
    }
    EXPECT_EQ(begin + told[i].offset, static_cast<const std::byte*>(outputs[i].data())) << i;
  }
  EXPECT_EQ(told[0].memory, Memory::Own);
  EXPECT_EQ(told[1].memory, Memory::Output);
  EXPECT_EQ(told[1].of, size_t{0});
  EXPECT_EQ(told[2].memory, Memory::Input);
  EXPECT_EQ(told[2].of, size_t{1});
  EXPECT_EQ(told[2].offset, (8 + 2) * 4);
  EXPECT_EQ(told[3].memory, Memory::Own);
  EXPECT_EQ(errorOf([&] { program.outputLayouts(std::span(inputs).first(2)); }).code(), ErrorCode::Bind);
}

TEST(FrontDoor, ElementsOfEveryType) {
  JitCpuDevice device;
  const auto roundTrip = [&]<class T>(const std::vector<T>& elements) {
    const Tensor tensor = Tensor::wrap(device, elements, {static_cast<int64_t>(elements.size())});
    EXPECT_EQ(tensor.template read<T>().data(), elements.data());
    EXPECT_TRUE(tensor.buffer()->isReadOnly());
    return tensor.dtype();
  };
  EXPECT_EQ(roundTrip(std::vector<float>(3)), DataType::F32);
  EXPECT_EQ(roundTrip(std::vector<double>(3)), DataType::F64);
  EXPECT_EQ(roundTrip(std::vector<int32_t>(3)), DataType::I32);
  EXPECT_EQ(roundTrip(std::vector<int64_t>(3)), DataType::I64);
  EXPECT_EQ(roundTrip(std::vector<long long>(3)), DataType::I64);
  EXPECT_EQ(roundTrip(std::vector<Half>(3)), DataType::F16);
  EXPECT_EQ(roundTrip(std::vector<BFloat16>(3)), DataType::BF16);
  std::array<bool, 4> flags = {};
  EXPECT_EQ(Tensor::wrap(device, flags, {2, 2}).dtype(), DataType::Bool);
  EXPECT_FALSE(Tensor::wrap(device, flags, {2, 2}).buffer()->isReadOnly());

  const std::vector<float> six(6);
  EXPECT_EQ(errorOf([&] { Tensor::wrap(device, six, {2, 4}); }).message(),
            "tensor: sizes [2, 4] have 8 elements, and 6 were given to be wrapped");
  const Tensor tensor = Tensor::wrap(device, six, {2, 3});
  EXPECT_EQ(errorOf([&] { tensor.read<double>(); }).message(),
            "read: a tensor of type f32 with sizes [2, 3] and strides [3, 1] is not read as elements of type f64 in "
            "row-major order");
  EXPECT_EQ(errorOf([&] { tensor.slice(1, 0, 2).read<float>(); }).code(), ErrorCode::Bind);
  EXPECT_EQ(errorOf([&] { Tensor().read<float>(); }).code(), ErrorCode::Bind);
}

// Repetitions of elements depend on the scalar: there is no plan without it.
TEST(FrontDoor, PreparedIntegersAreTold) {
  Fusion fusion("grown");
  TensorView* x = fusion.input("x", DataType::F32, {"n"});
  Scalar* count = fusion.scalarInput("count", DataType::I64);
  fusion.output("y", expand(unsqueeze(x, 0), {count, x->axis(0)->extent()}));
  JitCpuDevice device;
  Program program = compile(fusion, device);
  EXPECT_EQ(errorOf([&] { program.prepare({{"n", 6}}); }).message(),
            "prepare: the scalar count of grown has no value; plans may depend on it");
  EXPECT_EQ(errorOf([&] { program.prepare({{"n", 2.5}, {"count", 2}}); }).message(),
            "prepare: n: 2.5 was given; an i64 is a whole number from -2^63 to 2^63 - 1");
  EXPECT_EQ(errorOf([&] { program.prepare({{"n", 3}, {"count", std::nan("")}}); }).message(),
            "prepare: count: nan was given; an i64 is a whole number from -2^63 to 2^63 - 1");
  program.prepare({{"n", 3}, {"count", 2}});
  alignas(64) const std::array<float, 3> numbers = {1, 2, 3};
  const std::vector<Tensor> outputs = program.run({Tensor::wrap(device, numbers, {3}), int64_t{2}});
  EXPECT_EQ(outputs.at(0).size(0), 2);
  EXPECT_EQ(program.statistics().new_calls, 1);
}

// A const range is not written: neither as an output nor in place.
TEST(FrontDoor, ConstMemoryIsRefusedAsAnOutput) {
  Fusion fusion("copy");
  fusion.output("y", neg(fusion.input("x", DataType::F32, {"n"})));
  JitCpuDevice device;
  Program program = compile(fusion, device);
  const std::vector<float> x = {1, 2}, y(2);
  EXPECT_EQ(errorOf([&] { program.run({Tensor::wrap(device, x, {2})}, {Tensor::wrap(device, y, {2})}); }).message(),
            "output y: f32[n]: the given tensor may not be written");
}

// No heuristic puts sums over both axes into one kernel; a loop by hand asks for one.
TEST(FrontDoor, WhatHasAScheduleIsOneKernelWhereAskedFor) {
  Fusion fusion("sums");
  TensorView* x = fusion.input("x", DataType::F32, {"n", "m"});
  TensorView* y = add(add(x, unsqueeze(sum(x, {0}), 0)), unsqueeze(sum(x, {1}), 1));
  fusion.output("y", y);
  split(y, 1, 2);
  JitCpuDevice device;
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const auto kernelsOf = [&](const CompileOptions& options) {
    Program program = compile(fusion, device, options);
    const std::vector<Tensor> outputs = program.run({Tensor::wrap(device, numbers, {2, 3})});
    EXPECT_THAT(outputs.at(0).read<float>(), ElementsAre(12, 15, 18, 24, 27, 30));
    const std::string text = program.hostText();
    size_t kernels = 0;
    for (size_t at = text.find("PostOnStream ("); at != std::string::npos; at = text.find("PostOnStream (", at + 1))
      ++kernels;
    return kernels;
  };
  EXPECT_GT(kernelsOf({}), 1);
  EXPECT_EQ(kernelsOf({.keeps_schedule = true}), 1);
}

TEST(FrontDoor, EightThreadsCompileAndRun) {
  JitCpuDevice device({.threads = 2});
  Fusion fusion("rows");
  fusion.output("y", softmax(fusion.input("x", DataType::F32, {"n", "m"}), 1));
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&device, &fusion, t] {
      const std::vector<float> x = someNumbers(static_cast<size_t>(3 * (t + 4)));
      Program program = compile(fusion, device);
      for (int call = 0; call < 5; ++call)
        expectSoftmax(program.run({Tensor::wrap(device, x, {3, t + 4})}).at(0).read<float>(), x, t + 4);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(FrontDoor, InputsAreGivenByNameAndNumbersOfAnyType) {
  Fusion fusion("scaled");
  TensorView* x = fusion.input("x", DataType::F32, {"n"});
  Scalar* scale = fusion.scalarInput("scale", DataType::F64);
  Scalar* shift = fusion.scalarInput("shift", DataType::I32);
  fusion.output("y", add(mul(x, scale), shift));
  JitCpuDevice device;
  Program program = compile(fusion, device);
  const std::vector<float> numbers = {1, 2};
  const Tensor in = Tensor::wrap(device, numbers, {2});
  const auto secondOf = [](const std::vector<Tensor>& outputs) { return outputs.at(0).read<float>()[1]; };
  EXPECT_EQ(secondOf(program.run({in, 2.5, 1})), 6);
  EXPECT_EQ(secondOf(program.run({in, 2.5F, uint8_t{1}})), 6);
  EXPECT_EQ(secondOf(program.run({in, 3, 1.0})), 7);
  EXPECT_EQ(secondOf(program.run({in, true, size_t{1}})), 3);
  EXPECT_EQ(secondOf(program.run({{"shift", 1}, {"x", in}, {"scale", 2.5}})), 6);
  EXPECT_EQ(secondOf(program.run({in, {"shift", 1}, {"scale", 2.5}})), 6);
  const auto said = [&](std::initializer_list<Argument> arguments) {
    const Error error = errorOf([&] { program.run(arguments); });
    EXPECT_EQ(error.code(), ErrorCode::Bind);
    return error.message();
  };
  EXPECT_EQ(said({in, 1, {"scal", 2}}), "scaled: it has no input 'scal'; it has x, scale, shift");
  EXPECT_EQ(said({in, {"x", in}, {"shift", 1}}), "scaled: the input 'x' is given twice");
  EXPECT_EQ(said({in, {"shift", 2}, {"shift", 1}}), "scaled: the input 'shift' is given twice");
  EXPECT_EQ(said({{"x", in}, 1, 1}),
            "scaled: an input without a name was given behind named ones; those by position come first");
  EXPECT_EQ(said({{"x", in}, {"scale", 1}}), "scaled: takes 3 inputs, 2 were given");
  EXPECT_EQ(said({in, 1, 0.5}), "input shift: 0.5 was given; an i32 is a whole number from -2^31 to 2^31 - 1");
  EXPECT_EQ(said({in, 1, int64_t{1} << 31}),
            "input shift: 2147483648 was given; an i32 is a whole number from -2^31 to 2^31 - 1");
  EXPECT_EQ(said({in, 1, std::nan("")}), "input shift: nan was given; an i32 is a whole number from -2^31 to 2^31 - 1");
  EXPECT_EQ(errorOf([&] { Argument(UINT64_MAX); }).message(),
            "argument: 18446744073709551615 was given; integers are below 2^63");
  EXPECT_EQ(said({1, 1, 1}), "x: f32[n] is a tensor, but a scalar was given");
}

// The fast way gives what run() gives, with outputs that are hidden, too.
TEST(FrontDoor, RunIntoTakesAllOutputs) {
  Fusion fusion("momentum");
  TensorView* state = fusion.input("state", DataType::F32, {"n"});
  Scalar* rate = fusion.scalarInput("rate", DataType::F32);
  TensorView* next = mul(state, rate);
  fusion.update(state, next);
  fusion.output("step", neg(next));
  JitCpuDevice device;
  Program program = compile(fusion, device);
  std::vector<float> state_memory = {2, 4}, step_memory(2);
  const std::vector<Tensor> inputs = {Tensor::wrap(device, state_memory, {2})};
  std::vector<Tensor> outputs = {Tensor::wrap(device, step_memory, {2})};
  const std::shared_ptr<Stream> stream = device.createStream();
  const std::vector<ScalarValue> scalars = {0.5};
  for (int i = 0; i < 2; ++i) program.runInto(inputs, outputs, *stream, scalars);
  ASSERT_NE(outputs[0].readyEvent(), nullptr);
  stream->synchronize();
  EXPECT_THAT(state_memory, ElementsAre(0.5, 1));
  EXPECT_THAT(step_memory, ElementsAre(-0.5, -1));
  EXPECT_EQ(errorOf([&] { program.runInto(inputs, {}, *stream, scalars); }).code(), ErrorCode::Bind);
}

TEST(FrontDoor, RunIntoTakesOnlyIntegersThatFit) {
  Fusion fusion("shifted");
  Scalar* by = fusion.scalarInput("by", DataType::I32);
  fusion.output("y", add(fusion.input("x", DataType::I32, {"n"}), by));
  JitCpuDevice device;
  Program program = compile(fusion, device);
  const std::vector<int32_t> numbers = {1};
  std::vector<int32_t> results = {0};
  const std::vector<Tensor> inputs = {Tensor::wrap(device, numbers, {1})};
  std::vector<Tensor> outputs = {Tensor::wrap(device, results, {1})};
  const std::shared_ptr<Stream> stream = device.createStream();
  const auto run = [&](ScalarValue number) { program.runInto(inputs, outputs, *stream, {&number, 1}); };
  for (const ScalarValue& number : {ScalarValue{1.5}, ScalarValue{std::nan("")}, ScalarValue{int64_t{1} << 32}})
    EXPECT_THAT(errorOf([&] { run(number); }).message(), HasSubstr("an i32 is a whole number from -2^31 to 2^31 - 1"));
  run(4.0);
  stream->synchronize();
  EXPECT_EQ(results[0], 5);
}

}  // namespace
}  // namespace tokamak
