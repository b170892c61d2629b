#include "lower/pipeline.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

#include "base/error.h"
#include "base/ranges.h"
#include "kernel/complete_kernel.h"
#include "kernel/verify_kernel.h"
#include "lower/async_copies.h"
#include "lower/circular_buffers.h"
#include "lower/combine_clusters.h"
#include "lower/cut_loops.h"
#include "lower/fuse_products.h"
#include "lower/group_combines.h"
#include "lower/hoist_values.h"
#include "lower/insert_barriers.h"
#include "lower/jam_loops.h"
#include "lower/join_ones.h"
#include "lower/merge_choices.h"
#include "lower/order_updates.h"
#include "lower/part_sums.h"
#include "lower/share_reciprocals.h"
#include "lower/split_remainders.h"
#include "lower/tabulate_values.h"
#include "lower/tighten_loops.h"
#include "lower/unswitch_loops.h"
#include "lower/vectorize_accesses.h"

namespace tokamak {

namespace {

#if defined(TOKAMAK_VERIFY_KERNELS) || !defined(NDEBUG)
constexpr bool kVerifiesByBuild = true;
#else
constexpr bool kVerifiesByBuild = false;
#endif

// In such builds that is most of the time that a kernel takes; who measures says TOKAMAK_VERIFY_KERNELS=0.
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

// Sums are cut as long as their loops are what the schedule says. Barriers come before the rest: the passes after them
// leave loops around barriers alone. Guards leave vector loops before accesses are looked at.
constexpr KernelPass kPasses[] = {
    {"part-sums", "long sums of single threads are made in parts", partSums},
    {"order-updates", "what is written into an input is stored behind what reads the input", orderUpdates},
    {"group-combines", "values that threads combine side by side are combined together", groupCombines},
    {"insert-barriers", "barriers where threads of a block exchange values through shared memory", insertBarriers},
    {"circular-buffers", "buffers are filled for the next turns of a loop while this one computes", circularBuffers},
    {"tighten-loops", "guards leave the loops around them, or become their ends", tightenLoops},
    {"cut-loops", "loops of single threads are cut where choices by their index change", cutLoops},
    {"split-remainders", "what is less than a common unit of all else leaves the divisions and comparisons of indices",
     splitRemainders},
    {"unswitch-loops", "vector loops that choose by what they do not change become one loop per choice", unswitchLoops},
    {"merge-choices", "choices between like computations become one computation of chosen operands", mergeChoices},
    {"tabulate-values", "what only depends on the index of an innermost loop is computed before the loops around it",
     tabulateValues},
    {"vectorize-accesses", "what a Vectorize loop reads and writes in memory moves in wide accesses",
     vectorizeAccesses},
    {"async-copies",
     "copies from inputs to shared memory are asynchronous, and waited for before what they bring is read",
     asyncCopies},
    {"share-reciprocals", "quotients by what a loop does not change become products where they are rounded anyway",
     shareReciprocals},
    {"join-ones", "erf and tanh that are only added to 1, or squared and taken from 1, are computed together with it",
     joinOnes},
    {"fuse-products", "products that are only added to something are multiplied and added in one step", fuseProducts},
    {"jam-loops", "loops of single threads over rows that add to a result per column take several rows at a time",
     jamLoops},
    {"hoist-values",
     "what the loops of single threads do not change is computed before them, what others read by choice as well",
     hoistValues},
    {"combine-clusters", "what is combined across a cluster goes through the shared memory of its blocks",
     combineClusters},
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
