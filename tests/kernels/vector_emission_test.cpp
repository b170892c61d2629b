// C with explicit vectors: which loops are written so, and how.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/source.h"
#include "define/callables.h"
#include "heuristics/cpu_schedule.h"
#include "ir/text/fusion_parser.h"
#include "lower/lower_kernel.h"

namespace tokamak {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

KernelSource sourceOf(std::string_view text, int lanes = 16, const CpuScheduleParameters& parameters = {}) {
  const std::shared_ptr<Fusion> fusion = parseFusion(text, "test", {.resolver = &definingResolver()});
  scheduleForCpu(*fusion, parameters);
  return kernelSource(lowerKernel(fusion, "k"), Dialect::C, DataType::I64, lanes);
}

TEST(VectorEmission, PartialResultsAreWrittenOneAfterTheOther) {
  constexpr std::string_view kSum = "fusion f(T0: bf16[i0, 256]) -> T1 { T1 = sum(T0, axes=[1]) }";
  const std::string text = sourceOf(kSum).text;
  EXPECT_THAT(text, AllOf(HasSubstr("const tk_i64 k_3 = 0 + 48;"), HasSubstr("tk_load_half_f32x16(&T0["),
                          HasSubstr("tk_store_f32x16(&T")));
  EXPECT_THAT(sourceOf(kSum, 8).text,
              AllOf(HasSubstr("const tk_i64 k_3 = 0 + 56;"), HasSubstr("tk_load_half_f32x8(&T0[")));
  EXPECT_THAT(sourceOf(kSum, 1).text, Not(HasSubstr("tk_load")));
}

TEST(VectorEmission, EveryTypeHasLanes) {
  const auto product = [](std::string_view type) {
    return sourceOf(fmt::format("fusion f(T0: {0}[i0], T1: {0}[i0]) -> T2 {{ T2 = mul(T0, T1) }}", type)).text;
  };
  EXPECT_THAT(product("f64"), AllOf(HasSubstr("tk_f64x8 t0"), HasSubstr("tk_stream_f64x8(&T2[")));
  EXPECT_THAT(product("i64"), AllOf(HasSubstr("tk_i64x8 t0"), HasSubstr("tk_mul_i64x8(")));
  EXPECT_THAT(product("i32"), AllOf(HasSubstr("tk_i32x16 t0"), HasSubstr("tk_mul_i32x16(")));
  const std::string bools = sourceOf("fusion f(T0: bool[i0], T1: bool[i0]) -> T2 { T2 = logical_and(T0, T1) }").text;
  EXPECT_THAT(bools, AllOf(HasSubstr("tk_i8x64 t0"), HasSubstr("tk_store_bool_i8x64(&T2[")));
}

TEST(VectorEmission, TheWidestTypeSaysHowManyLanesThereAre) {
  const std::string text = sourceOf(R"(
fusion f(T0: f32[i0], T1: f64[i0]) -> (T3, T4) {
  T2 = gt(T0, 0.0_f32)
  T3 = where(T2, T1, 0.0)
  T4 = cast(T3, dtype=f32)
})")
                               .text;
  EXPECT_THAT(text, AllOf(HasSubstr("tk_load_f32x8(&T0["), HasSubstr("tk_load_f64x8(&T1["),
                          HasSubstr("__builtin_convertvector("), Not(HasSubstr("x16"))));
}

TEST(VectorEmission, LargeOutputsAreWrittenPastTheCaches) {
  const KernelSource source = sourceOf("fusion f(T0: f32[i0], T1: f32[i0]) -> T2 { T2 = mul(T0, T1) }");
  EXPECT_THAT(source.text,
              AllOf(HasSubstr("const tk_i32 streams_T2 = i0 * 4 >= 16777216;"), HasSubstr("tk_stream_f32x16(&T2["),
                    HasSubstr(", streams_T2);"), HasSubstr("  tk_settle_f32();\n}")));
}

TEST(VectorEmission, OneOutputIsWrittenPastTheCachesByVectorsShorterThanALine) {
  constexpr std::string_view kTwo = "fusion f(T0: f32[i0]) -> (T1, T2) { T1 = mul(T0, T0) T2 = neg(T0) }";
  EXPECT_THAT(sourceOf(kTwo, 16).text, AllOf(HasSubstr("streams_T1 = i0"), HasSubstr("streams_T2 = i0")));
  EXPECT_THAT(sourceOf(kTwo, 8).text, AllOf(HasSubstr("streams_T1 = i0"), HasSubstr("streams_T2 = 0;")));
}

TEST(VectorEmission, ShortPiecesOfMemoryAreWrittenThroughTheCaches) {
  const std::string text =
      sourceOf("fusion f(T0: bf16[i0, 32]) -> T2 { T1 = sum(T0, axes=[1], keepdim=true) T2 = div(T0, T1) }").text;
  EXPECT_THAT(text, AllOf(HasSubstr("tk_store_f32x16(&T2["), Not(HasSubstr("stream"))));
}

TEST(VectorEmission, NothingIsFetchedBehindTheEndOfAShortLoop) {
  const auto sumOf = [](int rows) {
    return sourceOf(fmt::format("fusion f(T0: f32[i0, {}, 512, 128]) -> T1 {{ T1 = sum(T0, axes=[1]) }}", rows)).text;
  };
  EXPECT_THAT(sumOf(16), Not(HasSubstr("prefetch")));
  EXPECT_THAT(sumOf(17), HasSubstr("__builtin_prefetch("));
}

TEST(VectorEmission, WhatSharesMostOfItsWorkStandsTogether) {
  const std::string text = sourceOf(
                               "fusion f(T0: f32[i0]) -> T5 { T1 = sigmoid(T0) T2 = tanh(T1) T3 = silu(T0) T4 = "
                               "mul(T2, T1) T5 = add(T4, T3) }")
                               .text;
  EXPECT_THAT(text, ContainsRegex("tk_sigmoid_f32x16.t0.;[^;]*tk_silu_f32x16.t0.;"));
}

TEST(VectorEmission, LongLoopsGoInStages) {
  const KernelSource source = sourceOf(
      "fusion f(T0: f32[i0], T1: f32[i0]) -> T5 { T2 = add(T0, T1) T3 = tanh(T2) T4 = exp(T3) T5 = mul(T4, T1) }");
  EXPECT_THAT(source.text, AllOf(HasSubstr("tk_f32x16 strip_t3[16];"), HasSubstr("strip_t3[turn] = t3;"),
                                 HasSubstr("const tk_f32x16 t3 = strip_t3[turn];")));
  // What is left over goes iteration by iteration.
  EXPECT_THAT(source.text, HasSubstr("/ 16 * 16; k <"));
}

// tanh again and again, and the sum of all that.
std::string manyTanhs(int64_t count) {
  std::string body;
  for (int64_t i = 1; i <= count; ++i) body += fmt::format("T{} = tanh(T{}) ", i, i - 1);
  for (int64_t i = 1; i < count; ++i)
    body += fmt::format("T{} = add(T{}, T{}) ", count + i, i == 1 ? count : count + i - 1, i);
  return fmt::format("fusion f(T0: f32[i0]) -> T{} {{ {} }}", 2 * count - 1, body);
}

TEST(VectorEmission, WhatIsLeftOverOfVeryLongLoopsGoesInStagesToo) {
  EXPECT_THAT(sourceOf(manyTanhs(6)).text, Not(HasSubstr("rest_t")));
  EXPECT_THAT(sourceOf(manyTanhs(12)).text,
              AllOf(HasSubstr("tk_f32 rest_t3[16];"), HasSubstr("rest_t3[turn] = t3;"),
                    HasSubstr("const tk_f32 t3 = rest_t3[turn];"), Not(HasSubstr("/ 16 * 16; k <"))));
}

TEST(VectorEmission, StripsOfManyValuesAreShort) {
  EXPECT_THAT(sourceOf(manyTanhs(900)).text, HasSubstr("tk_f32x16 strip_t3[16];"));
  EXPECT_THAT(sourceOf(manyTanhs(1200)).text, HasSubstr("tk_f32x16 strip_t3[13];"));
}

TEST(VectorEmission, IterationsThatReadWhatOthersWriteStayInOrder) {
  // The maximum is one element.
  const std::string text = sourceOf("fusion f(T0: i64[i0, 8]) -> T1 { T1 = max(T0, axes=[1]) }").text;
  EXPECT_THAT(text, Not(HasSubstr("i64x8")));
}

TEST(VectorEmission, RandomWordsAreMadeForAStrip) {
  const std::string text = sourceOf(
                               "fusion f(T0: f32[i0], seed: i64, offset: i64) -> T1 { T1, T2 = dropout(T0, p=0.1, "
                               "seed=seed, offset=offset) }")
                               .text;
  EXPECT_THAT(text, AllOf(HasSubstr("tk_philox_words_f32x16(room_"), HasSubstr("tk_load_words_f32x16(&words_")));
}

TEST(VectorEmission, LanesCompareIndices) {
  const std::string text = sourceOf(R"(
fusion f(T0: f32[i0, 512], T1: i64[i0]) -> T6 {
  T2 = iota(length=512)
  T3 = eq(broadcast(T2, flags=[true, false]), broadcast(T1, flags=[false, true]))
  T4 = exp(T0)
  T6 = sub(T4, cast(T3, dtype=f32))
})")
                               .text;
  EXPECT_THAT(text, HasSubstr("(tk_numbers_i32x16() == tk_distance_i32x16("));
}

TEST(VectorEmission, TilesAreTransposedAndFetched) {
  const std::string text =
      sourceOf("fusion f(T0: f32[i0, 512]) -> T1 { T1 = permute(T0, order=[1, 0]) }", 16, {.tile_bytes = 64}).text;
  EXPECT_THAT(text, AllOf(HasSubstr("tk_turn_f32(&T1["), HasSubstr("const tk_i64 next_tile_0 ="),
                          HasSubstr("__builtin_prefetch((const char*)&T1[")));
}

TEST(VectorEmission, RowsThatAreReadAgainFetchTheNextBlocks) {
  const std::string text =
      sourceOf("fusion f(T0: f32[i0, 1024]) -> T2 { T1 = sum(T0, axes=[1], keepdim=true) T2 = div(T0, T1) }").text;
  EXPECT_THAT(text, HasSubstr("] + 1024, 0, 2);"));
}

TEST(VectorEmission, TheLoopBeforeTheLastFetchesTheNextRow) {
  const std::string text = sourceOf(R"(
fusion f(T0: f32[i0, 1024]) -> T5 {
  T1 = sum(T0, axes=[1], keepdim=true)
  T2 = sub(T0, T1)
  T3 = sum(mul(T2, T2), axes=[1], keepdim=true)
  T5 = mul(T2, T3)
})")
                               .text;
  const size_t fetched = text.find("__builtin_prefetch");
  ASSERT_NE(fetched, std::string::npos);
  const std::string before = text.substr(0, fetched);
  EXPECT_THAT(before, HasSubstr("tk_load_f32x16(&T0["));         // the first loop over the row
  EXPECT_THAT(before, Not(HasSubstr("tk_stream_f32x16(&T5[")));  // the last one
  EXPECT_THAT(text.substr(text.find("tk_stream")), Not(HasSubstr("__builtin_prefetch")));
}

}  // namespace
}  // namespace tokamak
