// Maxima and sums of exponentials in one reading: which rows are cut into chunks, and that the results are those of the
// plain formula.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/bind_shape.h"
#include "base/error.h"
#include "codegen/source.h"
#include "define/callables.h"
#include "device/work.h"
#include "generator/case_launch.h"
#include "generator/kernel_case.h"
#include "generator/random.h"
#include "graph/fusion_passes.h"
#include "heuristics/online_softmax.h"
#include "heuristics/schedule_parameters.h"
#include "host/sanitized_share.h"
#include "ir/text/fusion_parser.h"
#include "kernel/index_type.h"
#include "lower/lower_kernel.h"
#include "oracle/index.h"
#include "oracle/reference.h"
#include "schedule/commands.h"
#include "toolchain/kernel_compiler.h"
#include "toolchain/nvrtc.h"

namespace tokamak {
namespace {

using namespace generator;
using testing::HasSubstr;

std::shared_ptr<Fusion> parse(const std::string& text) {
  return parseFusion(text, "test", {.resolver = &definingResolver(), .scheduler = &scheduleCommands()});
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

// --- which rows ---

// "T3 T7 of T2 along 1, 64": maximum, sums, values, axis, length.
std::vector<std::string> foundIn(const std::string& text) {
  const auto fusion = parse(text);
  std::vector<std::string> sentences;
  for (const SoftmaxReductions& row : findSoftmaxReductions(requireReductionStructure(*fusion))) {
    std::string sentence = nameOf(*row.maximum);
    for (const TensorView* sum : row.sums) sentence += " " + nameOf(*sum);
    sentences.push_back(fmt::format("{} of {} along {}, {}", sentence, nameOf(*row.values), row.axis, row.length));
  }
  return sentences;
}

// `power`: T4 from x, T0 as f32, and m, its maximum over axis 1 as wide as x.
std::string rowsOf(std::string_view power, std::string_view kind = "bf16[i0, 64]") {
  return fmt::format(R"(
fusion f(T0: {}) -> T5 {{
  T1 = cast(T0, dtype=f32)
  T2 = max(T1, axes=[1])
  T3 = broadcast(T2, flags=[false, true])
  {}
  T5 = sum(T4, axes=[1])
}})",
                     kind, power);
}

TEST(OnlineSoftmax, AreThoseWithAMaximumAndASumOfExponentials) {
  using testing::ElementsAre;
  EXPECT_THAT(foundIn(rowsOf("T6 = sub(T1, T3)\n  T4 = exp(T6)")), ElementsAre("T2 T5 of T0 along 1, 64"));
  EXPECT_THAT(foundIn(rowsOf("T6 = sub(T1, T3)\n  T4 = exp2(T6)")), ElementsAre("T2 T5 of T0 along 1, 64"));
  EXPECT_THAT(foundIn("fusion f(T0: f32[i0, i1, 40]) -> T1 { T1 = softmax(T0) }"), testing::SizeIs(1));
  EXPECT_THAT(foundIn("fusion f(T0: f32[40]) -> T1 { T1 = softmax(T0) }"), testing::SizeIs(1));
  EXPECT_THAT(foundIn("fusion f(T0: f16[i0, 40]) -> T1 { T1 = log_sum_exp(T0) }"), testing::SizeIs(1));
  EXPECT_THAT(foundIn("fusion f(T0: f16[i0, 40], T1: i64[i0]) -> T2 { T2 = cross_entropy(T0, T1, reduction=each) }"),
              testing::SizeIs(1));
  // Of what another one gives there is one for the first alone, which has to be over before.
  const std::string twice = R"(
fusion f(T0: f32[17, 40]) -> T5, T10 {
  T1 = max(T0, axes=[1])
  T2 = broadcast(T1, flags=[false, true])
  T3 = sub(T0, T2)
  T4 = exp2(T3)
  T5 = sum(T4, axes=[1])
  T6 = max(T3, axes=[1])
  T7 = broadcast(T6, flags=[false, true])
  T8 = sub(T3, T7)
  T9 = exp2(T8)
  T10 = sum(T9, axes=[1])
})";
  EXPECT_THAT(foundIn(twice), ElementsAre("T1 T5 of T0 along 1, 40"));
  // The maximum of halves; two sums of one maximum.
  EXPECT_THAT(foundIn(R"(
fusion f(T0: bf16[i0, 64]) -> T6, T10 {
  T1 = max(T0, axes=[1])
  T2 = broadcast(T1, flags=[false, true])
  T3 = sub(T0, T2)
  T4 = exp(T3)
  T6 = sum(T4, axes=[1])
  T8 = exp2(T3)
  T10 = sum(T8, axes=[1])
})"),
              ElementsAre(HasSubstr(" along 1, 64")));
}

TEST(OnlineSoftmax, AreNoOthers) {
  using testing::IsEmpty;
  EXPECT_THAT(foundIn(rowsOf("T6 = sub(T3, T1)\n  T4 = exp(T6)")), IsEmpty());
  EXPECT_THAT(foundIn(rowsOf("T6 = add(T1, T3)\n  T4 = exp(T6)")), IsEmpty());
  EXPECT_THAT(foundIn(rowsOf("T6 = sub(T1, T3)\n  T4 = sigmoid(T6)")), IsEmpty());
  EXPECT_THAT(foundIn(rowsOf("T6 = sub(T1, T3)\n  T7 = exp(T6)\n  T4 = mul(T7, T7)")), IsEmpty());
  // Rounded on the way.
  EXPECT_THAT(
      foundIn(rowsOf("T6 = sub(T1, T3)\n  T7 = cast(T6, dtype=bf16)\n  T8 = cast(T7, dtype=f32)\n  T4 = exp(T8)")),
      IsEmpty());
  EXPECT_THAT(
      foundIn(rowsOf("T6 = sub(T1, T3)\n  T7 = exp(T6)\n  T8 = cast(T7, dtype=f16)\n  T4 = cast(T8, dtype=f32)")),
      IsEmpty());
  // Other values than those of the maximum; in another order.
  EXPECT_THAT(foundIn(rowsOf("T7 = mul(T1, 0.5)\n  T6 = sub(T7, T3)\n  T4 = exp(T6)")), IsEmpty());
  EXPECT_THAT(foundIn(rowsOf("T6 = sub(T1, T3)\n  T4 = exp(T6)", "bf16[i0, i1]")), IsEmpty());
  EXPECT_THAT(foundIn(R"(
fusion f(T0: f32[i0, 8, 8]) -> T5 {
  T2 = max(T0, axes=[1, 2])
  T3 = broadcast(T2, flags=[false, true, true])
  T6 = sub(T0, T3)
  T4 = exp(T6)
  T5 = sum(T4, axes=[1, 2])
})"),
              IsEmpty());
}

TEST(OnlineSoftmax, AreChosenWhereRegistersHoldNoRow) {
  const auto chosen = [](std::string_view program, int64_t columns) {
    const auto fusion = parse(fmt::format("fusion f(T0: bf16[i0, {}]) -> T1 {{ T1 = {} }}", columns, program));
    return chooseCudaParameters(requireReductionStructure(*fusion), hopperTarget(), {});
  };
  const std::string_view softmax = "cast(softmax(T0), dtype=bf16)";
  EXPECT_EQ(chosen(softmax, 4096).chunk, 0);
  EXPECT_GT(chosen(softmax, 4096).persistent_batches, 0);
  EXPECT_EQ(chosen(softmax, 16384).persistent_batches, 4);
  for (const int64_t columns : {32768, 65536, 40000, 1 << 20}) {
    const CudaScheduleParameters parameters = chosen(softmax, columns);
    EXPECT_GE(parameters.chunk, columns <= 65536 ? 2 : 3) << columns;
    EXPECT_EQ(parameters.persistent_batches, 0) << columns;
    EXPECT_EQ(parameters.vector, 8) << columns;
    // Little is left over at the end of a row.
    const ChunkSize size = {parameters.chunk, parameters.threads, parameters.vector};
    EXPECT_LE(chunksOf(columns, size) * size.vectors * size.threads * size.vector, columns + columns / 32) << columns;
  }
  // Nothing else reads the row.
  EXPECT_EQ(chosen("log_sum_exp(T0)", 32064).chunk, 4);
  EXPECT_EQ(chosen("log_sum_exp(T0)", 4096).chunk, 4);
  EXPECT_EQ(chosen("log_sum_exp(T0)", 512).chunk, 0);
  // No vectors of 16 bytes; no sum of exponentials.
  EXPECT_EQ(chosen(softmax, 131073).chunk, 0);
  EXPECT_EQ(chosen("sum(T0, axes=[1])", 131072).chunk, 0);
  EXPECT_EQ(chosen("relu(sub(T0, broadcast(sum(T0, axes=[1]), flags=[false, true])))", 131072).chunk, 0);
}

TEST(OnlineSoftmax, MayBeChosenByHand) {
  const auto fusion = parse("fusion f(T0: bf16[i0, 16384]) -> T1 { T1 = softmax(T0) }");
  KernelTarget target = hopperTarget();
  target.parameter_overrides = "threads=256,persistent_batches=0,unroll=2,chunk=4";
  EXPECT_EQ(toString(chooseCudaParameters(requireReductionStructure(*fusion), target, {})),
            "vector 8, threads 256, persistent batches 0, rows 1, unroll 2, outer grid split 1, chunk 4");
  // What is not legal is made so: rows are kept.
  target.parameter_overrides = "chunk=4";
  EXPECT_EQ(chooseCudaParameters(requireReductionStructure(*fusion), target, {}).chunk, 0);
  for (const char* values : {"chunks=4", "chunk", "chunk=", "chunk=x", "chunk=-1", "chunk=4 ", "chunk=4,,threads=2"}) {
    target.parameter_overrides = values;
    try {
      chooseCudaParameters(requireReductionStructure(*fusion), target, {});
      ADD_FAILURE() << values;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Usage) << error.what();
    }
  }
}

