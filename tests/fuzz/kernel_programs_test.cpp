// Random programs as kernels: the interpreter agrees with the reference and finds nothing wrong.
#include <algorithm>
#include <bit>
#include <iostream>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "codegen/source.h"
#include "generator/cuda_runner.h"
#include "generator/draw_data.h"
#include "generator/draw_program.h"
#include "generator/environment.h"
#include "generator/kernel_case.h"
#include "generator/kernel_launch.h"
#include "generator/minimise.h"
#include "ir/text/fusion_printer.h"
#include "kernel/bind_kernel.h"
#include "kernel/index_type.h"
#include "runtime/compile/kernel_compiler.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/cuda/find_cuda.h"

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
  const uint64_t count = fromEnvironment("TOKAMAK_KERNEL_PROGRAMS", fromEnvironment("TOKAMAK_FUZZ_PROGRAMS", 3500));
  KernelTally tally;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 12, .max_elements = 512});
    const KernelWay way = wayOf(seed);
    const auto problem = problemOf(program, way, tally);
    ASSERT_FALSE(problem.has_value()) << "seed " << seed << ": " << problem->kind << "\n"
                                      << problem->text << "\nminimised:\n"
                                      << minimised(program, way, problem->kind);
  }
  std::cout << tally.programs << " programs, " << tally.refused << " cannot be one kernel, " << tally.ops << " ops, "
            << tally.elements << " elements\n";
  // A few programs may be unlucky.
  constexpr uint64_t kMany = 1000;
  if (count < kMany) return;
  EXPECT_GE(tally.programs - tally.refused, static_cast<int64_t>(count) / 2);
}

// TOKAMAK_FUZZ_PROGRAMS raises the number for longer runs (TOKAMAK_KERNEL_PROGRAMS that of kernels only); TOKAMAK_FUZZ_SEED is the first seed.
TEST(KernelPrograms, InterpretedKernelsAgreeWithTheReference) { expectKernelsAgree(cpuWay); }

// What C compilers make of random kernels, written with vectors.
class CompiledKernels {
 public:
  void run(const PreparedKernel& prepared, std::span<const KernelBuffer> buffers, int lanes) {
    const KernelSource source = kernelSource(prepared.kernel, Dialect::C, DataType::I64, lanes);
    const auto object = compiler_.compile(compilationUnit({&source, 1}, Dialect::C));
    using Entry = void (*)(void* const* buffers, const int64_t* symbols, int64_t first_block, int64_t last_block);
    const auto entry = reinterpret_cast<Entry>(object->symbol(source.entry.c_str()));
    std::vector<void*> addresses;
    for (const KernelBuffer& buffer : buffers) addresses.push_back(buffer.address);
    std::vector<int64_t> symbols;
    for (const Scalar* symbol : prepared.kernel.symbols) {
      const ScalarValue& value = prepared.bindings.at(symbol);
      symbols.push_back(isFloatingType(symbol->dtype()) ? std::bit_cast<int64_t>(asDouble(value)) : asInt(value));
    }
    const kir::Workspace workspace = kir::workspaceOf(prepared.kernel, prepared.bindings);
    std::vector<uint64_t> memory(static_cast<size_t>(workspace.bytes) / sizeof(uint64_t) + 1);
    addresses.push_back(memory.data());
    std::vector<int64_t> blocks(static_cast<size_t>(kir::launchSize(prepared.kernel, prepared.bindings).blocks));
    std::iota(blocks.begin(), blocks.end(), 0);
    // Any of those that share a reduction may be the last.
    if (workspace.bytes > 0) std::ranges::shuffle(blocks, random_);
    for (const int64_t block : blocks) entry(addresses.data(), symbols.data(), block, block + 1);
  }

 private:
  KernelCompiler compiler_;
  std::mt19937_64 random_{1};
};

// Most random kernels have integers, or move data only: those that are written with vectors are compiled, and those in which blocks share a reduction.
TEST(KernelPrograms, CompiledKernelsAgreeWithTheReference) {
  CompiledKernels kernels;
  const uint64_t first = fromEnvironment("TOKAMAK_FUZZ_SEED", 1);
  const uint64_t count = fromEnvironment("TOKAMAK_COMPILED_PROGRAMS", 150);
  KernelTally tally;
  int64_t compiled = 0;
  int64_t together = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = drawProgram(seed, {.max_ops = 12, .max_elements = 4096});
    const int lanes = seed % 4 == 0 ? 8 : 16;
    bool has_vectors = false;
    bool has_blocks_together = false;
    KernelWay way = wideCpuWay(seed);
    way.on_kernel = [&](const PreparedKernel& prepared) {
      const KernelSource source = kernelSource(prepared.kernel, Dialect::C, DataType::I64, lanes);
      has_blocks_together = kir::gridCombineOf(prepared.kernel) != nullptr;
      has_vectors = std::ranges::any_of(source.helpers, [](const std::string& helper) {
        return helper.find("f32x") != std::string::npos || helper.starts_with("turn");
      });
    };
    auto problem = problemOf(program, way, tally);
    together += has_blocks_together ? 1 : 0;
    if (!problem && (has_vectors || has_blocks_together)) {
      way.run_elsewhere = [&](const PreparedKernel& prepared, std::span<const KernelBuffer> buffers) {
        kernels.run(prepared, buffers, lanes);
      };
      problem = problemOf(program, way, tally);
      ++compiled;
    }
    ASSERT_FALSE(problem.has_value()) << "seed " << seed << ": " << problem->kind << "\n" << problem->text;
  }
  std::cout << count << " programs, " << compiled << " compiled, " << together
            << " of them with blocks that share a reduction\n";
  EXPECT_GT(40 * compiled, static_cast<int64_t>(count));
  EXPECT_GT(together, 0);
}

TEST(KernelPrograms, InterpretedKernelsForGpusAgreeWithTheReference) {
  expectKernelsAgree([](uint64_t seed) { return cudaWay(seed); });
}

Program withInputs(Program program, Layout layout) {
  for (Node& node : program.nodes) {
    if (node.kind == NodeKind::TensorInput) node.layout = layout;
  }
  return program;
}

TEST(KernelPrograms, InterpretedKernelsInSmallBlocksAgreeWithTheReference) { expectKernelsAgree(smallCudaWay); }

// What is chosen for a kernel never shows in its results: target, schedule and its parameters (widths of accesses, threads, batches, chunks), what is
// known of extents, whether inputs are contiguous, and how many bits indices have. Extents are small: so the rule that chooses 32 bits is asked about fewer, too. All are compared with the reference, whose bounds are 0 where programs are exact.
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
      const KernelLaunch launch(*fusion, inputs, way.recipe);
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

// What NVRTC makes of the CUDA text of random kernels: it compiles, and nothing is kept in local memory for want of registers.
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
