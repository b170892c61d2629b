// Kernel texts of random programs: they can be read back, mean the same, and passes keep their meaning.
#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "base/error.h"
#include "generator/case_launch.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/kernel_case.h"
#include "generator/written_kernels.h"
#include "heuristics/schedule_kernel.h"
#include "ir/clone.h"
#include "kernel/parse_kernel.h"
#include "kernel/verify_kernel.h"

namespace tokamak {
namespace {

using namespace generator;

bool canBeKernel(const Fusion& fusion, const KernelWay& way) {
  const bool gives_input = std::ranges::any_of(fusion.outputs(), [&](TensorView* t) { return fusion.isInput(t); });
  return !gives_input && canSchedule(*cloneFusion(fusion), way.target);
}

void expectSameBits(const CaseLaunch::Result& a, const CaseLaunch::Result& b, const std::string& text) {
  EXPECT_EQ(a.findings, b.findings) << text;
  for (size_t i = 0; i < a.outputs.size(); ++i) EXPECT_EQ(a.outputs[i].bytes, b.outputs[i].bytes) << text;
}

// Calls `check` for the kernels of random programs, on the processor and on a GPU.
void forEachKernel(uint64_t count, KernelPassOptions passes,
                   const std::function<void(const CaseLaunch& launch, uint64_t seed)>& check) {
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 12, .max_elements = 512});
    for (KernelWay way : {cpuWay(seed), cudaWay(seed), smallCudaWay(seed)}) {
      const std::unique_ptr<Fusion> fusion = build(program);
      if (!canBeKernel(*fusion, way)) continue;
      way.recipe.passes = passes;
      const std::vector<InputData> inputs = drawData(program, seed);
      std::optional<CaseLaunch> launch;
      try {
        launch.emplace(*fusion, inputs, way.recipe);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::Schedule)
            << "seed " << seed << ": " << error.what();  // how often, KernelPrograms tells
        continue;
      }
      check(*launch, seed);
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
  }
}

TEST(KernelText, RoundTripsAndMeansTheSame) {
  int64_t kernels = 0;
  forEachKernel(fromEnvironment("TOKAMAK_FUZZ_PROGRAMS", 550), {}, [&](const CaseLaunch& launch, uint64_t) {
    const PreparedKernel& prepared = launch.prepared();
    const std::string text = kir::printKernel(prepared.kernel);
    const kir::Kernel parsed = kir::parseKernel(text, "kernel");
    ++kernels;
    ASSERT_EQ(kir::printKernel(parsed), text);
    const std::vector<Violation> violations = kir::violationsOf(parsed);
    ASSERT_TRUE(violations.empty()) << violations[0].invariant << ": " << violations[0].message << "\n" << text;
    expectSameBits(launch.run(prepared.kernel, prepared.bindings, {}),
                   launch.run(parsed, launch.bindingsFor(parsed), {}), text);
  });
  std::cout << kernels << " kernels\n";
  EXPECT_GT(kernels, 0);
}

// A text with a few characters or words changed.
std::string damaged(std::string text, std::mt19937_64& random) {
  constexpr std::string_view kPieces[] = {
      "(",     ")",       "[",      "]",   "{",       "}",       "..",        "+",       "0",
      "-1",    "T0",      "T1",     "k",   "i0",      "f0",      "for ",      "if ",     "let ",
      "in ",   ":",       "=",      "i64", "f32",     "bool",    ",",         "local",   "shared",
      "TIDx ", "Unroll ", "align ", "\n",  "choose(", "reduce ", "barrier\n", "0.5_f32", "max("};
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  // A character of this set at or after a place becomes another one of it.
  const auto exchange = [&](std::string_view set) {
    const size_t found = text.find_first_of(set, below(text.size()));
    if (found != std::string::npos) text[found] = set[below(set.size())];
  };
  for (size_t count = below(4) == 0 ? 3 : 1; count > 0 && !text.empty(); --count) {
    const size_t at = below(text.size());
    switch (below(8)) {
      case 0: text.erase(at, 1 + below(8)); break;
      case 1: text.insert(at, kPieces[below(std::size(kPieces))]); break;
      case 2: text.replace(at, 1 + below(4), kPieces[below(std::size(kPieces))]); break;
      case 3:
      case 4: exchange("0123456789"); break;
      case 5: exchange("+-*/%<"); break;
      case 6: exchange("kmnrv"); break;
      default: text.insert(at, text.substr(below(text.size()), 1 + below(40))); break;
    }
  }
  return text;
}

