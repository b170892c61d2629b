#include "segment/recompute_factor.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <vector>

#include "ir/elementwise.h"
#include "ir/ops/math/broadcast_op.h"
#include "ir/ops/math/reduction_op.h"
#include "ir/ops/math/squeeze_op.h"

namespace tokamak {

// Whether the op reads its operand at the index of its result, but for axes of extent 1.
static bool keepsIndices(const Expr& expr) {
  return isElementwise(expr) || expr.is<BroadcastOp>() || expr.is<SqueezeOp>();
}

// Indices are numbered: for each index at which its result is read, an op that moves elements makes a new index for
// each operand.
int64_t recomputeFactor(const Fusion& fusion, int64_t most) {
  std::map<const Val*, std::set<int64_t>> places;
  int64_t next = 0;
  int64_t largest = 1;
  for (const TensorView* output : fusion.outputs()) places[output] = {0};
  const std::vector<Expr*> exprs = fusion.exprs();
  for (const Expr* expr : exprs | std::views::reverse) {
    std::set<int64_t> read;
    for (const Val* output : expr->outputs()) read.insert(places[output].begin(), places[output].end());
    if (expr->is<ReductionOp>()) read = {0};
    for (const TensorView* operand : tensorsOf(expr->inputs())) {
      std::set<int64_t>& all = places[operand];
      for (const int64_t place : read) all.insert(keepsIndices(*expr) ? place : ++next);
      const Expr* definition = operand->definition();
      if (definition == nullptr || definition->is<ReductionOp>()) continue;
      largest = std::max(largest, static_cast<int64_t>(all.size()));
      if (largest > most) return most + 1;
    }
  }
  return largest;
}

}  // namespace tokamak
