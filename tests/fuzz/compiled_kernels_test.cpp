// Random programs as compiled kernels: right, and the same bits by every C compiler that is there.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "define/callables.h"
#include "generator/compiled_batch.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/kernel_case.h"
#include "generator/random.h"
#include "generator/run_case.h"
#include "heuristics/cpu_schedule.h"
#include "heuristics/schedule_kernel.h"
#include "ir/clone.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"

namespace tokamak {
namespace {

using namespace generator;

constexpr int kMostLanes = 64;            // of bool
constexpr int64_t kLongestProgram = 118;  // and the casts of the last op
constexpr int64_t kManyOps = 60;
constexpr int64_t kManyOutputs = 20;
constexpr double kMostCompileSeconds = 5;  // of a processor

// That most axes have: every remainder by every number of lanes.
int64_t extentOf(uint64_t seed) { return 1 + static_cast<int64_t>(seed % (2 * kMostLanes + 3)); }
int64_t remainderOf(uint64_t seed) { return extentOf(seed) % kMostLanes; }

bool isChained(uint64_t seed) { return seed % 16 == 7; }

// Programs of 1 to 120 ops; the longer, the rarer.
DrawOptions optionsOf(uint64_t seed) {
  constexpr std::array<int64_t, 8> kOps = {2, 3, 4, 6, 6, 12, 25, kLongestProgram};
  const int64_t ops = kOps[seed % kOps.size()];
  return {.max_ops = ops,
          .max_elements = ops > 12 ? 600 : 2048,
          .pointwise = ops > 12        ? 97
                       : seed % 3 == 0 ? 70
                                       : 0,
          .chained = isChained(seed) ? 95 : 0,
          .has_even_types = true,
          .extent = extentOf(seed)};
}

struct Composite {
  const char* inputs;  // {}: the type
  const char* body;
  int64_t columns = 1;  // for one of the drawn extent
};

// Composites without products, whose operands are not drawn.
constexpr Composite kComposites[] = {
    {"T0: {}[rows, columns]", "T9 = softmax(T0)"},
    {"T0: {}[rows, columns]", "T9 = softmax(T0, axis=0)"},
    {"T0: {}[rows, columns]", "T9 = log_softmax(T0)"},
    {"T0: {0}[rows, columns], T1: {0}[rows, columns]", "T9 = softmax_backward(T0, T1)"},
    {"T0: {0}[rows, columns], T1: {0}[columns], T2: {0}[columns]", "T9 = layer_norm(T0, T1, T2)"},
    {"T0: {0}[rows, columns], T1: {0}[columns]", "T9 = rms_norm(T0, T1)"},
    {"T0: {0}[2, rows, columns], T1: {0}[rows, columns], T2: {0}[rows, columns]", "T9 = rope(T0, T1, T2)", 2},
    {"T0: {0}[rows, columns], T1: i64[rows]", "T9 = cross_entropy(T0, T1, reduction=each)"},
    {"T0: {0}[2, 4, rows, columns], T1: {0}[4], T2: {0}[4]", "T9 = group_norm(T0, 2, T1, T2)"},
    {"T0: {0}[rows, columns], T1: {0}[rows, columns]", "T9 = mul(silu(T0), T1)"},
    {"T0: {0}[rows, columns], T1: {0}[columns]", "T9 = gelu(add(T0, T1))"},
    {"T0: {}[rows, columns]", "T9 = var(T0, axes=[1], correction=1.0)"},
};
constexpr uint64_t kCompositeEvery = 11;  // seeds

std::unique_ptr<Fusion> compositeOf(uint64_t seed) {
  Random random(seed);
  const Composite composite = kComposites[seed / kCompositeEvery % std::size(kComposites)];
  constexpr std::array kTypes = {"f32", "f64", "f16", "bf16"};
  const char* const type = random.pick(kTypes);
  return parseFusion(fmt::format("fusion composite({}) -> T10 {{\n  {}\n  T10 = cast(T9, dtype={})\n}}\n"
                                 "sizes {{ rows = {}, columns = {} }}\n",
                                 fmt::format(fmt::runtime(composite.inputs), type), composite.body, type,
                                 random.between(1, 9), composite.columns * extentOf(seed)),
                     "composite", {.resolver = &definingResolver()});
}

// As the device schedules, or in blocks so small that every loop and its remainder run.
KernelWay wayOf(uint64_t seed) {
  KernelWay way = wideCpuWay(seed / 8);
  if (seed % 3 == 0) way.recipe.schedule = [](Fusion& fusion, const ScalarBindings&) { scheduleForCpu(fusion, {}); };
  return way;
}

// Null where the program is no kernel.
std::optional<CompiledCase> caseOf(uint64_t seed) {
  CompiledCase result{.seed = seed};
  const bool is_composite = seed % kCompositeEvery == 0;
  if (!is_composite) result.program = drawProgram(seed, optionsOf(seed));
  result.fusion = is_composite ? compositeOf(seed) : build(result.program);
  const KernelWay way = wayOf(seed);
  const Fusion& fusion = *result.fusion;
  if (std::ranges::any_of(fusion.outputs(), [&](TensorView* each) { return fusion.isInput(each); }))
    return std::nullopt;
  if (!canSchedule(*cloneFusion(fusion), way.target)) return std::nullopt;
  result.inputs = is_composite ? drawDataFor(fusion, seed) : drawData(result.program, seed);
  result.launch = std::make_unique<CaseLaunch>(fusion, result.inputs, way.recipe);
  return result;
}

double secondsOfChildren() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The machine's C compiler, then others whose version is another one.
class CompilerRuns {
 public:
  CompilerRuns() {
    for (const char* name : {"", "gcc-12", "gcc-13", "clang-19", "zig"}) {
      try {
        auto compiler = std::make_unique<KernelCompiler>(KernelCompilerOptions{.compiler = {.program = name}});
        if (std::ranges::count(versions(), compiler->compiler().version()) == 0)
          compilers_.push_back(std::move(compiler));
      } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it is not there
      }
    }
  }

