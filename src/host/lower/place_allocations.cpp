#include <unordered_set>

#include "host/lower/buffer_passes.h"
#include "host/lower/stream_scalars.h"
#include "ir/ops/host/allocate.h"
#include "ir/ops/host/post_on_stream.h"
#include "ir/ops/math/load_store_op.h"

namespace tokamak {

void placeAllocations(HostIrContainer& program) {
  std::unordered_set<const TensorView*> known;
  for (Val* input : program.inputs()) known.insert(asTensor(input));
  forEachStatement(program.topLevel(), [&](const Expr& expr) {
    if (const auto* allocate = expr.as<Allocate>()) known.insert(program.resolveAlias(allocate->buffer));
  });
  Block placed;
  for (Expr* expr : program.topLevel().exprs) {
    for (TensorView* out : computesResults(*expr) ? tensorsOf(expr->outputs()) : std::vector<TensorView*>{}) {
      TensorView* root = program.resolveAlias(out);
      const auto* set = expr->as<LoadStoreOp>();
      const bool binds = set != nullptr && !program.isOutput(out) && set->in->memoryKind() == out->memoryKind();
      if (binds || program.isView(out) || !known.insert(root).second) continue;
      placed.exprs.push_back(program.appendOp(Allocate{out, elementCount(program, *out), false, false}));
    }
    placed.exprs.push_back(expr);
  }
  program.setTopLevel(std::move(placed));
}

}  // namespace tokamak
