// Executors: which sizes, layouts and programs share a kernel's code, and what is said where they do not.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/bind_shape.h"
#include "base/error.h"
#include "codegen/source.h"
#include "define/callables.h"
#include "device/work.h"
#include "ir/text/fusion_parser.h"
#include "jit/kernel_executor.h"
#include "kernel/bind_kernel.h"
#include "kernels/kernel_case.h"
#include "schedule/commands.h"

namespace tokamak {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;

// A program's executor without a device, and operands for it.
class ExecutorBench {
 public:
  ExecutorBench(std::string_view text, const KernelTarget& target)
      : fusion(parseScheduled(text)),
        form(structuralFormOf(*fusion)),
        executor(*fusion, parameters(), options(target)) {}

  // Dense operands at these sizes, as `change` changes them.
  std::shared_ptr<const BoundKernel> bind(const std::map<std::string, int64_t>& sizes,
                                          const std::function<void(std::vector<OperandDesc>&)>& change = nullptr) {
    ScalarBindings bindings;
    std::vector<std::optional<ScalarValue>> values;
    for (const Scalar* symbol : form.symbols) {
      const auto size = sizes.find(symbol->name());
      if (size != sizes.end()) bindings[symbol] = size->second;
      values.push_back(size == sizes.end() ? std::nullopt : std::optional<ScalarValue>(size->second));
    }
    std::vector<OperandDesc> operands;
    std::vector<TensorView*> tensors = tensorsOf(fusion->inputs());
    tensors.insert(tensors.end(), fusion->outputs().begin(), fusion->outputs().end());
    for (const TensorView* tensor : tensors) {
      const std::vector<int64_t> extents = sizesOf(*tensor, bindings);
      operands.push_back({tensor->dtype(), extents, freshStrides(*tensor, extents), 256});
    }
    if (change) change(operands);
    return executor.bind(operands, values);
  }

  std::vector<std::string> reasons() const {
    std::vector<std::string> sentences;
    for (const auto& code : executor.codes()) sentences.push_back(code->reason);
    return sentences;
  }

  std::shared_ptr<Fusion> fusion;
  StructuralForm form;
  KernelExecutor executor;

