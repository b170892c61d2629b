// Random programs as compiled kernels: right, and the same bits by every C compiler that is there.
#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "define/callables.h"
#include "generator/compiled_batch.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/kernel_case.h"
#include "heuristics/cpu_schedule.h"
#include "ir/clone.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"

namespace tokamak {
namespace {

using namespace generator;

constexpr int kMostLanes = 64;  // of bool
constexpr int64_t kLongestProgram = 120;

// Programs of 1 to 120 ops; the longer, the rarer.
DrawOptions optionsOf(uint64_t seed) {
  constexpr std::array<int64_t, 8> kOps = {2, 3, 4, 6, 6, 12, 25, kLongestProgram};
  const int64_t ops = kOps[seed % kOps.size()];
  return {.max_ops = ops,
          .max_elements = ops > 12 ? 600 : 2048,
          .pointwise = ops > 12        ? 97
                       : seed % 3 == 0 ? 70
                                       : 0,
          .has_even_types = true,
          .has_even_extents = true};
}

// As the device schedules, or in blocks so small that every loop and its remainder run.
KernelWay wayOf(uint64_t seed) {
  KernelWay way = wideCpuWay(seed / 8);
  if (seed % 3 == 0) way.recipe.schedule = [](Fusion& fusion, const ScalarBindings&) { scheduleForCpu(fusion, {}); };
  return way;
}

// Null where the program is no kernel.
std::optional<CompiledCase> caseOf(uint64_t seed) {
  CompiledCase result{.seed = seed, .program = drawProgram(seed, optionsOf(seed))};
  result.fusion = build(result.program);
  const KernelWay way = wayOf(seed);
  const Fusion& fusion = *result.fusion;
  if (std::ranges::any_of(fusion.outputs(), [&](TensorView* each) { return fusion.isInput(each); }))
    return std::nullopt;
  if (whyNoKernel(*cloneFusion(fusion), way.target)) return std::nullopt;
  result.inputs = drawData(result.program, seed);
  result.launch = std::make_unique<KernelLaunch>(fusion, result.inputs, way.recipe);
  return result;
}

// The machine's C compiler, then others whose version is another one.
std::vector<std::unique_ptr<KernelCompiler>> compilers() {
  std::vector<std::unique_ptr<KernelCompiler>> result;
  std::set<std::string> versions;
  for (const char* name : {"", "gcc-12", "gcc-13", "clang-19"}) {
    try {
      auto compiler = std::make_unique<KernelCompiler>(KernelCompilerOptions{.compiler = {.program = name}});
      if (versions.insert(compiler->compiler().version()).second) result.push_back(std::move(compiler));
    } catch (const Error&) {
      // It is not there.
    }
  }
  return result;
}

// Any NaN equals any NaN, also by its sign: what reads that sign may differ.
bool readsSignsOfNan(const Program& program) {
  if (program.values == Values::Exact || program.values == Values::Positions) return false;
  return std::ranges::any_of(program.nodes, [](const Node& node) {
    return node.kind == NodeKind::Op && node.op == OpKind::PointwiseOp && node.function == FunctionId::signbit;
  });
}

bool hasVectors(const KernelSource& source) {
  return std::ranges::any_of(source.helpers, [](const std::string& helper) {
    return helper.starts_with("vectors_x") || helper.starts_with("turn");
  });
}

struct Tally {
  int64_t programs = 0;
  int64_t kernels = 0;
  int64_t ops = 0;
  int64_t longest = 0;
  int64_t with_vectors = 0;
  int64_t together = 0;               ///< blocks share a reduction
  std::map<DataType, int64_t> types;  ///< of outputs
  std::set<int64_t> remainders;       ///< of the last extents of outputs of vectors, by the most lanes
  std::vector<std::string> mismatching;

  void add(const CompiledCase& each) {
    ++kernels;
    ops += each.program.opCount();
    longest = std::max(longest, each.program.opCount());
    together += kir::gridCombineOf(each.launch->prepared().kernel) != nullptr ? 1 : 0;
    const bool has_vectors = hasVectors(each.source);
    with_vectors += has_vectors ? 1 : 0;
    for (const StoredData& output : each.launch->poisoned().outputs) {
      ++types[output.dtype];
      if (has_vectors && !output.sizes.empty()) remainders.insert(output.sizes.back() % kMostLanes);
    }
  }

