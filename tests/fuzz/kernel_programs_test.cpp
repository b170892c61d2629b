// Random programs as kernels: the interpreter agrees with the reference and finds nothing wrong.
#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "codegen/source.h"
#include "generator/case_launch.h"
#include "generator/cuda_runner.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/kernel_case.h"
#include "generator/minimise.h"
#include "ir/text/fusion_printer.h"
#include "jit/open_device.h"
#include "kernel/bind_kernel.h"
#include "kernel/index_type.h"
#include "toolchain/nvrtc.h"

namespace tokamak {
namespace {

using namespace generator;

std::optional<Problem> problemOf(const Program& program, const KernelWay& way, KernelTally& tally) {
  return findKernelProblem(*build(program), drawData(program, program.seed), way, tally);
}

std::string minimised(const Program& program, const KernelWay& way, const std::string& kind) {
  const Program small = minimise(program,
                                 [&](const Program& candidate) {
                                   KernelTally tally;
                                   const auto problem = problemOf(candidate, way, tally);
                                   return problem && problem->kind == kind;
                                 },
                                 {.max_attempts = 1500});
  KernelTally tally;
  return problemOf(small, way, tally)->text + "\n" + printFusion(*build(small));
}

void expectKernelsAgree(const std::function<KernelWay(uint64_t seed)>& wayOf) {
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);
  // Of these, more than 2,000 can be one kernel.
  const uint64_t count = fromEnvironment("TOKAMAK_KERNEL_PROGRAMS", fromEnvironment("TOKAMAK_FUZZ_PROGRAMS", 3650));
  KernelTally tally;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 12, .max_elements = 512});
    const KernelWay way = wayOf(seed);
    const auto problem = problemOf(program, way, tally);
    ASSERT_FALSE(problem.has_value()) << "seed " << seed << ": " << problem->kind << "\n"
                                      << problem->text << "\nminimised:\n"
                                      << minimised(program, way, problem->kind);
  }
  const int64_t kernels = tally.programs - tally.refused;
  std::cout << tally.programs << " programs, " << tally.refused << " cannot be one kernel, " << tally.ops << " ops, "
            << tally.elements << " elements\n";
  constexpr int64_t kAsked = 2000;
  constexpr uint64_t kMany = 3650;
  if (count >= kMany) {
    EXPECT_GE(kernels, kAsked);
  }
}

// TOKAMAK_FUZZ_PROGRAMS raises the number for longer runs (TOKAMAK_KERNEL_PROGRAMS that of kernels only);
// TOKAMAK_FUZZ_SEED is the first seed.
TEST(KernelPrograms, InterpretedKernelsAgreeWithTheReference) { expectKernelsAgree(cpuWay); }

// The first line that declares something of a thread without a value, unless it is filled from what has one alone; what
// is shared by a block has none.
std::string declarationWithoutValue(const std::string& text) {
  static const std::regex declared(R"( *(?:__align__\(16\) )?tk_\w+ (\w+)(?:\[\w+\])?( = \{\})?;)");
  static const std::regex copied(R"( *(\w+)(?:\[.*\])? = (\w+)(?:\[[^\]]*\])?;)");
  static const std::regex written(R"( *(?:\*\(\w+\*\)&)?(\w+)(?:\[.*\])? = .*)");
  std::map<std::string, std::string> without;  // name -> line
  std::set<std::string> with;
  std::smatch match;
  std::vector<std::string> lines;
  for (const std::string_view line : linesOf(text)) lines.emplace_back(line);
  for (const std::string& line : lines) {
    if (!std::regex_match(line, match, declared)) continue;
    if (match[2].matched)
      with.insert(match[1]);
    else
      without[match[1]] = line;
  }
  for (const std::string& line : lines) {
    if (!std::regex_match(line, match, written) || !without.contains(match[1])) continue;
    const std::string name = match[1];
    if (!std::regex_match(line, match, copied) || !with.contains(match[2])) return without.at(name);
  }
  return "";
}

