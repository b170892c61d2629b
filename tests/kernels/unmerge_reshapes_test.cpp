// What kernels take and give in more axes than the program does.
#include <gtest/gtest.h>

#include "device/work.h"
#include "heuristics/schedule_kernel.h"
#include "heuristics/unmerge_reshapes.h"
#include "ir/clone.h"
#include "kernels/kernel_case.h"

namespace tokamak {
namespace {

constexpr std::string_view kHeads = R"(
fusion f(T0: f32[rows, heads, 64], T1: f32[rows, heads * 64]) -> T5 {
  T2 = sum(T0, axes=[2])
  T3 = sub(T0, broadcast(T2, flags=[false, false, true]))
  T4 = reshape(T3, shape=[rows, heads * 64])
  T5 = mul(T4, T1)
})";

TEST(SplitAxes, AreGivenInTheAxesThatWereMerged) {
  const auto fusion = fusionFrom(kHeads);
  EXPECT_EQ(unmergeReshapes(*fusion, TargetKind::Cpu), (std::vector<AxisParts>{{1, 1, 1}, {1, 2}, {1, 2}}));
  const TensorView& output = *fusion->outputs()[0];
  EXPECT_EQ(describe(output), "f32[rows, heads, 64]");
  EXPECT_EQ(output.label(), 5);
  EXPECT_EQ(describe(*asTensor(fusion->inputs()[1])), "f32[rows, heads, 64]");
  EXPECT_EQ(nameOf(*asTensor(fusion->inputs()[1])), "T1");
  EXPECT_EQ(nameOf(*asTensor(output.definition()->inputs()[0])), "T3");
  EXPECT_TRUE(canSchedule(*fusionFrom(kHeads), hopperTarget()));
  EXPECT_TRUE(canSchedule(*fusionFrom(kHeads), cpuTarget()));
}

TEST(SplitAxes, AxesThatWereMergedTwiceAreSplitTwice) {
  const auto fusion = fusionFrom(R"(
fusion f(T0: f32[a, b, c, d]) -> T5 {
  T1 = sub(T0, broadcast(sum(T0, axes=[3]), flags=[false, false, false, true]))
  T2 = reshape(T1, shape=[a, b, c * d])
  T3 = exp(T2)
  T4 = reshape(T3, shape=[a, b * (c * d)])
  T5 = neg(T4)
})");
  EXPECT_EQ(unmergeReshapes(*fusion, TargetKind::Cpu), (std::vector<AxisParts>{{1, 1, 1, 1}, {1, 3}}));
  EXPECT_EQ(describe(*fusion->outputs()[0]), "f32[a, b, c, d]");
}

// A sum of a few elements that is read in parts of an axis is computed wherever it is read, or, on a GPU, by the thread
// that has the column, in the axes of the sum.
TEST(SplitAxes, SumsOfAFewElementsAreColumnsOnAGpu) {
  constexpr std::string_view kGroups = R"(
fusion f(T0: f32[rows, 6, 4, 64]) -> T4 {
  T1 = sum(T0, axes=[2], keepdim=true)
  T2 = cat([T0, T1], axis=2)
  T3 = neg(T2)
  T4 = reshape(T3, shape=[rows, 6 * 5 * 64])
})";
  const auto on_cpu = fusionFrom(kGroups);
  EXPECT_TRUE(unmergeReshapes(*on_cpu, TargetKind::Cpu).empty());
  EXPECT_EQ(describe(*on_cpu->outputs()[0]), "f32[rows, 1920]");
  const auto on_gpu = fusionFrom(kGroups);
  EXPECT_EQ(unmergeReshapes(*on_gpu, TargetKind::Cuda), (std::vector<AxisParts>{{1, 1, 1, 1}, {1, 3}}));
  EXPECT_EQ(describe(*on_gpu->outputs()[0]), "f32[rows, 6, 5, 64]");
  EXPECT_FALSE(requireReductionStructure(*on_gpu).hasRecomputed());
  EXPECT_TRUE(canSchedule(*fusionFrom(kGroups), hopperTarget()));
  EXPECT_TRUE(canSchedule(*fusionFrom(kGroups), cpuTarget()));
}