// --- results ---

enum class Fill : uint8_t {
  Normal,
  Wide,
  SomeMinusInfinite,
  HalfMinusInfinite,
  AllMinusInfinite,
  PlusInfinite,
  NotANumber
};
constexpr int kFills = 7;

double drawElement(Fill fill, int64_t column, int64_t columns, Random& random) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double number = random.normal();
  switch (fill) {
    case Fill::Normal: return number;
    case Fill::Wide: return 40 * number;
    case Fill::SomeMinusInfinite: return random.chance(60) ? -infinity : number;
    case Fill::HalfMinusInfinite: return 2 * column < columns ? -infinity : number;
    case Fill::AllMinusInfinite: return -infinity;
    case Fill::PlusInfinite: return column == columns / 3 ? infinity : number;
    case Fill::NotANumber: return column == columns / 2 ? std::numeric_limits<double>::quiet_NaN() : number;
  }
  return number;
}

// Every row of the floating inputs filled in its own way, beginning with the one of this number.
std::vector<InputData> drawRows(const Fusion& fusion, uint64_t seed) {
  Random random(seed);
  std::vector<InputData> data = drawDataFor(fusion, seed);
  for (InputData& input : data) {
    auto* tensor = std::get_if<StoredData>(&input);
    if (tensor == nullptr || !isFloatingType(tensor->dtype)) continue;
    const int64_t columns = tensor->sizes.back();
    oracle::forEachIndex(tensor->sizes, [&](std::span<const int64_t> index) {
      int64_t offset = 0;
      for (size_t i = 0; i < index.size(); ++i) offset += index[i] * tensor->strides[i];
      const int64_t row = offset / columns + static_cast<int64_t>(seed);
      const auto fill = static_cast<Fill>(row % kFills);
      const double number = drawElement(fill, index.back(), columns, random);
      oracle::storeElement(tensor->dtype, {.number = number}, tensor->bytes.data() + offset * sizeOf(tensor->dtype));
    });
  }
  return data;
}

