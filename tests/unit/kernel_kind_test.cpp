// Kinds of kernels: which ones a fusion is, in order of priority, and what is against the others; fields of parameters.
#include "heuristics/kernel_kind.h"
#include "program_of.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "error_of.h"
#include "heuristics/parameter_fields.h"

namespace tokamak {
namespace {

KernelTarget targetOf(TargetKind kind) { return kind == TargetKind::Cpu ? cpuTarget() : hopperTarget(); }

// "transpose, pointwise".
std::string kindsOf(const std::string& text, TargetKind target) {
  const auto fusion = fusionFrom(text);
  std::vector<std::string_view> kinds;
  for (const KindVerdict& each : judgeKernelKinds(*fusion, targetOf(target))) {
    if (!each.reason) kinds.push_back(kernelKindName(each.kind));
  }
  return joined(kinds);
}

std::string reasonAgainst(KernelKind kind, const std::string& text, TargetKind target = TargetKind::Cpu) {
  const auto fusion = fusionFrom(text);
  for (const KindVerdict& each : judgeKernelKinds(*fusion, targetOf(target))) {
    if (each.kind == kind) return each.reason.value_or("");
  }
  return "not judged";
}

struct KindCase {
  const char* kinds;
  const char* text;
};

constexpr const char* kPointwise = "fusion f(T0: f32[i0, i1]) -> T1 { T1 = relu(T0) }";
constexpr const char* kTranspose = "fusion f(T0: f32[i0, i1]) -> T1 { T1 = permute(T0, order=[1, 0]) }";
constexpr const char* kInnerSum = "fusion f(T0: f32[i0, i1]) -> T1 { T1 = sum(T0, axes=[1]) }";
constexpr const char* kOuterSum = "fusion f(T0: f32[i0, i1]) -> T1 { T1 = sum(T0, axes=[0]) }";
constexpr const char* kCentered = R"(fusion f(T0: f32[i0, i1]) -> T3 {
  T1 = sum(T0, axes=[1])
  T2 = broadcast(T1, flags=[false, true])
  T3 = sub(T0, T2)
})";
constexpr const char* kScaledOther = R"(fusion f(T0: f32[i0, i1], T4: f32[i1]) -> T3 {
  T1 = sum(T0, axes=[1])
  T2 = broadcast(T1, flags=[false, true])
  T5 = broadcast(T4, flags=[true, false])
  T3 = sub(T5, T2)
})";
constexpr const char* kBesideOneAnother = R"(fusion f(T0: f32[i0, i1]) -> T1, T2 {
  T1 = sum(T0, axes=[1])
  T2 = max(T0, axes=[1])
})";
constexpr const char* kFactorOfRows = R"(fusion f(T0: f32[i0, i1], T4: f32[i0]) -> T7 {
  T5 = broadcast(T4, flags=[false, true])
  T6 = mul(T0, T5)
  T1 = sum(T6, axes=[1])
  T7 = add(T4, T1)
})";
constexpr const char* kCenteredColumns = R"(fusion f(T0: f32[4096, i0, 4096]) -> T3 {
  T1 = sum(T0, axes=[1])
  T2 = broadcast(T1, flags=[false, true, false])
  T3 = sub(T0, T2)
})";
constexpr const char* kPartialSums = R"(fusion f(T0: f32[15, 64]) -> T3, T6 {
  T1 = sum(T0, axes=[1])
  T2 = broadcast(T1, flags=[false, true])
  T3 = mul(T0, T2)
  T4 = pad(T3, widths=[0, 1, 0, 0])
  T5 = reshape(T4, shape=[4, 4, 64])
  T6 = sum(T5, axes=[0])
})";
constexpr const char* kNothing = "fusion f(T0: f32[0, i1]) -> T1 { T1 = relu(T0) }";
constexpr const char* kProduct = "fusion f(T0: f32[8, 8], T1: f32[8, 8]) -> T2 { T2 = matmul(T0, T1) }";
constexpr const char* kFewTerms = R"(fusion f(T0: f32[i0, 4]) -> T3 {
  T1 = sum(T0, axes=[1])
  T2 = broadcast(T1, flags=[true, false])
  T3 = permute(T2, order=[1, 0])
})";

