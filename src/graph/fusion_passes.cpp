#include "graph/fusion_passes.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "graph/fold_casts.h"
#include "graph/merge_equal.h"
#include "graph/remove_dead.h"

namespace tokamak {

namespace {

constexpr FusionPass kPasses[] = {
    {"fold-casts", "Takes away casts whose work another cast undoes or does again, where no value is lost.", foldCasts},
    {"merge-equal", "Computes once what is computed several times in the same way.", mergeEqual},
    {"remove-dead", "Takes away expressions that no output depends on.", removeDead},
};

}  // namespace

std::span<const FusionPass> fusionPasses() { return kPasses; }

const FusionPass& fusionPass(std::string_view name) {
  const auto* found = std::ranges::find(kPasses, name, &FusionPass::name);
  std::vector<std::string_view> names;
  for (const FusionPass& pass : kPasses) names.push_back(pass.name);
  TK_REQUIRE(found != std::end(kPasses), Usage, "{}: no pass has this name; passes are {}", name,
             fmt::join(names, ", "));
  return *found;
}

}  // namespace tokamak