  std::string report(uint64_t first, const std::vector<std::unique_ptr<KernelCompiler>>& by, double seconds) const {
    std::vector<std::string> outputs;
    for (const auto& [dtype, count] : types) outputs.push_back(fmt::format("\"{}\": {}", dataTypeName(dtype), count));
    std::vector<std::string> names;
    for (const auto& each : by) names.push_back(fmt::format("\"{}\"", each->compiler().version()));
    return fmt::format(
        "{{\n  \"what\": \"random programs as compiled kernels: compared with the reference, and bit by bit between "
        "compilers\",\n  \"compilers\": [{}],\n  \"first_seed\": {},\n  \"programs\": {},\n  \"kernels\": {},\n"
        "  \"with_vectors\": {},\n  \"blocks_that_share\": {},\n  \"ops\": {},\n  \"longest\": {},\n"
        "  \"outputs\": {{{}}},\n  \"remainders_of_{}\": {},\n  \"mismatching\": [{}],\n  \"seconds\": {:.0f}\n}}\n",
        fmt::join(names, ", "), first, programs, kernels, with_vectors, together, ops, longest,
        fmt::join(outputs, ", "), kMostLanes, remainders.size(), fmt::join(mismatching, ", "), seconds);
  }
};

// What is wrong with a case's results, each by one compiler.
std::string compiledProblemOf(const CompiledCase& each, const std::vector<std::vector<StoredData>>& results,
                              const std::vector<std::unique_ptr<KernelCompiler>>& by) {
  for (size_t i = 1; i < results.size() && !readsSignsOfNan(each.program); ++i) {
    const std::string difference = differenceInBits(results[0], results[i]);
    if (!difference.empty()) return fmt::format("{}: other bits by {}", difference, by[i]->compiler().version());
  }
  const auto problem = compareOutputs(results[0], oracle::Reference(*each.fusion, toOracle(each.inputs)));
  return problem ? problem->text : "";
}

// TOKAMAK_COMPILED_KERNELS: how many kernels; TOKAMAK_COMPILED_RESULTS: a file for the figures; TOKAMAK_FUZZ_SEED: the first seed.
TEST(CompiledKernels, AgreeWithTheReferenceAndBetweenCompilers) {
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);
  const auto wanted = static_cast<int64_t>(fromEnvironment("TOKAMAK_COMPILED_KERNELS", 400));
  constexpr size_t kPerFile = 25;
  const auto by = compilers();
  if (by.empty()) GTEST_SKIP() << "no C compiler";
  Tally tally;
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t seed = first; tally.kernels < wanted;) {
    CompiledBatch batch;
    const int lanes = tally.kernels % 4 == 0 ? 8 : 16;
    for (; batch.size() < kPerFile; ++seed) {
      ++tally.programs;
      if (auto each = caseOf(seed)) batch.add(std::move(*each), lanes);
    }
    std::vector<std::vector<std::vector<StoredData>>> results;
    for (const auto& compiler : by) results.push_back(batch.run(*compiler));
    for (size_t i = 0; i < batch.size(); ++i) {
      const CompiledCase& each = batch.at(i);
      tally.add(each);
      std::vector<std::vector<StoredData>> of_case;
      for (auto& result : results) of_case.push_back(std::move(result[i]));
      const std::string problem = compiledProblemOf(each, of_case, by);
      if (problem.empty()) continue;
      tally.mismatching.push_back(fmt::format("{}", each.seed));
      ADD_FAILURE() << "seed " << each.seed << ": " << problem << "\n" << printFusion(*each.fusion) << each.source.text;
      if (tally.mismatching.size() > 3) return;
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const std::string report = tally.report(first, by, seconds.count());
  std::cout << report;
  if (const char* file = std::getenv("TOKAMAK_COMPILED_RESULTS")) std::ofstream(file) << report;
  EXPECT_GE(tally.kernels, wanted);
  constexpr int64_t kMany = 400;
  if (wanted < kMany) return;
  EXPECT_GT(tally.together, 0);
  EXPECT_GT(tally.with_vectors, tally.kernels / 3);
  EXPECT_GT(tally.longest, kLongestProgram / 2);
  for (const DataType dtype : {DataType::F32, DataType::F64, DataType::I32, DataType::I64, DataType::Bool})
    EXPECT_GT(tally.types[dtype], tally.kernels / 20) << dataTypeName(dtype);
}

// Rows of 1 to 66 elements of each type: with vectors, without, and with each number of elements left over.
TEST(CompiledKernels, EveryRemainderOfEveryNumberOfLanes) {
  const auto by = compilers();
  if (by.empty()) GTEST_SKIP() << "no C compiler";
  int64_t with_vectors = 0;
  for (const char* dtype : {"f32", "f64", "i32", "i64", "bool", "bf16"}) {
    CompiledBatch batch;
    for (int64_t columns = 1; columns <= kMostLanes + 2; ++columns) {
      const bool is_bool = std::string_view(dtype) == "bool";
      CompiledCase each{.seed = static_cast<uint64_t>(columns)};
      each.fusion = parseFusion(
          fmt::format("fusion f(T0: {0}[rows, columns], T1: {0}[columns]) -> (T2, T4) {{\n"
                      "  T2 = cast({1}(T0, T1), dtype={0})\n  T3 = {2}(T2, T0)\n  T4 = max(T3, axes=[1])\n}}\n"
                      "sizes {{ rows = 3, columns = {3} }}\n",
                      dtype, is_bool ? "bitwise_xor" : "sub", is_bool ? "logical_and" : "maximum", columns),
          "test", {.resolver = &definingResolver()});
      each.inputs = drawDataFor(*each.fusion, each.seed);
      each.launch = std::make_unique<KernelLaunch>(*each.fusion, each.inputs, wideCpuWay(0).recipe);
      batch.add(std::move(each), 16);
    }
    const auto results = batch.run(*by[0]);
    for (size_t i = 0; i < batch.size(); ++i) {
      with_vectors += hasVectors(batch.at(i).source) ? 1 : 0;
      EXPECT_EQ(compiledProblemOf(batch.at(i), {results[i]}, by), "") << dtype << ", " << i + 1 << " columns";
    }
  }
  EXPECT_EQ(with_vectors, 6 * (kMostLanes + 2));
}

// clang 19 takes other bits for a sign that is copied inside a choice by a mask.
TEST(CompiledKernels, ChoicesAroundCopiedSigns) {
  const auto by = compilers();
  if (by.size() < 2) GTEST_SKIP() << "one C compiler";
  CompiledBatch batch;
  for (const char* dtype : {"f32", "f64"}) {
    for (const char* function : {"tanh", "round", "erf", "sinh", "asin"}) {
      CompiledCase each{.seed = 1};
      each.fusion =
          parseFusion(fmt::format("fusion f(T0: {0}[n], T1: {0}[n]) -> T4 {{\n  T2 = gt(T0, T1)\n  T3 = {1}(T0)\n"
                                  "  T4 = where(T2, T0, T3)\n}}\nsizes {{ n = 64 }}\n",
                                  dtype, function),
                      "test", {.resolver = &definingResolver()});
      each.inputs = drawDataFor(*each.fusion, each.seed);
      each.launch = std::make_unique<KernelLaunch>(*each.fusion, each.inputs, wideCpuWay(0).recipe);
      batch.add(std::move(each), 16);
    }
  }
  std::vector<std::vector<std::vector<StoredData>>> results;
  for (const auto& compiler : by) results.push_back(batch.run(*compiler));
  for (size_t i = 0; i < batch.size(); ++i) {
    std::vector<std::vector<StoredData>> of_case;
    for (auto& result : results) of_case.push_back(std::move(result[i]));
    EXPECT_EQ(compiledProblemOf(batch.at(i), of_case, by), "") << printFusion(*batch.at(i).fusion);
  }
}

}  // namespace
}  // namespace tokamak