// Sums over many rows of nothing are no sums of a few elements, which the lowering would refuse to compute wherever
// they are read.
TEST(SplitAxes, EmptySumsAreNotComputedWhereverTheyAreRead) {
  constexpr std::string_view kEmpty = R"(
fusion f(T0: f32[65, 2, 0]) -> T4 {
  T1 = sum(T0, axes=[0, 2])
  T2 = broadcast(T1, flags=[true, false, true])
  T3 = sub(T0, T2)
  T4 = reshape(T3, shape=[65, 0])
})";
  const auto fusion = fusionFrom(kEmpty);
  EXPECT_FALSE(requireReductionStructure(*fusion).hasRecomputed());
}

// A set is a copy of the same values; narrow results are casts of wide ones.
TEST(SplitAxes, GoThroughCastsAndSets) {
  const auto fusion = fusionFrom(R"(
fusion f(T0: bf16[a, b, c], T1: bf16[b * c]) -> (T7, T8) {
  T2 = cast(T0, dtype=f32)
  T3 = sub(T2, broadcast(max(T2, axes=[2]), flags=[false, false, true]))
  T4 = reshape(T3, shape=[a, b * c])
  T5 = set(T4)
  T6 = mul(T5, cast(T1, dtype=f32))
  T7 = cast(T6, dtype=bf16)
  T8 = neg(T0)
})");
  EXPECT_EQ(unmergeReshapes(*fusion, TargetKind::Cpu), (std::vector<AxisParts>{{1, 1, 1}, {1}, {1, 2}, {1, 1, 1}}));
  EXPECT_EQ(describe(*fusion->outputs()[0]), "bf16[a, b, c]");
  EXPECT_EQ(describe(*fusion->outputs()[1]), "f32[a, b, c]");
}

// Where all that reads an input splits its axes in one way.
TEST(SplitAxes, InputsAreTakenInTheAxesThatTheyAreReadIn) {
  const auto inputsOf = [](std::string_view text) {
    const auto fusion = fusionFrom(text);
    unmergeReshapes(*fusion, TargetKind::Cpu);
    std::string shapes;
    for (const TensorView* input : tensorsOf(fusion->inputs())) shapes += describe(*input) + " ";
    EXPECT_EQ(requireReductionStructure(*fusion).isSingleBlock(), false);
    return shapes;
  };
  EXPECT_EQ(inputsOf(R"(fusion f(T0: bf16[a, b * 32], T1: f32[a, b * 32], T2: f32[32]) -> T6 {
  T3 = add(cast(T0, dtype=f32), T1)
  T4 = reshape(T3, shape=[a, b, 32])
  T5 = sub(T4, broadcast(max(T4, axes=[2]), flags=[false, false, true]))
  T6 = mul(T5, T2)
})"),
            "bf16[a, b, 32] f32[a, b, 32] f32[32] ");
  // Read as it is, too; split in two ways; merged with its neighbour; broadcast.
  EXPECT_EQ(inputsOf(R"(fusion f(T0: f32[a, b * 32]) -> (T2, T3) {
  T1 = reshape(T0, shape=[a, b, 32])
  T2 = sub(T1, broadcast(max(T1, axes=[2]), flags=[false, false, true]))
  T3 = neg(T0)
})"),
            "f32[a, ( b * 32 )] ");
  EXPECT_EQ(inputsOf(R"(fusion f(T0: f32[a, 64]) -> (T2, T4) {
  T1 = reshape(T0, shape=[a, 2, 32])
  T2 = max(T1, axes=[2])
  T3 = reshape(T0, shape=[a, 4, 16])
  T4 = max(T3, axes=[2])
})"),
            "f32[a, 64] ");
  EXPECT_EQ(inputsOf(R"(fusion f(T0: f32[a, 3, 64]) -> T2 {
  T1 = reshape(T0, shape=[a, 6, 32])
  T2 = max(T1, axes=[2])
})"),
            "f32[a, 3, 64] ");
  EXPECT_EQ(inputsOf(R"(fusion f(T0: f32[64], T1: f32[a, 64]) -> T4 {
  T2 = mul(T0, T1)
  T3 = reshape(T2, shape=[a, 2, 32])
  T4 = max(T3, axes=[2])
})"),
            "f32[64] f32[a, 2, 32] ");
}

