// The CUDA text of random kernels, run without a GPU: threads are contexts of one processor. Results are right in every
// order of threads, nothing is read before it is there, accesses are ordered by barriers, and all threads come to an
// end.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/require.h"
#include "base/text.h"
#include "codegen/source.h"
#include "contexts/context_kernels.h"
#include "define/callables.h"
#include "generator/case_launch.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/kernel_case.h"
#include "heuristics/cuda_schedule.h"
#include "heuristics/schedule_kernel.h"
#include "ir/clone.h"
#include "ir/text/fusion_parser.h"
#include "ir/text/fusion_printer.h"
#include "kernel/index_type.h"
#include "oracle/reference.h"

namespace tokamak {
namespace {

using namespace generator;

bool mayRunContexts() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
  return false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return false;
#endif
#endif
  return std::system("g++ --version >/dev/null 2>&1") == 0;
}

// A program that is one kernel, at its data.
struct ContextCase {
  uint64_t seed;
  std::unique_ptr<Fusion> fusion;
  std::vector<InputData> inputs;
  std::optional<CaseLaunch> launch;
  std::optional<oracle::Reference> reference;
  size_t number = 0;
};

// A random program under the schedules of KernelPrograms.KernelsAgreeOnTheGpu.
std::unique_ptr<ContextCase> drawnCase(uint64_t seed) {
  const Program program = drawProgram(seed, {.max_ops = 12, .max_elements = 512});
  KernelWay way = cudaWay(seed);
  auto result = std::make_unique<ContextCase>();
  result->seed = seed;
  result->fusion = build(program);
  const Fusion& fusion = *result->fusion;
  const bool gives_input = std::ranges::any_of(fusion.outputs(), [&](TensorView* t) { return fusion.isInput(t); });
  if (gives_input || !canSchedule(*cloneFusion(fusion), way.target)) return nullptr;
  result->inputs = drawData(program, program.seed);
  result->launch.emplace(fusion, result->inputs, way.recipe);
  result->reference.emplace(*result->fusion, toOracle(result->inputs));
  return result;
}

// Programs in which threads have much to exchange, at drawn sizes and types, under drawn parameters of schedules.
constexpr std::string_view kWrittenPrograms[] = {
    "T1 = softmax(T0)",
    "T3 = sum(T0, axes=[1]) T4 = broadcast(T3, flags=[false, true]) T1 = sub(T0, T4)",
    "T3 = var(T0, axes=[1], correction=0) T4 = broadcast(T3, flags=[false, true]) T1 = mul(T0, T4)",
    "T3 = mul(T0, T2) T4 = max(T3, axes=[1]) T5 = broadcast(T4, flags=[false, true]) T1 = sub(T3, T5)",
    "T1 = sum(T0, axes=[1])",
    "T1 = sum(T0, axes=[0])",
    "T3 = mul(T0, T2) T1 = sum(T3, axes=[0, 1])",
    "T1 = max(T0, axes=[0, 1])",
    "T3 = max(T0, axes=[0]) T4 = broadcast(T3, flags=[true, false]) T1 = sub(T0, T4)",
    "T3 = permute(T0, order=[1, 0]) T1 = neg(T3)",
};

// Columns that a block has whole.
constexpr std::string_view kColumnPrograms[] = {
    "T3 = softmax(T0, axis=0) T1 = cast(T3, dtype=bf16)",
    "T3 = cast(T0, dtype=f32) T4 = max(T3, axes=[0], keepdim=true) T1 = log(sum(exp(sub(T3, T4)), axes=[0]))",
};

std::unique_ptr<ContextCase> writtenCase(uint64_t seed, std::span<const std::string_view> bodies = kWrittenPrograms) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15U);
  const auto pick = [&](std::initializer_list<int64_t> values) { return values.begin()[random() % values.size()]; };
  const int64_t drawn_rows = pick({1, 2, 3, 5, 8, 17, 32});
  const int64_t columns = pick({16, 33, 64, 128, 256, 512, 1024, 4096, 2, 3, 4});
  const int64_t rows = columns == 4096 ? std::min<int64_t>(drawn_rows, 3) : drawn_rows;
  const std::string_view type = std::array{"f32", "f16", "bf16", "f64", "i32"}[random() % 5];
  const std::string_view body = bodies[random() % bodies.size()];
  const bool takes_two = body.find("T2") != std::string_view::npos;
  const std::string second = takes_two ? fmt::format(", T2: {}[rows, columns]", type) : "";
  const std::string text =
      fmt::format("fusion written(T0: {}[rows, columns]{}) -> T1 {{ {} }} sizes {{ rows = {}, columns = {} }}", type,
                  second, body, rows, columns);
  CudaScheduleParameters parameters;
  parameters.vector = pick({1, 2, 4, 8, 16});
  // A long sum by one thread is less exact than the reference allows for; of equal terms all its roundings go one way.
  constexpr int64_t kLongSum = 128;
  parameters.threads = columns >= kLongSum ? pick({32, 64, 96, 128}) : pick({1, 4, 16, 32, 64, 96, 128});
  parameters.persistent_batches = pick({0, 1, 2, 4});
  parameters.rows_per_block = pick({1, 1, 2, 4});
  parameters.unroll = pick({1, 2});
  parameters.outer_grid_split = pick({1, 2, 3});
  parameters.inner_grid_split = pick({1, 1, 1, 2, 3});
  parameters.block_x = pick({32, 16, 8, 1});
  parameters.block_y = pick({1, 2, 4, 16});
  parameters.chunk = pick({0, 1, 2, 3});
  parameters.stages = pick({0, 1, 2, 3, 4});
  parameters.persistent_outer = random() % 2 == 0;
  parameters.splits_row_over_grid = random() % 4 == 0;
  parameters.cluster = pick({1, 1, 2, 3, 4, 8});
  parameters.persistent_grid = pick({0, 2, 3});
  parameters.rows_together = pick({1, 1, 2, 3});
  auto result = std::make_unique<ContextCase>();
  result->seed = seed;
  try {
    result->fusion = parseFusion(text, "written", {.resolver = &definingResolver()});
    const KernelTarget target = hopperTarget();
    if (!canSchedule(*cloneFusion(*result->fusion), target)) return nullptr;
    result->inputs = drawDataFor(*result->fusion, seed);
    result->launch.emplace(*result->fusion, result->inputs,
                           KernelRecipe{.target = TargetKind::Cuda,
                                        .extents = random() % 4 != 0 ? ExtentPolicy::Constants : ExtentPolicy::Divisors,
                                        .schedule = [&](Fusion& fusion, const ScalarBindings& sizes) {
                                          ReductionStructure reduction_structure(fusion);
                                          const auto problem = reduction_structure.find(WholeReductions::SingleBlock);
                                          TK_CHECK(!problem, "{}", *problem);
                                          scheduleForCuda(reduction_structure,
                                                          legalParameters(reduction_structure, parameters, sizes));
                                        }});
    // Results of all iterations of a row loop are arrays, which CUDA text has with constant lengths only.
    kernelSource(result->launch->prepared().kernel, Dialect::Cuda, DataType::I64);
  } catch (const Error& error) {
    const bool is_refused = error.code() == ErrorCode::Schedule || error.code() == ErrorCode::Unsupported ||
                            error.code() == ErrorCode::Definition;
    if (!is_refused) throw;
    return nullptr;
  }
  result->reference.emplace(*result->fusion, toOracle(result->inputs));
  return result;
}