// What is chunked by these parameters, or why not all is as it should be.
struct ChunkCase {
  std::string text;
  CudaScheduleParameters parameters;
  int64_t chunked = 0;

  std::optional<Problem> problem(uint64_t seed, bool is_simplified) {
    std::shared_ptr<Fusion> fusion = parse(text);
    if (is_simplified) {
      fusion = simplifyFusion(*fusion);
    }
    const KernelRecipe recipe = {.target = TargetKind::Cuda,
                                 .extents = ExtentPolicy::Divisors,
                                 .schedule = [&](Fusion& program, const ScalarBindings& sizes) {
                                   const ReductionStructure structure = requireReductionStructure(program);
                                   const CudaScheduleParameters legal = legalParameters(structure, parameters, sizes);
                                   if (legal.chunk > 0)
                                     chunked += static_cast<int64_t>(findSoftmaxReductions(structure).size());
                                   scheduleForCuda(structure, legal);
                                 }};
    const std::vector<InputData> inputs = drawRows(*fusion, seed);
    const CaseLaunch launch(*fusion, inputs, recipe);
    const PreparedKernel& prepared = launch.prepared();
    const CaseLaunch::Result result = launch.run(prepared.kernel, prepared.bindings, {.seed = 1});
    const std::string kernel = kir::printKernel(prepared.kernel);
    if (!result.findings.empty()) return Problem{"finding", result.findings[0] + "\n" + kernel};
    auto problem = compareOutputs(result.outputs, oracle::Reference(*fusion, toOracle(inputs)));
    if (problem) problem->text += "\n" + kernel;
    return problem;
  }
};

