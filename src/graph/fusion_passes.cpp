#include "graph/fusion_passes.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/profiler_range.h"
#include "base/require.h"
#include "base/text.h"
#include "graph/fold_casts.h"
#include "graph/fold_empties.h"
#include "graph/fold_movement.h"
#include "graph/fold_ranges.h"
#include "graph/infer_stride_order.h"
#include "graph/make_reshardings.h"
#include "graph/merge_equal.h"
#include "graph/propagate_shardings.h"
#include "graph/remove_dead.h"
#include "graph/two_stage_outer_reduction.h"
#include "graph/unify_extents.h"
#include "ir/clone.h"

namespace tokamak {

namespace {

constexpr FusionPass kPasses[] = {
    {"unify-extents", "Replaces symbols that must be equal by one.", unifyExtents},
    {"fold-empties", "Folds ops without elements.", foldEmpties},
    {"fold-casts", "Removes casts that another cast undoes or repeats, if no value is lost.", foldCasts},
    {"fold-movement", "Removes data movement that other data movement undoes or repeats.", foldMovement},
    {"fold-ranges", "Folds slices, pads and concatenations of one another.", foldRanges},
    {"merge-equal", "Merges equal expressions (common subexpression elimination).", mergeEqual},
    {"remove-dead", "Removes expressions that no output depends on.", removeDead},
    {"two-stage-outer-reduction",
     "Splits outer sums of rows that are read for something else, too, into partial sums (132 multiprocessors).",
     [](const Fusion& fusion) { return twoStageOuterReduction(fusion, twoStagePartsOfGpu(132)); }, false},
    {"infer-stride-order", "Gives outputs the stride order of the inputs that they follow, as a hint.",
     inferStrideOrder, false},
    {"propagate-shardings", "Gives tensors without a mesh the meshes and device axes of their neighbours.",
     propagateShardings, false, explainShardings},
    {"make-reshardings", "Makes every op of a program over devices local, by sets between shardings.", makeReshardings,
     false},
};

}  // namespace

std::span<const FusionPass> fusionPasses() { return kPasses; }

std::unique_ptr<Fusion> simplifyFusion(const Fusion& fusion) {
  static const RangeName range_name("simplify fusion");
  const Range range(range_name);
  std::unique_ptr<Fusion> simpler = cloneFusion(fusion);
  for (const FusionPass& pass : kPasses) {
    if (pass.simplifies) simpler = pass.run(*simpler);
  }
  return simpler;
}

const FusionPass& fusionPass(std::string_view name) {
  const auto* found = std::ranges::find(kPasses, name, &FusionPass::name);
  std::vector<std::string_view> names;
  for (const FusionPass& pass : kPasses) names.push_back(pass.name);
  TK_REQUIRE(found != std::end(kPasses), Usage, "{}: no pass has this name; passes are {}", name, joined(names));
  return *found;
}

}  // namespace tokamak