// Whatever the text, it is refused at its place or it is a kernel that can be printed, verified and, if it is legal,
// passed through passes.
TEST(KernelText, DamagedTextsAreRefusedOrRead) {
  const uint64_t count = fromEnvironment("TOKAMAK_DAMAGED_TEXTS", 6000);
  std::vector<std::string> texts;
  for (const WrittenKernel& written : writtenKernels()) texts.emplace_back(written.kernel);
  forEachKernel(
      20, {}, [&](const CaseLaunch& launch, uint64_t) { texts.push_back(kir::printKernel(launch.prepared().kernel)); });
  std::mt19937_64 random(fromEnvironment("TOKAMAK_FUZZ_SEED", 1));
  int64_t read = 0;
  int64_t legal = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string text = damaged(texts[random() % texts.size()], random);
    try {
      kir::Kernel kernel = kir::parseKernel(text, "damaged");
      ++read;
      const std::string printed = kir::printKernel(kernel);
      if (!kir::violationsOf(kernel).empty()) continue;
      ++legal;
      ASSERT_EQ(kir::printKernel(kir::parseKernel(printed, "printed")), printed) << text;
      runKernelPasses(std::move(kernel), {.verify = KernelPassOptions::Verify::Always});
    } catch (const Error& error) {
      const bool is_refused = error.code() == ErrorCode::Parse || error.code() == ErrorCode::Schedule;
      ASSERT_TRUE(is_refused) << error.what() << "\n" << text;
    }
  }
  std::cout << count << " damaged texts, " << read << " read, " << legal << " legal\n";
  EXPECT_GT(legal, 0);
}

bool usesSharedMemory(const kir::Kernel& kernel) {
  bool found = false;
  kir::visitStatements(kernel.body, [&](const kir::Statement& statement) {
    const auto* allocate = std::get_if<kir::Allocate>(&statement.node);
    found |= allocate != nullptr && allocate->tensor->memoryType() == MemoryType::Shared;
  });
  return found;
}

// The kernel before and after each pass gives the same bits on the interpreter, which finds nothing wrong with it.
TEST(KernelPasses, KeepTheMeaning) {
  struct StageOfKernel {
    std::string pass;
    kir::Kernel kernel;
  };
  std::vector<StageOfKernel> stages;
  std::map<std::string, int64_t> changed;
  int64_t compared = 0;
  const KernelPassOptions passes = {.verify = KernelPassOptions::Verify::Always,
                                    .after = [&](std::string_view pass, const kir::Kernel& kernel) {
                                      if (pass == "lower") stages.clear();
                                      stages.push_back({std::string(pass), kernel});
                                    }};
  forEachKernel(fromEnvironment("TOKAMAK_FUZZ_PASS_PROGRAMS", 200), passes, [&](const CaseLaunch& launch, uint64_t) {
    const PreparedKernel& prepared = launch.prepared();
    const CaseLaunch::Result last = launch.run(prepared.kernel, prepared.bindings, {});
    ASSERT_TRUE(last.findings.empty()) << last.findings[0];
    std::string before;
    bool has_barriers = false;
    for (const StageOfKernel& stage : stages) {
      std::string text = kir::printKernel(stage.kernel);
      if (text != before) ++changed[stage.pass];
      before = std::move(text);
      // Where threads exchange values, only barriers make it legal.
      has_barriers = has_barriers || stage.pass == "insert-barriers";
      if (usesSharedMemory(stage.kernel) && !has_barriers) continue;
      ++compared;
      expectSameBits(launch.run(stage.kernel, prepared.bindings, {.seed = 7}), last,
                     "after " + stage.pass + "\n" + before);
    }
  });
  std::cout << compared << " kernels run";
  for (const auto& [pass, count] : changed) std::cout << ", " << pass << " changed " << count;
  std::cout << "\n";
  EXPECT_GT(changed["guard-elimination"], 0);
  EXPECT_GT(changed["vectorize-accesses"], 0);
}

}  // namespace
}  // namespace tokamak
