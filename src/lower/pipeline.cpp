#include "lower/pipeline.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

#include "base/error.h"
#include "base/profiler_range.h"
#include "kernel/complete_kernel.h"
#include "kernel/verify_kernel.h"
#include "lower/array_expansion.h"
#include "lower/async_copies.h"
#include "lower/batched_block_reductions.h"
#include "lower/blocked_summation.h"
#include "lower/circular_buffers.h"
#include "lower/cluster_reduction.h"
#include "lower/div_mod_simplification.h"
#include "lower/fma_contraction.h"
#include "lower/guard_elimination.h"
#include "lower/in_place_store_ordering.h"
#include "lower/index_set_splitting.h"
#include "lower/insert_barriers.h"
#include "lower/invariant_reciprocals.h"
#include "lower/loop_invariant_code_motion.h"
#include "lower/one_plus_rules.h"
#include "lower/select_sinking.h"
#include "lower/unroll_and_jam.h"
#include "lower/unswitch_loops.h"
#include "lower/vectorize_accesses.h"

namespace tokamak {

namespace {

#if defined(TOKAMAK_VERIFY_KERNELS) || !defined(NDEBUG)
constexpr bool kVerifiesByBuild = true;
#else
constexpr bool kVerifiesByBuild = false;
#endif

// (Verification dominates the time of lowering then; measurements set TOKAMAK_VERIFY_KERNELS=0.)
bool verifiesByItself() {
  static const bool verifies = [] {
    const char* const said = std::getenv("TOKAMAK_VERIFY_KERNELS");
    return said == nullptr ? kVerifiesByBuild : std::string_view(said) != "0";
  }();
  return verifies;
}

void finishPass(std::string_view pass, const kir::Kernel& kernel, const KernelPassOptions& options) {
  using Verify = KernelPassOptions::Verify;
  if (options.verify == Verify::Always || (options.verify == Verify::ByBuild && verifiesByItself())) {
    const auto describe = [&] { return "after pass " + std::string(pass); };
    const ErrorNote note(describe);
    kir::verifyKernel(kernel);
  }
  if (options.after) options.after(pass, kernel);
}

// Why this order: blocked-summation needs the loops of the schedule. Passes after insert-barriers leave loops around
// barriers alone. Guards have to leave vector loops before vectorize-accesses.
constexpr KernelPass kPasses[] = {
    {"blocked-summation", "blocked summation: long sums of single threads are made of sums of blocks",
     blockedSummation},
    {"in-place-store-ordering", "stores into an updated input come after the loads of it", inPlaceStoreOrdering},
    {"batched-block-reductions", "block reductions of a loop become one block reduction of several values",
     batchedBlockReductions},
    {"insert-barriers", "barriers where threads of a block exchange values through shared memory", insertBarriers},
    {"circular-buffers", "buffers are filled for the next iterations of a loop while this one computes",
     circularBuffers},
    {"guard-elimination", "guards leave the loops around them, or become loop bounds", guardElimination},
    {"index-set-splitting", "loops of single threads are split where a choice by their index changes",
     indexSetSplitting},
    {"div-mod-simplification",
     "terms that are less than a common divisor of all others leave divisions, remainders and comparisons",
     divModSimplification},
    {"unswitch-loops", "vector loops that choose by what they do not change become one loop per choice", unswitchLoops},
    {"select-sinking", "a choice between like computations becomes one computation of chosen operands", selectSinking},
    {"array-expansion",
     "loop-invariant code motion with array expansion: values that depend on an inner index alone get a table",
     arrayExpansion},
    {"vectorize-accesses", "what a Vectorize loop reads and writes in memory moves in wide accesses",
     vectorizeAccesses},
    {"async-copies",
     "copies from inputs to shared memory are asynchronous, and waited for before what they bring is read",
     asyncCopies},
    {"invariant-reciprocals",
     "division by a loop-invariant divisor becomes a product, where the result is rounded to a half type anyway",
     invariantReciprocals},
    {"one-plus-rules", "rules for 1 + erf(x), 1 + tanh(x) and 1 - tanh(x)^2: each is one function", onePlusRules},
    {"fma-contraction", "FMA contraction: a product that is only added to something becomes one multiply-add",
     fmaContraction},
    {"unroll-and-jam", "unroll-and-jam: an outer reduction of single threads takes several rows in one iteration",
     unrollAndJam},
    {"loop-invariant-code-motion",
     "loop-invariant values of single threads, and guarded loads of others, are computed before the loop",
     loopInvariantCodeMotion},
    {"cluster-reduction", "reductions over a cluster go through distributed shared memory", clusterReduction},
};

std::array<RangeName, std::size(kPasses)> passNames() {
  std::array<RangeName, std::size(kPasses)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = RangeName(kPasses[i].name);
  return names;
}

}  // namespace

std::span<const KernelPass> kernelPasses() { return kPasses; }

const KernelPass* findKernelPass(std::string_view name) {
  const auto found = std::ranges::find(kernelPasses(), name, &KernelPass::name);
  return found == kernelPasses().end() ? nullptr : &*found;
}

kir::Kernel runKernelPass(const KernelPass& pass, kir::Kernel kernel) {
  kernel = pass.run(std::move(kernel));
  kir::completeKernel(kernel);
  return kernel;
}

kir::Kernel runKernelPasses(kir::Kernel kernel, const KernelPassOptions& options) {
  static const RangeName range_name("kernel passes");
  const Range range(range_name);
  static const std::array pass_names = passNames();
  kir::completeKernel(kernel);
  finishPass("lower", kernel, options);
  for (const KernelPass& pass : kernelPasses()) {
    {
      const Range pass_range(pass_names[static_cast<size_t>(&pass - kernelPasses().data())]);
      kernel = runKernelPass(pass, std::move(kernel));
    }
    finishPass(pass.name, kernel, options);
  }
  return kernel;
}

}  // namespace tokamak