// Half of the kernels have the wide indices that they do not need.
DataType indexTypeOf(const ContextCase& each) {
  const PreparedKernel& prepared = each.launch->prepared();
  return each.seed % 2 == 0 ? DataType::I64 : kir::indexTypeOf(prepared.kernel, prepared.bindings);
}

std::optional<std::string> contextProblemOf(contexts::ContextKernels& kernels, const ContextCase& each, size_t number) {
  CaseLaunch::Result result = each.launch->poisoned();
  if (auto problem = kernels.run(number, each.launch->buffersOf(result), each.seed | 1)) return problem;
  if (const auto problem = compareOutputs(result.outputs, *each.reference)) return problem->text;
  return std::nullopt;
}

constexpr const char* kRarest = "shared memory of the launch";

// What a text has that others do not: the ways in which threads exchange values and memory is accessed.
const std::map<std::string, std::string>& templates() {
  static const std::map<std::string, std::string> templates = {
      {"barrier", "__syncthreads"},
      {"shuffle", "__shfl_xor_sync"},
      {"values of warps", "int w = 1|& \\d+\\)\\];"},
      {"tree of threads", "int rank = "},
      {"combination of blocks", "grid_is_last"},
      {"threads that share blocks", "sharers"},
      {"cluster barrier", "barrier\\.cluster"},
      {"store into another block", "mapa"},
      {"asynchronous copy", "cp\\.async\\.c[ga]"},
      {"copies ahead", "wait_group [1-9]"},
      {"access of 16 bytes", "\\(uint4\\*\\)"},
      {"access of 8 bytes", "\\(uint2\\*\\)"},
      {kRarest, "tk_shared"},
      {"scratch that exchanges share", "tk_scratch"},
      {"wide indices", "tk_i64 (block|thread)Idx"},
      {"narrow indices", "tk_i32 (block|thread)Idx"},
  };
  return templates;
}