  size_t count() const { return compilers_.size(); }
  std::vector<std::string> versions() const {
    std::vector<std::string> names;
    for (const auto& each : compilers_) names.push_back(each->compiler().version());
    return names;
  }

  // By case and compiler.
  std::vector<std::vector<std::vector<StoredData>>> run(const CompiledBatch& batch) {
    std::vector<std::vector<std::vector<StoredData>>> results(batch.size());
    for (const auto& compiler : compilers_) {
      const double before = secondsOfChildren();
      auto of_compiler = batch.run(*compiler);
      const double seconds = secondsOfChildren() - before;
      EXPECT_LT(seconds, kMostCompileSeconds) << compiler->compiler().version() << " for one file";
      most_seconds_ = std::max(most_seconds_, seconds);
      for (size_t i = 0; i < batch.size(); ++i) results[i].push_back(std::move(of_compiler[i]));
    }
    return results;
  }

  // The others are from the cache on disk.
  int64_t compiledFiles() const {
    int64_t files = 0;
    for (const auto& each : compilers_) files += each->counts().compiled;
    return files;
  }
  double mostSeconds() const { return most_seconds_; }

 private:
  std::vector<std::unique_ptr<KernelCompiler>> compilers_;
  double most_seconds_ = 0;
};

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

// Whether what vectors leave over is written in stages, each of which passes values on in arrays.
bool hasTailInStages(const KernelSource& source) { return source.text.find(" rest_") != std::string::npos; }

// Of the longest chain of ops that read one another.
int64_t depthOf(const Program& program) {
  std::vector<int64_t> depths;
  for (const Node& node : program.nodes) {
    int64_t depth = 0;
    for (const auto& operand : node.operands)
      depth = std::max(depth, operand.node < 0 ? 0 : depths[static_cast<size_t>(operand.node)]);
    depths.push_back(depth + (node.kind == NodeKind::Op ? 1 : 0));
  }
  return depths.empty() ? 0 : std::ranges::max(depths);
}

struct Tally {
  int64_t programs = 0;
  int64_t kernels = 0;
  int64_t ops = 0;
  int64_t longest = 0;
  int64_t longest_chain = 0;
  int64_t deep = 0;  ///< of more than kManyOps
  int64_t wide = 0;  ///< with kManyOutputs or more
  int64_t composites = 0;
  int64_t with_vectors = 0;
  int64_t together = 0;               ///< blocks share a reduction
  std::map<DataType, int64_t> types;  ///< of outputs
  std::set<int64_t> remainders;       ///< of the last extents of outputs of vectors, by the most lanes
  std::vector<std::string> mismatching;