TEST(SplitAxes, StayWhereNothingIsGained) {
  const auto isLeft = [](std::string_view text) {
    const auto fusion = fusionFrom(text);
    const std::string before = describe(*fusion->outputs()[0]);
    return unmergeReshapes(*fusion, TargetKind::Cpu).empty() && describe(*fusion->outputs()[0]) == before;
  };
  // Rows are whole as it is.
  EXPECT_TRUE(isLeft("fusion f(T0: f32[a, b, c]) -> T1 { T1 = exp(reshape(T0, shape=[a, b * c])) }"));
  EXPECT_TRUE(isLeft(R"(fusion f(T0: f32[a, b, c]) -> T2 {
  T1 = sub(T0, broadcast(sum(T0, axes=[1, 2]), flags=[false, true, true]))
  T2 = exp(reshape(T1, shape=[a, b * c]))
})"));
  // No kernel, split or not: a product.
  EXPECT_TRUE(isLeft(R"(fusion f(T0: f32[a, b, c], T1: f32[b * c, d]) -> T4 {
  T2 = sub(T0, broadcast(sum(T0, axes=[2]), flags=[false, false, true]))
  T3 = exp(reshape(T2, shape=[a, b * c]))
  T4 = matmul(T3, T1)
})"));
  // Memory may have one element of an expanded axis.
  EXPECT_TRUE(isLeft(R"(fusion f(T0: f32[a, b, c]) -> T3 {
  T1 = sub(T0, broadcast(sum(T0, axes=[2]), flags=[false, false, true]))
  T2 = exp(reshape(T1, shape=[a, b * c]))
  T3 = expand(broadcast(T2, flags=[false, false, true]), shape=[a, b * c, 3])
})"));
  // Somebody has said how it is to be made.
  EXPECT_TRUE(isLeft(R"(fusion f(T0: f32[a, b, c]) -> T2 {
  T1 = sub(T0, broadcast(sum(T0, axes=[2]), flags=[false, false, true]))
  T2 = exp(reshape(T1, shape=[a, b * c]))
}
schedule {
  parallelize(T2, axis=0, type=BIDx)
})"));
}

TEST(SplitAxes, AreViewsOfAnyMemory) {
  const auto fusion = fusionFrom(kHeads);
  const std::vector<AxisParts> parts = unmergeReshapes(*fusion, TargetKind::Cpu);
  ScalarBindings sizes;
  for (Scalar* symbol : fusion->allSymbols()) sizes[symbol] = int64_t{symbol->name() == "rows" ? 5 : 3};
  const std::vector<OperandDesc> given = {{DataType::F32, {5, 3, 64}, {192, 64, 1}, 16},
                                          {DataType::F32, {5, 192}, {192, 1}, 16},
                                          {DataType::F32, {5, 192}, {1, 7}, 4}};
  const std::vector<OperandDesc> split = unmergeOperands(*fusion, parts, given, sizes);
  EXPECT_EQ(split[0].sizes, given[0].sizes);
  EXPECT_EQ(split[1].sizes, (std::vector<int64_t>{5, 3, 64}));
  EXPECT_EQ(split[1].strides, (std::vector<int64_t>{192, 64, 1}));
  EXPECT_EQ(split[2].sizes, (std::vector<int64_t>{5, 3, 64}));
  EXPECT_EQ(split[2].strides, (std::vector<int64_t>{1, 448, 7}));
  EXPECT_EQ(split[2].alignment, 4);
  std::vector<OperandDesc> wrong = given;
  wrong[2].sizes[1] = 191;
  EXPECT_EQ(messageOf(ErrorCode::Bind, [&] { unmergeOperands(*fusion, parts, wrong, sizes); }),
            "T5 has 191 elements along axis 1, not 192");
}

}  // namespace
}  // namespace tokamak