// They have a CUDA text, too: arrays of each thread have sizes that are known, and values from the start. (ptxas read
// one register for another where neither had a value in some threads: the program of seed 90012116.)
KernelWay cudaWayWithText(uint64_t seed) {
  KernelWay way = cudaWay(seed);
  way.on_kernel = [seed](const PreparedKernel& prepared) {
    const KernelSource source = kernelSource(prepared.kernel, Dialect::Cuda, DataType::I64);
    EXPECT_EQ(declarationWithoutValue(source.text), "") << "seed " << seed << "\n" << source.text;
  };
  return way;
}

TEST(KernelPrograms, InterpretedKernelsForGpusAgreeWithTheReference) { expectKernelsAgree(cudaWayWithText); }

// A column of one row that is reduced, beside one of i0 * i0 rows that are read twice.
TEST(KernelPrograms, ColumnsLongerThanTheReducedOneAreNotKept) {
  constexpr uint64_t kSeed = 150023581;
  const Program program = drawProgram(kSeed, {.max_ops = 12, .max_elements = 512});
  KernelTally tally;
  const auto problem = problemOf(program, cudaWayWithText(kSeed), tally);
  EXPECT_FALSE(problem.has_value()) << problem->kind << "\n" << problem->text;
}

Program withInputs(Program program, Layout layout) {
  for (Node& node : program.nodes) {
    if (node.kind == NodeKind::TensorInput) node.layout = layout;
  }
  return program;
}

TEST(KernelPrograms, InterpretedKernelsInSmallBlocksAgreeWithTheReference) { expectKernelsAgree(smallCudaWay); }

// What is chosen for a kernel never shows in its results: target, schedule and its parameters (widths of accesses,
// threads, batches, chunks), what is known of extents, whether inputs are contiguous, and how many bits indices have.
// Extents are small: so the rule that chooses 32 bits is asked about fewer, too. All are compared with the reference,
// whose bounds are 0 where programs are exact.
TEST(KernelPrograms, ChoicesDoNotChangeResults) {
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1) + 3000000;
  const int64_t wanted = static_cast<int64_t>(fromEnvironment("TOKAMAK_CHOICE_PROGRAMS", 500));
  KernelTally tally;
  int64_t groups = 0;
  for (uint64_t seed = first; groups < wanted; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 8, .max_elements = 128});
    const int64_t refused = tally.refused;
    int ways = 0;
    // Even and odd seeds have other extent policies on the processor.
    for (KernelWay way : {cpuWay(seed), cpuWay(seed + 1), cudaWay(seed), cudaWay(seed + 1), smallCudaWay(seed)}) {
      way.index_bits = ++ways % 2 == 0 ? 32 : 5 + static_cast<int>(seed % 8);
      for (const Layout layout : {Layout::Contiguous, Layout::Sliced}) {
        const Program laid_out = withInputs(program, layout);
        const auto problem = problemOf(laid_out, way, tally);
        ASSERT_FALSE(problem.has_value()) << "seed " << seed << ": " << problem->kind << "\n"
                                          << problem->text << printFusion(*build(laid_out));
      }
    }
    if (tally.refused == refused) ++groups;
  }
  std::cout << groups << " groups of choices, " << tally.programs - tally.refused << " kernels, " << tally.elements
            << " elements, " << tally.narrow << " with indices of few bits\n";
  const int64_t kernels = tally.programs - tally.refused;
  EXPECT_GT(tally.narrow, kernels / 2);
  EXPECT_LT(tally.narrow, kernels * 9 / 10);
}

