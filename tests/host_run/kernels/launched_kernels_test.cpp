// Kernels that a host program brings and launches by name.
#include <mutex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/bind_shape.h"
#include "host/ir/text/host_parser.h"
#include "host/ir/text/host_printer.h"
#include "host/ir/verifier.h"
#include "host_run/program_text.h"
#include "host_run/run_bench.h"
#include "ir/ops/host/launch_kernel.h"
#include "kernel/parse_kernel.h"

namespace tokamak {
namespace {

using testing::HasSubstr;

class KernelTexts final : public KernelObserver {
 public:
  void onKernel(const Fusion&, const std::string& kernel, const std::string&) override {
    const std::lock_guard lock(mutex_);
    texts.push_back(kernel);
  }
  std::vector<std::string> texts;

 private:
  std::mutex mutex_;
};

// A program that only launches the kernel, whose sizes are numbers, and the memory that it is run with.
struct Launch {
  Launch(const std::string& text, const std::vector<Tensor>& tensors) {
    auto kernel = std::make_shared<const kir::Kernel>(kir::parseKernel(text, "kernel"));
    program = std::make_unique<HostIrContainer>(kernel->name);
    program->addKernel(7, kernel);
    LaunchKernel launch{.kernel = 7};
    const size_t inputs = tensors.size() - kernel->fusion->outputs().size();
    for (size_t i = 0; i < tensors.size(); ++i) {
      Axes axes;
      std::vector<int64_t> sizes;
      for (const IterDomain* axis : shapeOf(*kernel->tensors[i])) {
        sizes.push_back(axis->visibleExtent()->constantInt().value());
        axes.push_back(program->axis({.extent = program->constant(sizes.back())}));
      }
      TensorView* tensor = program->tensor(tensors[i].dtype(), std::move(axes));
      tensor->setMemoryType(MemoryType::Global);
      if (i < inputs) {
        program->addInput(tensor);
        launch.ins.push_back(tensor);
        const std::vector<int64_t> strides = freshStrides(*tensor, sizes);
        given.emplace_back(tensor, Tensor(tensors[i].buffer(), 0, tensors[i].dtype(), sizes, strides));
      } else {
        program->addOutput(tensor);
        launch.outs.push_back(tensor);
      }
    }
    launch.grid = extents(*kernel, ParallelType::BIDx);
    launch.block = extents(*kernel, ParallelType::TIDx);
    program->pushBack(program->appendOp(std::move(launch)));
  }

  std::vector<Scalar*> extents(const kir::Kernel& kernel, ParallelType first) const {
    std::vector<Scalar*> extents;
    for (size_t k = 0; k < 3; ++k) {
      const auto* dimension = kernel.dimension(static_cast<ParallelType>(static_cast<size_t>(first) + k));
      extents.push_back(program->constant(dimension == nullptr ? 1 : dimension->extent->constantInt().value()));
    }
    return extents;
  }