TEST(KernelKind, FollowsFromTheReductionsAndWhatIsReadAgain) {
  const std::vector<KindCase> cases = {{"pointwise", kPointwise},
                                       {"transpose, pointwise", kTranspose},
                                       {"reduction", kInnerSum},
                                       {"reduction", kOuterSum},
                                       {"inner_persistent", kCentered},
                                       {"reduction", kScaledOther},
                                       {"outer_persistent", kCenteredColumns},
                                       {"inner_outer_persistent", kPartialSums},
                                       {"no_op, pointwise", kNothing},
                                       {"", kProduct},
                                       {"reduction", kFewTerms},
                                       {"reduction", kBesideOneAnother},
                                       {"reduction", kFactorOfRows}};
  for (const KindCase& each : cases) {
    EXPECT_EQ(kindsOf(each.text, TargetKind::Cpu), each.kinds) << each.text;
    EXPECT_EQ(kindsOf(each.text, TargetKind::Cuda), each.kinds) << each.text;
  }
}

TEST(KernelKind, WhatIsAgainstOneNamesTensors) {
  using enum KernelKind;
  EXPECT_EQ(reasonAgainst(Pointwise, kInnerSum), "T1 is a reduction");
  EXPECT_EQ(reasonAgainst(Transpose, kInnerSum), "T1 is a reduction");
  EXPECT_EQ(reasonAgainst(Transpose, kPointwise),
            "no input that T1 reads at a permutation of its axes is contiguous along another axis");
  EXPECT_EQ(reasonAgainst(Transpose, "fusion f(T0: f32[i0, i1]) -> T1, T2 { T1 = relu(T0) T2 = neg(T0) }"),
            "2 tensors are stored, a transpose stores one");
  EXPECT_EQ(reasonAgainst(NoOp, kPointwise), "T1 has elements, which a kernel stores");
  EXPECT_EQ(reasonAgainst(Reduction, kPointwise), "nothing is reduced");
  EXPECT_EQ(reasonAgainst(Reduction, kCentered), "T0 is reduced, and read again with the result");
  EXPECT_EQ(reasonAgainst(Reduction, kPartialSums), "T6 is a partial outer sum");
  EXPECT_EQ(reasonAgainst(InnerPersistent, kInnerSum), "nothing reads a reduction and its input again");
  EXPECT_EQ(reasonAgainst(InnerPersistent, kOuterSum), "T1 is no inner reduction: it reduces across contiguous memory");
  EXPECT_EQ(reasonAgainst(OuterPersistent, kOuterSum), "nothing reads a reduction and its input again");
  EXPECT_EQ(reasonAgainst(OuterPersistent, kInnerSum), "T1 is no outer reduction: it reduces along contiguous memory");
  EXPECT_EQ(reasonAgainst(InnerOuterPersistent, kCentered),
            "there are no partial outer sums, of rows that blocks compute for something else");
  EXPECT_EQ(reasonAgainst(Pointwise, kProduct), "no single kernel: matmul is a library call");
}

std::string fieldsUsed(const KernelLoops& loops) {
  CpuScheduleParameters parameters;
  std::vector<std::string_view> names;
  for (const ParameterField& field : fieldsOf(parameters)) {
    if (isUsed(field, loops)) names.push_back(field.name);
  }
  return joined(names);
}

TEST(ParameterFields, AreThoseThatTheLoopsDependOn) {
  EXPECT_EQ(fieldsUsed({}), "block_elements, tiles_transposes, tile_bytes");
  EXPECT_EQ(fieldsUsed({.has_outer_rows = true}),
            "block_elements, block_columns, block_terms, split_elements, max_grid_split, persistent_bytes");
  EXPECT_EQ(fieldsUsed({.has_inner_rows = true}),
            "block_elements, accumulators, last_accumulators, block_terms, split_elements, max_grid_split, "
            "persistent_bytes");
}

TEST(ParameterFields, ChosenValuesAreLegal) {
  CpuScheduleParameters cpu;
  CudaScheduleParameters cuda;
  EXPECT_NO_THROW(requireLegal(fieldsOf(cpu)));
  EXPECT_NO_THROW(requireLegal(fieldsOf(cuda)));
}

TEST(ParameterFields, RefuseNumbersThatNoKernelHas) {
  CudaScheduleParameters parameters;
  const auto refusalOf = [&](int64_t CudaScheduleParameters::* field, int64_t value) {
    parameters = {};
    parameters.*field = value;
    return errorOf([&] { requireLegal(fieldsOf(parameters)); }).message();
  };
  using P = CudaScheduleParameters;
  EXPECT_EQ(refusalOf(&P::unroll, 0), "unroll is 0; legal are 1 to 16");
  EXPECT_EQ(refusalOf(&P::vector, 3), "vector is 3; legal are 1 to 16, powers of two");
  EXPECT_EQ(refusalOf(&P::threads, 48),
            "threads is 48; legal are 1 to 1024, powers of two up to 32 and multiples of 32");
  EXPECT_EQ(refusalOf(&P::threads, 24),
            "threads is 24; legal are 1 to 1024, powers of two up to 32 and multiples of 32");
}

}  // namespace
}  // namespace tokamak