// Each with how many maxima it has.
const std::vector<std::pair<std::string, int64_t>>& programs() {
  static const std::vector<std::pair<std::string, int64_t>> all = {
      {"fusion f(T0: TYPE[rows, columns]) -> T1 { T1 = softmax(T0) }", 1},
      {"fusion f(T0: TYPE[rows, columns]) -> T1 { T1 = cast(softmax(T0), dtype=TYPE) }", 1},
      {"fusion f(T0: TYPE[rows, columns]) -> T1 { T1 = log_softmax(T0) }", 1},
      {"fusion f(T0: TYPE[rows, columns]) -> T1 { T1 = log_sum_exp(T0) }", 1},
      {"fusion f(T0: TYPE[rows, columns]) -> T1 { T1 = softmax(mul(T0, 0.125)) }", 1},
      {"fusion f(T0: TYPE[rows, columns], T1: TYPE[columns]) -> T2 {\n"
       "  T2 = softmax(add(T0, broadcast(T1, flags=[true, false])))\n}",
       1},
      {"fusion f(T0: TYPE[rows, columns], T1: bool[rows, columns], T3: TYPE[rows, columns]) -> T2 {\n"
       "  T2 = softmax(where(T1, T0, T3))\n}",
       1},
      {"fusion f(T0: TYPE[rows, columns], T1: i64[rows]) -> T2 { T2 = cross_entropy(T0, T1, reduction=each) }", 1},
      {"fusion f(T0: TYPE[rows, 3, columns]) -> T1 { T1 = softmax(T0) }", 1},
      {"fusion f(T0: TYPE[COLUMNS]) -> T1 { T1 = softmax(T0) }", 1},
      {"fusion f(T0: TYPE[rows, columns], T2: TYPE[rows, columns]) -> T4 { T4 = mul(softmax(T0), softmax(T2)) }", 2},
      // Both results are outputs, and so are the powers.
      {"fusion f(T0: TYPE[rows, columns]) -> T2, T5, T6 {\n  T1 = cast(T0, dtype=f32)\n  T2 = max(T1, axes=[1])\n"
       "  T3 = broadcast(T2, flags=[false, true])\n  T4 = sub(T1, T3)\n  T6 = exp(T4)\n  T5 = sum(T6, axes=[1])\n}",
       1},
      {"fusion f(T0: TYPE[rows, columns]) -> T5, T8 {\n  T2 = max(T0, axes=[1])\n"
       "  T3 = broadcast(T2, flags=[false, true])\n  T4 = sub(T0, T3)\n  T6 = exp2(T4)\n  T5 = sum(T6, axes=[1])\n"
       "  T7 = exp(T4)\n  T8 = sum(T7, axes=[1])\n}",
       1},
  };
  return all;
}