 private:
  // Scalar inputs of floating types are parameters.
  std::vector<bool> parameters() const {
    std::vector<bool> result;
    for (const Scalar* symbol : form.symbols) result.push_back(isFloatingType(symbol->dtype()));
    return result;
  }
  static KernelExecutorOptions options(const KernelTarget& target) {
    using Indices = KernelExecutorOptions::Indices;
    return {.target = target,
            .indices = target.kind == TargetKind::Cuda ? Indices::Chosen : Indices::Wide,
            .compile = nullptr};
  }
};

constexpr std::string_view kSoftmax = "fusion f(T0: f32[i0, i2]) -> T1 { T1 = softmax(T0) }";
constexpr std::string_view kExp = "fusion f(T0: f32[i0, i2]) -> T1 { T1 = exp(T0) }";
constexpr std::string_view kFirst = "first kernel of this program";

TEST(KernelExecutor, OfElementsFitsAllSizes) {
  ExecutorBench bench(kExp, cpuTarget());
  const auto code = bench.bind({{"i0", 4}, {"i2", 8}})->code;
  for (const int64_t rows : {0, 1, 3, 4, 1025})
    for (const int64_t columns : {0, 1, 7, 8, 4096})
      EXPECT_TRUE(bench.bind({{"i0", rows}, {"i2", columns}})->code == code) << rows << ", " << columns;
  EXPECT_THAT(bench.reasons(), ElementsAre(kFirst));
}

// The first few lengths of rows are constants; then one kernel has all others.
TEST(KernelExecutor, StopsMakingCodeForEverySize) {
  for (const KernelTarget& target : {cpuTarget(), hopperTarget()}) {
    ExecutorBench bench(kSoftmax, target);
    for (int64_t columns = 1024; columns < 1024 + 16 * 64; columns += 64)
      for (const int64_t rows : {0, 1, 3, 4, 1025}) bench.bind({{"i0", rows}, {"i2", columns}});
    std::vector<std::string> expected = {std::string(kFirst), "extent i2 was 1024, is 1088",
                                         "extent i2 was 1088, is 1152", "extent i2 was 1152, is 1216"};
    expected.push_back(std::string("extent i2 was 1216, is ") +
                       (target.kind == TargetKind::Cuda ? "a multiple of 16" : "any"));
    std::vector<std::string> extents;
    for (const std::string& reason : bench.reasons()) {
      const std::string extent = reason.substr(0, reason.find(';'));
      if (extent.starts_with("schedule")) continue;
      extents.push_back(extent);
    }
    EXPECT_THAT(extents, ElementsAreArray(expected));
    EXPECT_LE(bench.reasons().size(), 8U);
    const size_t known = bench.reasons().size();
    bench.bind({{"i0", 7}, {"i2", 1024}});
    bench.bind({{"i0", 7}, {"i2", 1024 + 16 * 64}});
    EXPECT_EQ(bench.reasons().size(), known);
  }
}

TEST(KernelExecutor, EvaluatesNothingForASizeThatWasThere) {
  ExecutorBench bench(kSoftmax, cpuTarget());
  const auto first = bench.bind({{"i0", 4}, {"i2", 8}});
  EXPECT_NE(bench.bind({{"i0", 5}, {"i2", 8}}), first);
  EXPECT_EQ(bench.bind({{"i0", 4}, {"i2", 8}}), first);
}

TEST(KernelExecutor, OfAGpuHasRowsOpenAndColumnsConstant) {
  ExecutorBench bench(kSoftmax, hopperTarget());
  const auto code = bench.bind({{"i0", 8}, {"i2", 4096}})->code;
  EXPECT_EQ(bench.bind({{"i0", 100}, {"i2", 4096}})->code, code);
  const auto of_100_rows = bench.bind({{"i0", 100}, {"i2", 4096}});
  EXPECT_EQ(kir::launchSize(of_100_rows->code->kernel, of_100_rows->bindings).blocks, 100);
  EXPECT_EQ(bench.bind({{"i0", 0}, {"i2", 4096}})->code, code);
  EXPECT_EQ(bench.bind({{"i0", 1}, {"i2", 4096}})->code, code);
  EXPECT_NE(bench.bind({{"i0", 8}, {"i2", 4104}})->code, code);
  const std::vector<std::string> reasons = bench.reasons();
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_THAT(reasons[1], HasSubstr("extent i2 was 4096, is 4104"));
}

TEST(KernelExecutor, OfAGpuKnowsDivisorsOfTheOnlyAxis) {
  ExecutorBench bench("fusion f(T0: f32[i0]) -> T1 { T1 = exp(T0) }", hopperTarget());
  const auto code = bench.bind({{"i0", 64}})->code;
  EXPECT_EQ(bench.bind({{"i0", 1 << 20}})->code, code);
  EXPECT_NE(bench.bind({{"i0", 24}})->code, code);
  EXPECT_NE(bench.bind({{"i0", 23}})->code, code);
  EXPECT_THAT(bench.reasons(), ElementsAre(kFirst, "extent i0 was a multiple of 16, is a multiple of 8",
                                           "extent i0 was a multiple of 8, is any"));
}

TEST(KernelExecutor, SaysWhatIsDifferentFromTheNearestChoice) {
  ExecutorBench bench(kExp, cpuTarget());
  const std::map<std::string, int64_t> sizes = {{"i0", 6}, {"i2", 8}};
  bench.bind(sizes);
  bench.bind(sizes, [](auto& operands) { operands[0].alignment = 2; });
  bench.bind(sizes, [](auto& operands) { operands[0].strides = {9, 1}; });
  bench.bind(sizes, [](auto& operands) { operands[0].strides = {16, 2}; });
  bench.bind(sizes, [](auto& operands) { operands[0].strides = {1, 6}; });
  EXPECT_THAT(bench.reasons(),
              ElementsAre(kFirst, "alignment 2 instead of 16", "T0 is not dense along axis 0",
                          "T0 is not dense along axis 1", "the axes of T0 lie in the order (1, 0) instead of (0, 1)"));
  EXPECT_EQ(
      bench.executor.describe(bench.executor.codes().back()->choice),
      "T0 in the order (1, 0) dense, T1 dense, alignment 16, block elements 8192, block columns 2048, accumulators 64, "
      "last accumulators 16, "
      "block terms 32, split elements 65536, max grid split 64, persistent bytes 524288, tile bytes 256");
  // Where an axis has one element or none, its stride does not matter.
  bench.bind({{"i0", 1}, {"i2", 8}}, [](auto& operands) { operands[0].strides = {77, 1}; });
  EXPECT_EQ(bench.reasons().size(), 5U);
}

// Fake strides: nothing is ever read.
TEST(KernelExecutor, HasWideIndicesWhereElementsAreMany) {
  ExecutorBench bench(kExp, hopperTarget());
  const auto small = bench.bind({{"i0", 1000}, {"i2", 1024}});
  const auto many = bench.bind({{"i0", (int64_t{1} << 21) + 1}, {"i2", 1024}});
  EXPECT_EQ(small->code->choice.index_type, DataType::I32);
  EXPECT_EQ(many->code->choice.index_type, DataType::I64);
  EXPECT_THAT(bench.reasons(), ElementsAre(kFirst, "64-bit indices instead of 32-bit ones"));
  // Sizes between them are known to be small without another analysis; the last one that is small and the first one
  // that is not are told apart.
  EXPECT_EQ(bench.bind({{"i0", 500'000}, {"i2", 1024}})->code, small->code);
  EXPECT_EQ(bench.bind({{"i0", (int64_t{1} << 21) - 1024}, {"i2", 1024}})->code, small->code);
  EXPECT_EQ(bench.bind({{"i0", int64_t{1} << 22}, {"i2", 1024}})->code, many->code);
  const auto sourceOf = [](const KernelCode& code) {
    return kernelSource(code.kernel, Dialect::Cuda, code.choice.index_type).text;
  };
  EXPECT_THAT(sourceOf(*small->code), HasSubstr("const tk_i32 i0 = (tk_i32)i0_;"));
  EXPECT_THAT(sourceOf(*many->code), HasSubstr("const tk_i64 i0 = (tk_i64)i0_;"));
  // Strides alone are enough.
  const auto far =
      bench.bind({{"i0", 1000}, {"i2", 1024}}, [](auto& operands) { operands[0].strides = {int64_t{1} << 22, 1}; });
  EXPECT_EQ(far->code->choice.index_type, DataType::I64);
}

TEST(KernelExecutor, PutsParametersFirstAndNeedsNoValueOfThem) {
  for (const KernelTarget& target : {cpuTarget(), hopperTarget()}) {
    ExecutorBench bench("fusion f(T0: f32[i0, i2], a: f32) -> T1 { T1 = mul(T0, a) }", target);
    const auto bound = bench.bind({{"i0", 6}, {"i2", 8}});
    ASSERT_EQ(bound->code->kernel.parameter_count, 1U);
    EXPECT_EQ(bound->code->kernel.symbols[0]->name(), "a");
    EXPECT_EQ(bench.form.symbols[bound->code->parameters.at(0)]->name(), "a");
  }
}

TEST(KernelExecutor, RefusesLibraryCalls) {
  ExecutorBench bench("fusion f(T0: f32[m, k], T1: f32[k, n]) -> T2 { T2 = matmul(T0, T1) }", cpuTarget());
  try {
    bench.bind({{"m", 2}, {"k", 3}, {"n", 4}});
    FAIL() << "a matmul became a kernel";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Schedule);
    EXPECT_THAT(error.message(), HasSubstr("no kernel: matmul is a library call"));
  }
}

TEST(KernelExecutor, HasCodeThatFailedCompiledAgain) {
  struct Image final : KernelImage {
    explicit Image(bool fails) : has_failed(fails) {}
    void waitUntilReady() const override {}
    bool hasFailed() const override { return has_failed; }
    const bool has_failed;
  };
  const auto fusion = parseScheduled(kExp);
  int compiled = 0;
  KernelExecutor executor(
      *fusion, {false, false},
      {.target = cpuTarget(), .compile = [&](const KernelCode&) -> std::shared_ptr<const KernelImage> {
         return std::make_shared<Image>(++compiled < 3);
       }});
  const OperandDesc operand{DataType::F32, {2, 3}, {3, 1}, 64};
  const std::vector<OperandDesc> operands = {operand, operand};
  const std::vector<std::optional<ScalarValue>> values = {ScalarValue{int64_t{2}}, ScalarValue{int64_t{3}}};
  for (int i = 0; i < 5; ++i) executor.bind(operands, values);
  EXPECT_EQ(compiled, 3);
}

TEST(StructuralForm, KnowsNoNames) {
  const auto wordsOf = [](std::string_view text) { return structuralFormOf(*parseScheduled(text)).words; };
  const auto words = wordsOf("fusion f(T0: f32[i0, i2], T1: f32[i2]) -> T9 { T9 = sum(mul(T0, T1), axes=[1]) }");
  EXPECT_EQ(words,
            wordsOf("fusion g(T5: f32[rows, columns], T1: f32[columns]) -> T2 { T2 = sum(mul(T5, T1), axes=[1]) }"));
  for (const std::string_view other : {
           "fusion f(T0: f32[i0, i2], T1: f32[i2]) -> T9 { T9 = sum(mul(T0, T1), axes=[0]) }",
           "fusion f(T0: f32[i0, i2], T1: f32[i2]) -> T9 { T9 = max(mul(T0, T1), axes=[1]) }",
           "fusion f(T0: f32[i0, i2], T1: f32[i2]) -> T9 { T9 = sum(add(T0, T1), axes=[1]) }",
           "fusion f(T0: f32[i0, i2], T1: f32[i2]) -> T9 { T9 = sum(mul(T1, T0), axes=[1]) }",
           "fusion f(T0: f32[i0, i2], T1: f32[i3]) -> T9 { T9 = sum(mul(T0, T1), axes=[1]) }",
           "fusion f(T0: f32[i0, 64], T1: f32[64]) -> T9 { T9 = sum(mul(T0, T1), axes=[1]) }",
           "fusion f(T0: f64[i0, i2], T1: f64[i2]) -> T9 { T9 = sum(mul(T0, T1), axes=[1]) }",
           "fusion f(T1: f32[i2], T0: f32[i0, i2]) -> T9 { T9 = sum(mul(T0, T1), axes=[1]) }",
           "fusion f(T0: f32[i0, i2], T1: f32[i2]) -> T9 { T8: f32[i0, i2] mesh(0) = mul(T0, T1) T9 = sum(T8, "
           "axes=[1]) }",
           "fusion f(T0: f32[i0, i2], T1: f32[i2]) -> T9 { T8: f32[i0, i2] mesh(0) partial(sum, DIDx) = mul(T0, T1) T9 "
           "= "
           "sum(T8, axes=[1]) }",
           "fusion f(T0: f32[i0, i2], T1: f32[i2]) -> T9 { T8: f32[i0, i2] mesh(0) partial(max, DIDx) = mul(T0, T1) T9 "
           "= "
           "sum(T8, axes=[1]) }",
           "fusion f(T0: f32[i0, i2], T1: f32[i2]) -> T9 { T9 = sum(mul(T0, T1), [1]) } schedule { split(T9, 0, 4) }",
       })
    EXPECT_THAT(wordsOf(other), Not(words)) << other;
}

}  // namespace
}  // namespace tokamak