  void add(const CompiledCase& each) {
    ++kernels;
    const int64_t count = std::ssize(each.fusion->exprs());
    ops += count;
    longest = std::max(longest, count);
    longest_chain = std::max(longest_chain, depthOf(each.program));
    deep += count > kManyOps ? 1 : 0;
    wide += std::ssize(each.fusion->outputs()) >= kManyOutputs ? 1 : 0;
    composites += each.program.nodes.empty() ? 1 : 0;
    together += kir::gridReduceOf(each.launch->prepared().kernel) != nullptr ? 1 : 0;
    const bool has_vectors = hasVectors(each.source);
    with_vectors += has_vectors ? 1 : 0;
    for (const StoredData& output : each.launch->poisoned().outputs) {
      ++types[output.dtype];
      if (has_vectors && !output.sizes.empty()) remainders.insert(output.sizes.back() % kMostLanes);
    }
  }

  double shareOf(DataType dtype) const {
    int64_t all = 0;
    for (const auto& [type, count] : types) all += count;
    return types.contains(dtype) ? static_cast<double>(types.at(dtype)) / static_cast<double>(all) : 0;
  }

  std::string report(uint64_t first, const CompilerRuns& by, double seconds) const {
    std::vector<std::string> outputs;
    for (const auto& [dtype, count] : types) outputs.push_back(fmt::format("\"{}\": {}", dataTypeName(dtype), count));
    return fmt::format(
        "{{\n  \"what\": \"random programs as compiled kernels: compared with the reference, and bit by bit between "
        "compilers\",\n  \"compilers\": \"{}\",\n  \"first_seed\": {},\n  \"programs\": {},\n  \"kernels\": {},\n"
        "  \"composites\": {},\n  \"with_vectors\": {},\n  \"blocks_that_share\": {},\n  \"ops\": {},\n  \"longest\": "
        "{},\n"
        "  \"longest_chain\": {},\n  \"of_more_than_{}_ops\": {},\n  \"of_{}_outputs_or_more\": {},\n"
        "  \"outputs\": {{{}}},\n  \"most_remainders_of_{}\": {},\n  \"compiled_files\": {},\n"
        "  \"largest_compile_seconds_of_a_file\": {:.1f},\n  \"mismatches\": {},\n  \"mismatching\": [{}],\n"
        "  \"seconds\": {:.0f}\n}}\n",
        joined(by.versions(), "; "), first, programs, kernels, composites, with_vectors, together, ops, longest,
        longest_chain, kManyOps, deep, kManyOutputs, wide, joined(outputs), kMostLanes, remainders.size(),
        by.compiledFiles(), by.mostSeconds(), mismatching.size(), joined(mismatching), seconds);
  }
};

// What is wrong with a case's results, each by one compiler.
std::string compiledProblemOf(const CompiledCase& each, const std::vector<std::vector<StoredData>>& results,
                              const CompilerRuns& by) {
  for (size_t i = 1; i < results.size() && !readsSignsOfNan(each.program); ++i) {
    const std::string difference = differenceInBits(results[0], results[i]);
    if (!difference.empty()) return fmt::format("{}: other bits by {}", difference, by.versions()[i]);
  }
  const auto problem = compareOutputs(results[0], oracle::Reference(*each.fusion, toOracle(each.inputs)));
  return problem ? problem->text : "";
}

// Kernels of the seeds from `first` on, many to a file, until as many were compiled as are wanted. Of many, the last
// are of remainders that have not come yet, and chains until one is long: at most as many again.
class CompiledRun {
 public:
  CompiledRun(uint64_t first, int64_t wanted) : seed_(first), wanted_(wanted), is_many_(wanted >= kMany) {}