TEST(OnlineSoftmax, GiveWhatThePlainFormulaGives) {
  constexpr uint64_t kOneIn = std::min<uint64_t>(kShare, 3);
  int64_t kernels = 0;
  uint64_t seed = 0;
  Random random(1);
  const auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random.below(static_cast<int64_t>(values.size()))];
  };
  for (const auto& [program, maxima] : programs()) {
    for (const char* type : {"f32", "bf16", "f16"}) {
      for (const int64_t columns : {40, 64, 100, 129, 256}) {
        const std::string text = replaced(replaced(program, "TYPE", type), "COLUMNS", std::to_string(columns));
        const bool has_rows = text.find("rows") != std::string::npos;
        ChunkCase chunks = {.text = text};
        if (has_rows) chunks.text += fmt::format("\nsizes {{ rows = {}, columns = {} }}", 1 + seed % 9, columns);
        CudaScheduleParameters& parameters = chunks.parameters;
        parameters.vector = pick({1, 2, 4, 8});
        parameters.threads = pick({2, 4, 8, 16, 32});
        parameters.rows_per_block = pick({1, 1, 2});
        parameters.unroll = pick({1, 2});
        parameters.chunk = pick({1, 2, 3, 4});
        const bool is_simplified = random.chance(50);
        if (++seed % kOneIn != 0) continue;
        const auto problem = chunks.problem(seed, is_simplified);
        ASSERT_FALSE(problem.has_value()) << chunks.text << "\n" << toString(parameters) << "\n" << problem->text;
        EXPECT_EQ(chunks.chunked, maxima) << chunks.text << "\n" << toString(parameters);
        ++kernels;
      }
    }
  }
  std::cout << kernels << " kernels\n";
}

// --- text ---

TEST(OnlineSoftmax, AreReadOnceForBothResults) {
  const auto fusion = parse("fusion f(T0: f32[i0, 60]) -> T1 { T1 = log_sum_exp(T0) }");
  scheduleKernel(*fusion, CudaScheduleParameters{.vector = 4, .threads = 4, .chunk = 2});
  EXPECT_EQ(kir::printKernel(lowerKernel(fusion, "k", 16)),
            R"(kernel k(T0: f32[i0:60, 60:1], i0: i64) -> T1: f32[i0:1] align 16 BIDx in i0 TIDx in 4 {
  T14: f32[2] local
  T18: f32[2] local
  T2: f32[1] local
  T2[0] = -inf_f32
  for k in 0..2 Unroll {
    T10: f32[8] local
    for k_2 in 0..2 Unroll {
      T23: f32[4] local
      if ( ( ( TIDx + ( k * 8 ) ) + ( k_2 * 4 ) ) < 15 ) {
        T23[0 .. +4] = T0[( ( ( ( BIDx * 15 ) + TIDx ) + ( ( ( k * 2 ) + k_2 ) * 4 ) ) * 4 ) .. +4]
      }
      for k_3 in 0..4 Unroll {
        let t0: f32 = choose(( ( ( TIDx + ( k * 8 ) ) + ( k_2 * 4 ) ) < 15 ), T23[k_3], 0.0_f32)
        let t8: f32 = choose(( ( ( TIDx + ( k * 8 ) ) + ( k_2 * 4 ) ) < 15 ), t0, -inf_f32)
        T10[( ( k_2 * 4 ) + k_3 )] = t8
      }
    }
    T11: f32[1] local
    T11[0] = -inf_f32
    for k_4 in 0..2 Unroll {
      for k_5 in 0..4 Unroll {
        let t10: f32 = T10[( ( k_4 * 4 ) + k_5 )]
        T11[0] = maximum(T11[0], t10)
      }
    }
    let t11: f32 = T11[0]
    T14[k] = t11
    T18[k] = 0.0_f32
    for k_6 in 0..2 Unroll {
      let t11_2: f32 = T11[0]
      let t12: bool = isneginf(t11_2)
      let t13: f32 = where(t12, 0.0_f32, t11_2)
      for k_7 in 0..4 Unroll {
        let t10_2: f32 = T10[( ( k_6 * 4 ) + k_7 )]
        let t16: f32 = sub(t10_2, t13)
        let t17: f32 = exp_term(t16)
        T18[k] = add(T18[k], t17)
      }
    }
    let t11_3: f32 = T11[0]
    T2[0] = maximum(T2[0], t11_3)
  }
  reduce max T2[0] over TIDx
  T6: f32[1] local
  T6[0] = 0.0_f32
  for k_8 in 0..2 Unroll {
    let t18: f32 = T18[k_8]
    let t14: f32 = T14[k_8]
    let t2: f32 = T2[0]
    let t20: f32 = sub(t14, t2)
    let t21: f32 = exp(t20)
    T6[0] = add_alpha(T6[0], t18, t21)
  }
  reduce sum T6[0] over TIDx
  if ( TIDx == 0 ) {
    let t6: f32 = T6[0]
    let t7: f32 = log(t6)
    let t2_2: f32 = T2[0]
    T1[BIDx] = add(t7, t2_2)
  }
}
)");
}