using Seen = std::map<std::string, int64_t>;
void count(const std::string& text, Seen& seen) {
  for (const auto& [name, pattern] : templates()) seen[name] += std::regex_search(text, std::regex(pattern)) ? 1 : 0;
}

constexpr size_t kKernelsOfAFile = 25;

struct ContextTally {
  uint64_t programs = 0;
  size_t kernels = 0;
  size_t problems = 0;
  Seen seen;
};

// TOKAMAK_CONTEXT_RESULTS names a folder for the tallies of longer runs.
void write(const ContextTally& tally, uint64_t first) {
  const char* const folder = std::getenv("TOKAMAK_CONTEXT_RESULTS");
  if (folder == nullptr) return;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  std::ofstream file(fmt::format("{}/cuda_contexts_{}.json", folder, test.name()));
  file << fmt::format("{{\n  \"test\": \"CudaContexts.{}\",\n  \"first_seed\": {},\n  \"programs\": {},\n", test.name(),
                      first, tally.programs);
  file << fmt::format("  \"kernels\": {},\n  \"problems\": {},\n  \"texts_with\": {{\n", tally.kernels, tally.problems);
  std::vector<std::string> lines;
  for (const auto& [name, number] : tally.seen) lines.push_back(fmt::format("    \"{}\": {}", name, number));
  file << fmt::format("{}\n  }}\n}}\n", joined(lines, ",\n"));
}

void print(const ContextTally& tally) {
  std::cout << tally.kernels << " kernels of " << tally.programs << " programs\n";
  for (const auto& [name, number] : tally.seen) std::cout << "  " << number << " with " << name << "\n";
}

// Kernels of the seeds from `first` on, until as many ran as are wanted.
ContextTally runAll(uint64_t first, uint64_t wanted,
                    const std::function<std::unique_ptr<ContextCase>(uint64_t seed)>& draw) {
  const uint64_t most = fromEnvironment("TOKAMAK_FUZZ_PROGRAMS", ~uint64_t{0});
  const bool is_verbose = fromEnvironment("TOKAMAK_CONTEXT_SEEDS", 0) != 0;
  ContextTally tally;
  while (tally.kernels < wanted && tally.programs < most) {
    contexts::ContextKernels kernels;
    std::vector<std::unique_ptr<ContextCase>> cases;
    const uint64_t of_file = std::min<uint64_t>(kKernelsOfAFile, wanted - tally.kernels);
    for (; cases.size() < of_file && tally.programs < most; ++tally.programs) {
      std::unique_ptr<ContextCase> each = draw(first + tally.programs);
      if (each == nullptr) continue;
      each->number = kernels.add(each->launch->prepared(), indexTypeOf(*each));
      count(kernels.textOf(each->number), tally.seen);
      cases.push_back(std::move(each));
    }
    if (const auto messages = kernels.compile()) {
      ADD_FAILURE() << "seeds before " << first + tally.programs << "\n" << *messages;
      return tally;
    }
    for (const auto& each : cases) {
      if (is_verbose) std::cout << "at " << each->seed << std::endl;
      const auto problem = contextProblemOf(kernels, *each, each->number);
      tally.problems += problem ? 1 : 0;
      EXPECT_FALSE(problem.has_value()) << "seed " << each->seed << ": " << *problem << "\n"
                                        << printFusion(*each->fusion) << kernels.textOf(each->number);
    }
    tally.kernels += cases.size();
  }
  print(tally);
  write(tally, first);
  return tally;
}

// TOKAMAK_CONTEXT_KERNELS raises the numbers for longer runs; TOKAMAK_FUZZ_SEED is the first seed.
TEST(CudaContexts, RandomKernelsAgreeWithTheReference) {
  if (!mayRunContexts()) GTEST_SKIP() << "contexts need g++ and a build without sanitizers";
  const uint64_t wanted = fromEnvironment("TOKAMAK_CONTEXT_KERNELS", 200);
  runAll(fromEnvironment("TOKAMAK_FUZZ_SEED", 1), wanted, drawnCase);
}

TEST(CudaContexts, EveryScheduleAgreesWithTheReference) {
  if (!mayRunContexts()) GTEST_SKIP() << "contexts need g++ and a build without sanitizers";
  const uint64_t wanted = fromEnvironment("TOKAMAK_CONTEXT_KERNELS", 200);
  const ContextTally tally =
      runAll(fromEnvironment("TOKAMAK_FUZZ_SEED", 1), wanted, [](uint64_t seed) { return writtenCase(seed); });
  constexpr uint64_t kMany = 200;
  if (wanted < kMany) return;
  for (const auto& [name, number] : tally.seen) EXPECT_GE(number, name == kRarest ? 1 : 3) << name;
}