  Tally run(CompilerRuns& by) {
    while (!isDone() && tally_.mismatching.size() < kMostMismatches) {
      const CompiledBatch batch = nextFile();
      const auto results = by.run(batch);
      for (size_t i = 0; i < batch.size(); ++i) judge(batch.at(i), results[i], by);
    }
    return tally_;
  }

  static constexpr int64_t kMany = 400;

 private:
  static constexpr size_t kPerFile = 25;
  static constexpr size_t kMostMismatches = 4;

  bool isDone() const {
    const bool has_all = tally_.remainders.size() == kMostLanes && tally_.longest_chain > kManyOps;
    return tally_.kernels >= wanted_ && (!is_many_ || has_all || tally_.kernels >= 2 * wanted_);
  }

  bool isMissing(uint64_t seed) const {
    return !tally_.remainders.contains(remainderOf(seed)) || (tally_.longest_chain <= kManyOps && isChained(seed));
  }

  CompiledBatch nextFile() {
    CompiledBatch batch;
    const int lanes = tally_.kernels % 4 == 0 ? 8 : 16;
    const bool is_inner = tally_.kernels >= wanted_;
    for (; batch.size() < kPerFile; ++seed_) {
      if (is_inner && !isMissing(seed_)) continue;
      ++tally_.programs;
      if (auto each = caseOf(seed_)) batch.add(std::move(*each), lanes);
    }
    return batch;
  }

  void judge(const CompiledCase& each, const std::vector<std::vector<StoredData>>& results, const CompilerRuns& by) {
    tally_.add(each);
    const std::string problem = compiledProblemOf(each, results, by);
    if (problem.empty()) return;
    tally_.mismatching.push_back(fmt::format("{}", each.seed));
    ADD_FAILURE() << "seed " << each.seed << ": " << problem << "\n" << printFusion(*each.fusion) << each.source.text;
  }

  uint64_t seed_;
  int64_t wanted_;
  bool is_many_;
  Tally tally_;
};

// TOKAMAK_COMPILED_KERNELS: how many kernels; TOKAMAK_COMPILED_RESULTS: a file for the figures; TOKAMAK_FUZZ_SEED:
// the first seed.
TEST(CompiledKernels, AgreeWithTheReferenceAndBetweenCompilers) {
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);
  const auto wanted = static_cast<int64_t>(fromEnvironment("TOKAMAK_COMPILED_KERNELS", CompiledRun::kMany));
  CompilerRuns by;
  if (by.count() == 0) GTEST_SKIP() << "no C compiler";
  const auto start = std::chrono::steady_clock::now();
  const Tally tally = CompiledRun(first, wanted).run(by);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const std::string report = tally.report(first, by, seconds.count());
  std::cout << report;
  if (const char* file = std::getenv("TOKAMAK_COMPILED_RESULTS")) std::ofstream(file) << report;
  EXPECT_GE(tally.kernels, wanted);
  if (wanted < CompiledRun::kMany) return;
  EXPECT_EQ(tally.remainders.size(), kMostLanes);
  EXPECT_GT(tally.together, 0);
  EXPECT_GT(tally.with_vectors, tally.kernels / 3);
  EXPECT_GT(tally.composites, tally.kernels / 20);
  EXPECT_GT(tally.longest, kLongestProgram * 9 / 10);
  EXPECT_GT(tally.longest_chain, kManyOps);
  EXPECT_GT(tally.deep, tally.kernels / 50);
  EXPECT_GT(tally.wide, tally.kernels / 50);
  for (const DataType dtype : {DataType::F32, DataType::F64, DataType::I32, DataType::I64, DataType::Bool})
    EXPECT_GE(tally.shareOf(dtype), 0.1) << dataTypeName(dtype);
  for (const DataType dtype : {DataType::F16, DataType::BF16})
    EXPECT_GE(tally.shareOf(dtype), 0.05) << dataTypeName(dtype);
}