// --- compiled ---

struct LongRow {
  std::string text;
  std::map<std::string, int64_t> sizes;
  int64_t chunk = 0;  // by hand
  int64_t threads = 512;
};

PreparedKernel prepare(const LongRow& row) {
  const std::shared_ptr<Fusion> fusion = simplifyFusion(*parse(row.text));
  ScalarBindings bindings;
  for (Scalar* symbol : fusion->allSymbols()) {
    if (const auto size = row.sizes.find(symbol->name()); size != row.sizes.end()) bindings[symbol] = size->second;
  }
  std::vector<OperandDesc> operands;
  std::vector<TensorView*> tensors = tensorsOf(fusion->inputs());
  tensors.insert(tensors.end(), fusion->outputs().begin(), fusion->outputs().end());
  for (const TensorView* tensor : tensors) {
    const std::vector<int64_t> extents = sizesOf(*tensor, bindings);
    operands.push_back({tensor->dtype(), extents, freshStrides(*tensor, extents), 256});
  }
  return prepareKernel(*fusion, operands, bindings,
                       {.target = TargetKind::Cuda,
                        .extents = ExtentPolicy::Divisors,
                        .schedule = [&](Fusion& program, const ScalarBindings& sizes) {
                          const ReductionStructure structure = requireReductionStructure(program);
                          CudaScheduleParameters parameters = chooseCudaParameters(structure, hopperTarget(), sizes);
                          if (row.chunk > 0) {
                            parameters.cluster = 1;
                            parameters.persistent_grid = 0;
                            parameters.persistent_batches = 0;
                            parameters.threads = row.threads;
                            parameters.chunk = row.chunk;
                            parameters = legalParameters(structure, parameters, sizes);
                          }
                          ASSERT_GT(parameters.chunk, 0);
                          scheduleForCuda(structure, parameters);
                        }});
}

TEST(OnlineSoftmax, TakeRegistersOnly) {
  std::unique_ptr<NvrtcCompiler> compiler;
  try {
    compiler = std::make_unique<NvrtcCompiler>();
  } catch (const Error& error) {
    GTEST_SKIP() << error.message();
  }
  const std::string softmax = "fusion f(T0: bf16[rows, columns]) -> T1 { T1 = cast(softmax(T0), dtype=bf16) }";
  const std::string entropy =
      "fusion f(T0: bf16[rows, columns], T1: i64[rows]) -> T2 { T2 = cross_entropy(T0, T1, reduction=each) }";
  const std::string single = "fusion f(T0: f32[rows, columns]) -> T1 { T1 = log_softmax(T0) }";
  const LongRow rows[] = {{softmax, {{"rows", 2048}, {"columns", 131072}}, 4, 1024},
                          {softmax, {{"rows", 8192}, {"columns", 32768}}, 4, 512},
                          {softmax, {{"rows", 8192}, {"columns", 32768}}, 4, 256},
                          {softmax, {{"rows", 64}, {"columns", 40000}}, 5, 512},
                          {single, {{"rows", 64}, {"columns", 128256}}, 4, 1024},
                          {entropy, {{"rows", 4096}, {"columns", 128256}}},
                          {entropy, {{"rows", 4096}, {"columns", 32064}}, 4, 512}};
  for (const LongRow& row : rows) {
    const PreparedKernel prepared = prepare(row);
    const KernelSource source =
        kernelSource(prepared.kernel, Dialect::Cuda, kir::indexTypeOf(prepared.kernel, prepared.bindings));
    const auto cubin = compiler->compile(compilationUnit({&source, 1}, Dialect::Cuda));
    for (const KernelResources& kernel : cubin->resources) {
      EXPECT_EQ(kernel.stack_bytes, 0) << source.text;
      EXPECT_LE(kernel.registers, 64) << source.text;
      std::cout << row.sizes.at("columns") << " columns: " << kernel.registers << " registers\n";
    }
  }
}

}  // namespace
}  // namespace tokamak