  std::unique_ptr<HostIrContainer> program;
  std::vector<std::pair<Val*, RunValue>> given;
};

constexpr const char* kPrograms[] = {
    "fusion f(T0: f32[37, 5]) -> T1 { T1 = exp(neg(T0)) }",
    "fusion f(T0: f32[37, 64]) -> T1 { T1 = softmax(T0) }",
    "fusion f(T0: bf16[12, 96]) -> T1 { T1 = layer_norm(T0) }",
    "fusion f(T0: f32[64, 48]) -> T1 { T1 = sum(exp(T0), axes=[0]) }",
    "fusion f(T0: f64[9, 33], T1: f64[33, 9]) -> T3 { T2 = permute(T0, order=[1, 0]) T3 = add(T2, T1) }",
    "fusion f(T0: i64[4000]) -> (T1, T2) { T1 = mul(T0, 3) T2 = gt(T1, 1) }",
};

// What the compiler made of a program gives the same bits when it is launched by its name: on the processor, and, with
// threads, shared memory and clusters, on the interpreter.
TEST(LaunchedKernels, GiveTheBitsOfTheProgramThatTheyWereMadeOf) {
  for (const KernelRunner runner : {KernelRunner::Compiled, KernelRunner::Interpreted}) {
    for (const char* const text : kPrograms) {
      SCOPED_TRACE(text);
      KernelTexts made;
      RunBench bench({.threads = 2, .poisons_memory = true, .kernels = &made, .runner = runner});
      const auto fusion = fusionOf(text);
      const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
      MultiDeviceExecutor executor(*fusion, bench.device, {});
      const std::vector<Tensor> expected = executor.runWithInput(inputs);
      ASSERT_EQ(made.texts.size(), 1U);
      std::vector<Tensor> tensors;
      for (const RunValue& input : inputs) tensors.push_back(std::get<Tensor>(input));
      tensors.insert(tensors.end(), expected.begin(), expected.end());
      Launch launch(made.texts[0], tensors);
      const std::string printed = printHostProgram(*launch.program);
      EXPECT_EQ(printHostProgram(*parseHostProgram(printed, "printed")), printed);
      finishHostProgram(*launch.program, {});
      for (const Mode mode : kModes) {
        HostIrEvaluator evaluator(parseHostProgram(printHostProgram(*launch.program), "finished"), bench.device,
                                  {.mode = mode});
        std::vector<std::pair<Val*, RunValue>> given;
        for (size_t i = 0; i < launch.given.size(); ++i)
          given.emplace_back(evaluator.program().inputs()[i], launch.given[i].second);
        const std::vector<Tensor> outputs = evaluator.runWithInput(given);
        ASSERT_EQ(outputs.size(), expected.size());
        for (size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(bytesOf(outputs[i]), bytesOf(expected[i]));
      }
    }
  }
}

const std::string kScale = R"(Kernel0{
  kernel scale(T0: f32[n:1], s: f32, n: i64) -> T1: f32[n:1] BIDx in ( ceilDiv(n, 64) ) {
    for k in 0..64 {
      if ( ( ( BIDx * 64 ) + k ) < n ) {
        T1[( ( BIDx * 64 ) + k )] = mul(T0[( ( BIDx * 64 ) + k )], f32(s))
      }
    }
  }
}
)";

std::unique_ptr<HostIrContainer> scaling(
    const std::string& launch, const std::string& kernel = kScale,
    const std::string& signature = "(T0_g_float[iS0{i0}]) -> (T1_g_float[iS1{i0}])") {
  return parseHostProgram("%HostIrContainer { " + signature + " :\n  " + launch + "\n} // %HostIrContainer\n" + kernel,
                          "test.host_ir");
}
const std::string kLaunch =
    "LaunchKernel(Kernel0, grid={( ceilDiv(i0, 64) ), 1, 1}, block={1, 1, 1}, Inputs: {T0_g_float[iS0{i0}], "
    "float(2.5), }, "
    "Outputs: {T1_g_float[iS1{i0}], })";

TEST(LaunchedKernels, FitEverySizeOrSayWhyNot) {
  RunBench bench;
  auto program = scaling(kLaunch);
  finishHostProgram(*program, {});
  HostIrEvaluator evaluator(std::move(program), bench.device);
  const auto run = [&](const Tensor& input) {
    return numbersOf(evaluator.runWithInput({{evaluator.program().inputs()[0], input}})[0]);
  };
  EXPECT_EQ(run(bench.numbers(DataType::F32, {3}, {1, 2, -4})), (std::vector<double>{2.5, 5, -10}));
  EXPECT_EQ(run(bench.random(DataType::F32, {0}, 1)), std::vector<double>{});
  EXPECT_EQ(run(bench.random(DataType::F32, {1000}, 1)).size(), 1000U);
}

struct Refused {
  std::string name;
  std::string launch;
  std::string kernel;
  std::string message;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

const Refused kRefused[] = {
    {"AKernelThatIsNotThere", replaced(kLaunch, "Kernel0", "Kernel1"), "",
     "LaunchKernel names Kernel1, which the program does not have (launches)"},
    {"AScalarTooFew", replaced(kLaunch, "float(2.5), ", ""), kScale,
     "Kernel0 takes and gives T0: f32[n], s: f32, T1: f32[n], but is launched with T0: f32[i0], T1: f32[i0] "
     "(launches)"},
    {"AKernelOfMixedTypes", kLaunch, replaced(kScale, "T0: f32", "T0: f64"),
     "Kernel0: operand 0 of mul is f64, not f32"},
    {"AGridOfOne", replaced(kLaunch, "1, 1}, block", "1}, block"), kScale,
     "the grid and the block of Kernel0 have three extents each"},
    {"AnIllegalKernel", kLaunch, replaced(kScale, "T1[( ( BIDx * 64 ) + k )]", "T0[( ( BIDx * 64 ) + k )]"),
     "Kernel0: "},
};

TEST(LaunchedKernels, ThatDoNotFitTheirLaunchAreRefused) {
  RunBench bench;
  for (const Refused& refused : kRefused) {
    SCOPED_TRACE(refused.name);
    const auto program = scaling(refused.launch, refused.kernel);
    EXPECT_THAT(errorOf([&] { verifyHostProgram(*program); }).message(), HasSubstr(refused.message));
  }
}

TEST(LaunchedKernels, AreLaunchedByAStatementOrRefused) {
  EXPECT_THAT(errorOf([&] { scaling(kLaunch, kScale + replaced(kScale, "Kernel0", "Kernel3")); }).message(),
              HasSubstr("no statement launches Kernel3; launch it or leave it out"));
  EXPECT_THAT(errorOf([&] { scaling(replaced(kLaunch, "Kernel0", "Kernel1")); }).message(),
              HasSubstr("no statement launches Kernel0; launch it or leave it out"));
  EXPECT_THAT(errorOf([&] { scaling(kLaunch, kScale + "HostUnit2{\n}\n"); }).message(),
              HasSubstr("no statement posts HostUnit2; post it or leave it out"));
}

TEST(LaunchedKernels, AtSizesThatAreNotTheirsAreRefused) {
  const auto messageOf = [](const std::string& launch, const std::string& kernel, KernelRunner runner) {
    RunBench bench({.threads = 1, .poisons_memory = true, .runner = runner});
    return errorOf([&] {
             auto program = scaling(launch, kernel);
             finishHostProgram(*program, {});
             HostIrEvaluator evaluator(std::move(program), bench.device);
             const Tensor input = bench.random(DataType::F32, {100}, 1);
             evaluator.runWithInput({{evaluator.program().inputs()[0], input}})[0].waitReady();
           })
        .message();
  };
  const auto message = [&](const std::string& launch, const std::string& kernel = kScale) {
    return messageOf(launch, kernel, KernelRunner::Compiled);
  };
  EXPECT_THAT(message(replaced(kLaunch, "( ceilDiv(i0, 64) )", "1")),
              HasSubstr("Kernel0: the grid's extent 0 is 1, but the kernel's BIDx is 2"));
  EXPECT_THAT(message(replaced(kLaunch, "block={1,", "block={32,")),
              HasSubstr("Kernel0: the block's extent 0 is 32, but the kernel's TIDx is 1"));
  EXPECT_THAT(
      message(kLaunch, replaced(replaced(kScale, "f32[n:1], s", "f32[64:1], s"), "T1: f32[n:1]", "T1: f32[n:1]")),
      HasSubstr("Kernel0: axis 0 of T0 has size 64, but is given 100"));
  EXPECT_THAT(message(kLaunch, replaced(kScale, "f32[n:1], s", "f32[n:2], s")), HasSubstr("has stride 1"));
  EXPECT_THAT(message(kLaunch, replaced(kScale, "T1: f32[n:1] BIDx", "T1: f32[n:1] align 4096 BIDx")),
              HasSubstr("has to be aligned to 4096 bytes"));
  EXPECT_THAT(message(replaced(kLaunch, "float(2.5)", "f7")), HasSubstr("f7"));
  // A write beyond the end: the interpreter sees it.
  EXPECT_THAT(messageOf(kLaunch, replaced(kScale, "+ k ) < n )", "+ k ) < ( n + 1 ) )"), KernelRunner::Interpreted),
              HasSubstr("kernel scale: "));
  EXPECT_THAT(messageOf(kLaunch, kScale, KernelRunner::OpByOp), HasSubstr("this device makes no kernels"));
}

TEST(UnitsOfAnExecutor, RunAsTheCallerSaysElseAsTheGroupingAsks) {
  RunBench bench;
  const auto fusion = fusionOf("fusion f(T0: f32[37, 5]) -> T1 { T1 = exp(neg(T0)) }");
  const std::vector<RunValue> inputs = bench.inputsOf(*fusion);
  const auto modeOf = [&](Grouping grouping, std::optional<SegmentMode> segments) {
    MultiDeviceExecutor executor(*fusion, bench.device,
                                 {.lowering = {.grouping = grouping}, .evaluator = {.segments = segments}});
    EXPECT_EQ(differenceFromOracle(*fusion, oracleInputsOf(inputs), executor.runWithInput(inputs)), "");
    return executor.evaluator().segmentMode();
  };
  EXPECT_EQ(modeOf(Grouping::Fused, std::nullopt), SegmentMode::Kernels);
  EXPECT_EQ(modeOf(Grouping::Segments, std::nullopt), SegmentMode::OpByOp);
  EXPECT_EQ(modeOf(Grouping::Fused, SegmentMode::OpByOp), SegmentMode::OpByOp);
  EXPECT_EQ(modeOf(Grouping::Segments, SegmentMode::Kernels), SegmentMode::Kernels);
}

}  // namespace
}  // namespace tokamak