// What is computed of rows T0 and T1: the outputs are called T2 and T4.
struct RowBody {
  std::string dtype;
  std::string text;
};

RowBody shortBodyOf(const std::string& dtype) {
  const bool is_bool = dtype == "bool";
  return {dtype, fmt::format("  T2 = cast({1}(T0, T1), dtype={0})\n  T3 = {2}(T2, T0)\n  T4 = max(T3, axes=[1])\n",
                             dtype, is_bool ? "bitwise_xor" : "sub", is_bool ? "logical_and" : "maximum")};
}

// Of so many long functions that the loop is written in stages, and its tail, too.
RowBody longBodyOf(const std::string& dtype) {
  constexpr int kFunctions = 10;
  std::string text = "  V0 = sigmoid(T0)\n";
  for (int i = 1; i < kFunctions; ++i) text += fmt::format("  V{} = sigmoid(add(V{}, T1))\n", i, i - 1);
  return {dtype, text + fmt::format("  T2 = cast(V{}, dtype={})\n  T4 = max(T2, axes=[1])\n", kFunctions - 1, dtype)};
}

// The case of a text.
CompiledCase caseOfText(const std::string& text, uint64_t seed) {
  CompiledCase each{.seed = seed};
  each.fusion = parseFusion(text, "test", {.resolver = &definingResolver()});
  each.inputs = drawDataFor(*each.fusion, each.seed);
  each.launch = std::make_unique<CaseLaunch>(*each.fusion, each.inputs, wideCpuWay(0).recipe);
  return each;
}

CompiledCase rowsOf(const RowBody& body, int64_t columns) {
  return caseOfText(fmt::format("fusion f(T0: {0}[rows, columns], T1: {0}[columns]) -> (T2, T4) {{\n{1}}}\n"
                                "sizes {{ rows = 3, columns = {2} }}\n",
                                body.dtype, body.text, columns),
                    static_cast<uint64_t>(columns));
}

// Rows of 1 to 66 elements of each type: with vectors, without, and with each number of elements left over, in one loop
// and in stages. Most rows of a type have one kernel, as extents are open.
TEST(CompiledKernels, EveryRemainderOfEveryNumberOfLanes) {
  CompilerRuns by;
  if (by.count() == 0) GTEST_SKIP() << "no C compiler";
  std::vector<RowBody> bodies;
  for (const char* dtype : {"f32", "f64", "i32", "i64", "bool", "f16", "bf16"}) bodies.push_back(shortBodyOf(dtype));
  for (const char* dtype : {"f32", "bf16"}) bodies.push_back(longBodyOf(dtype));
  int64_t with_vectors = 0;
  int64_t in_stages = 0;
  int64_t kernels = 0;
  size_t texts = 0;
  for (const int lanes : {8, 16}) {
    for (const RowBody& body : bodies) {
      CompiledBatch batch;
      for (int64_t columns = 1; columns <= kMostLanes + 2; ++columns) batch.add(rowsOf(body, columns), lanes);
      const auto results = by.run(batch);
      for (size_t i = 0; i < batch.size(); ++i) {
        with_vectors += hasVectors(batch.at(i).source) ? 1 : 0;
        in_stages += hasTailInStages(batch.at(i).source) ? 1 : 0;
        EXPECT_EQ(compiledProblemOf(batch.at(i), results[i], by), "")
            << body.dtype << ", " << i + 1 << " columns, " << lanes << " lanes\n"
            << body.text;
      }
      kernels += static_cast<int64_t>(batch.size());
      texts += batch.texts();
    }
  }
  EXPECT_EQ(with_vectors, kernels);
  EXPECT_GE(in_stages, kernels / 5);
  std::cout << fmt::format("{} kernels of {} texts, {} with a tail in stages, by {} compilers\n", kernels, texts,
                           in_stages, by.count());
}