// The injected bug: indices have too few bits, as if the rule that chooses them had said that these are enough.
TEST(KernelPrograms, IndicesOfTooFewBitsAreSeen) {
  const auto wanted = static_cast<int64_t>(fromEnvironment("TOKAMAK_CHOICE_PROGRAMS", 200));
  int64_t kernels = 0;
  int64_t seen = 0;
  for (uint64_t seed = 1; kernels < wanted; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 8, .max_elements = 512});
    KernelTally tally;
    KernelWay way = cudaWay(seed);
    way.on_kernel = [&](const PreparedKernel& prepared) {
      int bits = 32;
      if (!kir::areIndicesWithin(prepared.kernel, prepared.bindings, bits)) return;
      while (bits > 3 && kir::areIndicesWithin(prepared.kernel, prepared.bindings, bits - 1)) --bits;
      const std::vector<InputData> inputs = drawData(program, program.seed);
      const std::unique_ptr<Fusion> fusion = build(program);
      const CaseLaunch launch(*fusion, inputs, way.recipe);
      const auto findings = [&](int index_bits) {
        return launch.run(launch.prepared().kernel, launch.prepared().bindings, {.index_bits = index_bits}).findings;
      };
      EXPECT_THAT(findings(bits), testing::IsEmpty()) << "seed " << seed << "\n" << kir::printKernel(prepared.kernel);
      ++kernels;
      // Fewer bits may do: intervals are wider than what comes up, of threads beyond a guard for one.
      if (!findings(bits - 2).empty()) ++seen;
    };
    const auto problem = problemOf(program, way, tally);
    ASSERT_FALSE(problem.has_value()) << "seed " << seed << ": " << problem->kind << "\n" << problem->text;
  }
  std::cout << seen << " of " << kernels << " kernels whose indices lack two bits are seen\n";
  EXPECT_GT(2 * seen, kernels);
}

TEST(KernelPrograms, KernelsAgreeOnTheGpu) {
  if (const std::string reason = reasonForNoCuda(); !reason.empty()) GTEST_SKIP() << reason;
  CudaRunner runner;
  expectKernelsAgree([&](uint64_t seed) {
    KernelWay way = cudaWay(seed);
    way.run_elsewhere = [&, seed](const PreparedKernel& prepared, std::span<const KernelBuffer> buffers) {
      std::cout << "at " << seed << std::endl;  // the last one is the one that does not end
      // Half of the kernels have the wide indices that they do not need.
      const DataType chosen = kir::indexTypeOf(prepared.kernel, prepared.bindings);
      runner.run(prepared, seed % 2 == 0 ? DataType::I64 : chosen, buffers);
    };
    return way;
  });
}

// What NVRTC makes of the CUDA text of random kernels: it compiles, and nothing is kept in local memory for want of
// registers.
TEST(KernelPrograms, CudaTextCompiles) {
  std::unique_ptr<NvrtcCompiler> compiler;
  try {
    compiler = std::make_unique<NvrtcCompiler>();
  } catch (const Error& error) {
    GTEST_SKIP() << error.message();
  }
  const uint64_t count = fromEnvironment("TOKAMAK_FUZZ_CUDA_PROGRAMS", 150);
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);
  KernelTally tally;
  int64_t compiled = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 12, .max_elements = 512});
    KernelWay way = cudaWay(seed);
    way.on_kernel = [&](const PreparedKernel& prepared) {
      const KernelSource source =
          kernelSource(prepared.kernel, Dialect::Cuda,
                       seed % 4 == 0 ? DataType::I64 : kir::indexTypeOf(prepared.kernel, prepared.bindings));
      const auto cubin = compiler->compile(compilationUnit({&source, 1}, Dialect::Cuda));
      ++compiled;
      for (const KernelResources& kernel : cubin->resources)
        EXPECT_EQ(kernel.spill_store_bytes, 0) << "seed " << seed << "\n" << source.text;
    };
    const auto problem = problemOf(program, way, tally);
    ASSERT_FALSE(problem.has_value()) << "seed " << seed << ": " << problem->kind << "\n" << problem->text;
  }
  std::cout << compiled << " kernels compiled by " << compiler->version() << "\n";
  EXPECT_GT(compiled, static_cast<int64_t>(count) / 3);
}

}  // namespace
}  // namespace tokamak