TEST(CudaContexts, WholeColumnsAgreeWithTheReference) {
  if (!mayRunContexts()) GTEST_SKIP() << "contexts need g++ and a build without sanitizers";
  const uint64_t wanted = fromEnvironment("TOKAMAK_CONTEXT_KERNELS", 12);
  runAll(fromEnvironment("TOKAMAK_FUZZ_SEED", 1), wanted,
         [](uint64_t seed) { return writtenCase(seed, kColumnPrograms); });
}

// --- mutants ---

// What is taken out of a text, or put in its place, once per occurrence.
struct Mutation {
  const char* name;
  const char* from;
  const char* to;
  double least;  // of the mutants, so many are seen; others change nothing that could be observed
};

constexpr Mutation kMutations[] = {
    {"no barrier", "__syncthreads();", ";", 0.5},
    {"half of a shuffle's mask", "0xffffffffu", "0x0000ffffu", 1},
    {"no group of copies", "asm volatile(\"cp.async.commit_group;\" ::: \"memory\");", ";", 0.5},
    {"no wait for copies", "asm volatile(\"cp.async.wait_group", "if (0) asm volatile(\"cp.async.wait_group", 0.9},
    {"no arrival at the cluster", "asm volatile(\"barrier.cluster.arrive.release.aligned;\" ::: \"memory\");", ";", 1},
    {"no wait for the cluster", "asm volatile(\"barrier.cluster.wait.acquire.aligned;\" ::: \"memory\");", ";", 0.9},
    {"no fence", "__threadfence();", ";", 1},
    {"a counter that is not reset", "if (grid_is_last) *grid_counter = 0;", ";", 1},
    {"no wait for the stream", "asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");", ";", 1},
};

std::vector<std::string> textMutants(const std::string& text, const Mutation& mutation) {
  std::vector<std::string> mutants;
  const std::string from = mutation.from;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
    mutants.push_back(std::string(text).replace(at, from.size(), mutation.to));
  return mutants;
}

TEST(CudaContexts, MutantsOfTextsAreSeen) {
  if (!mayRunContexts()) GTEST_SKIP() << "contexts need g++ and a build without sanitizers";
  const size_t most = fromEnvironment("TOKAMAK_CONTEXT_MUTANTS", 12);  // of a kind
  struct Mutant {
    const ContextCase* subject;
    const Mutation* mutation;
    size_t number;
  };
  std::vector<std::unique_ptr<ContextCase>> cases;
  std::vector<Mutant> mutants;
  contexts::ContextKernels kernels;
  std::map<std::string, size_t> made;
  constexpr uint64_t kSeeds = 600;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    std::unique_ptr<ContextCase> subject = writtenCase(seed);
    if (subject == nullptr) continue;
    const std::string text = kernelSource(subject->launch->prepared().kernel, Dialect::Cuda, DataType::I64).text;
    bool is_used = false;
    for (const Mutation& mutation : kMutations) {
      if (made[mutation.name] >= most) continue;
      const std::vector<std::string> all = textMutants(text, mutation);
      if (all.empty()) continue;
      const std::string& mutant = all[seed % all.size()];
      mutants.push_back({subject.get(), &mutation, kernels.add(subject->launch->prepared(), DataType::I64, mutant)});
      ++made[mutation.name];
      is_used = true;
    }
    if (is_used) cases.push_back(std::move(subject));
  }
  const auto messages = kernels.compile();
  ASSERT_FALSE(messages.has_value()) << *messages;
  std::map<std::string, double> seen;
  std::map<std::string, std::string> unseen;
  for (const Mutant& mutant : mutants) {
    const auto problem = contextProblemOf(kernels, *mutant.subject, mutant.number);
    seen[mutant.mutation->name] += problem ? 1 : 0;
    if (!problem) unseen[mutant.mutation->name] = printFusion(*mutant.subject->fusion) + kernels.textOf(mutant.number);
  }
  for (const Mutation& mutation : kMutations) {
    const auto all = static_cast<double>(made[mutation.name]);
    std::cout << seen[mutation.name] << " of " << all << " mutants with " << mutation.name << " are seen\n";
    EXPECT_GE(all, 3) << mutation.name;
    EXPECT_GE(seen[mutation.name], mutation.least * all) << mutation.name << "\n" << unseen[mutation.name];
  }
}

}  // namespace
}  // namespace tokamak