// Rows of a few vectors, whose length the kernel knows: their last elements are a vector that begins earlier.
TEST(CompiledKernels, EveryRemainderOfShortRows) {
  CompilerRuns by;
  if (by.count() == 0) GTEST_SKIP() << "no C compiler";
  for (const int lanes : {8, 16}) {
    CompiledBatch batch;
    for (const char* dtype : {"f32", "i32", "bf16"}) {
      const std::string text = shortBodyOf(dtype).text;
      for (const int64_t columns : {9, 15, 17, 23, 24, 27, 31, 33, 39}) {
        const std::string types = fmt::format("T0: {0}[rows, {1}], T1: {0}[{1}]", dtype, columns);
        batch.add(caseOfText(fmt::format("fusion f({}) -> (T2, T4) {{\n{}}}\nsizes {{ rows = 3 }}\n", types, text),
                             static_cast<uint64_t>(columns)),
                  lanes);
      }
    }
    const auto results = by.run(batch);
    for (size_t i = 0; i < batch.size(); ++i)
      EXPECT_EQ(compiledProblemOf(batch.at(i), results[i], by), "") << lanes << " lanes, case " << i;
  }
}

// At both ends of 32 and of 64 bits, and where floats lose bits.
TEST(CompiledKernels, ConstantsKeepTheirSixtyFourBits) {
  CompilerRuns by;
  if (by.count() == 0) GTEST_SKIP() << "no C compiler";
  std::vector<int64_t> constants;
  for (const int bits : {24, 31, 32, 53, 62}) {
    for (const int64_t near : {-1, 0, 1}) {
      constants.push_back((int64_t{1} << bits) + near);
      constants.push_back(-(int64_t{1} << bits) + near);
    }
  }
  constants.insert(constants.end(), {INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1});
  CompiledBatch batch;
  for (const int64_t constant : constants) {
    batch.add(caseOfText(fmt::format("fusion f(T0: i64[n]) -> (T1, T2, T4) {{\n  T1 = bitwise_xor(T0, {0})\n"
                                     "  T2 = maximum(T0, {0})\n  T3 = lt(T0, {0})\n  T4 = where(T3, {0}, T0)\n}}\n"
                                     "sizes {{ n = 19 }}\n",
                                     constant),
                         1),
              16);
  }
  const auto results = by.run(batch);
  for (size_t i = 0; i < batch.size(); ++i)
    EXPECT_EQ(compiledProblemOf(batch.at(i), results[i], by), "") << constants[i];
}

// clang 19 takes other bits for a sign that is copied inside a choice by a mask.
TEST(CompiledKernels, ChoicesAroundCopiedSigns) {
  CompilerRuns by;
  if (by.count() < 2) GTEST_SKIP() << "one C compiler";
  CompiledBatch batch;
  for (const char* dtype : {"f32", "f64"}) {
    for (const char* function : {"tanh", "round", "erf", "sinh", "asin"}) {
      batch.add(caseOfText(fmt::format("fusion f(T0: {0}[n], T1: {0}[n]) -> T4 {{\n  T2 = gt(T0, T1)\n  T3 = {1}(T0)\n"
                                       "  T4 = where(T2, T0, T3)\n}}\nsizes {{ n = 64 }}\n",
                                       dtype, function),
                           1),
                16);
    }
  }
  const auto results = by.run(batch);
  for (size_t i = 0; i < batch.size(); ++i)
    EXPECT_EQ(compiledProblemOf(batch.at(i), results[i], by), "") << printFusion(*batch.at(i).fusion);
}

}  // namespace
}  // namespace tokamak
