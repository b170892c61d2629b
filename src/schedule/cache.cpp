#include "schedule/cache.h"

#include <algorithm>

#include "base/require.h"
#include "define/operand.h"
#include "ir/fusion.h"
#include "ir/ops/math/load_store_op.h"
#include "ir/rewrite.h"
#include "schedule/inline.h"
#include "schedule/shared_loops.h"

namespace tokamak {

namespace {

// Keeps a device mark, which is part of the tensor's meaning; other marks are schedule.
IterDomain* copyOf(const IterDomain& axis) {
  const ParallelType type = axis.parallelType();
  const bool is_device = type >= ParallelType::DIDx && type <= ParallelType::DIDz;
  return axis.fusion().axis({.kind = axis.kind(),
                             .extent = axis.extent(),
                             .expanded_extent = axis.expandedExtent(),
                             .parallel = is_device ? type : ParallelType::Serial});
}

TensorView* tensorLike(const TensorView& tensor, const Axes& axes) {
  Axes copies;
  for (const IterDomain* axis : axes) copies.push_back(copyOf(*axis));
  TensorView* made = tensor.fusion().tensor(tensor.dtype(), std::move(copies));
  made->setMesh(tensor.mesh());
  made->setPartials(tensor.partials());
  return made;
}

// (A copy has no reduction axes.)
void dropReductions(TensorDomain& domain) {
  std::vector<std::optional<bool>> contiguity;
  const Axes& layout = domain.allocation.empty() ? domain.logical : domain.allocation;
  for (size_t i = 0; i < layout.size(); ++i) {
    if (!layout[i]->isReduction()) contiguity.push_back(domain.contiguity[i]);
  }
  domain.contiguity = std::move(contiguity);
  for (Axes* axes : {&domain.logical, &domain.loop, &domain.allocation}) *axes = withoutReductions(*axes);
}

void insertAfter(const Expr& place, std::unique_ptr<Expr> expr) {
  Fusion& fusion = place.fusion();
  const std::vector<Expr*> all = fusion.allExprs();
  const auto next = static_cast<size_t>(place.id()) + 1;
  if (next == all.size())
    fusion.append(std::move(expr));
  else
    fusion.insertBefore(all[next], std::move(expr));
}

std::unique_ptr<Expr> makeCopy(TensorView* out, TensorView* in, CacheOp op) {
  return std::make_unique<OpNode<LoadStoreOp>>(LoadStoreOp{.out = out, .in = in, .cache_op = op});
}

void requireNotFactored(std::string_view command, const TensorView& tensor) {
  TK_REQUIRE(tensor.domain().root.empty(), Schedule, "{}: {} comes from an rfactor; make caches before", command,
             toString(tensor));
}

void requireNotInlined(std::string_view command, const TensorView& tensor, int64_t shared) {
  TK_REQUIRE(shared == 0, Schedule, "{}: the first {} loops of {} are shared with other tensors; make caches before",
             command, shared, toString(tensor));
}

void requireComputed(std::string_view command, const TensorView& tensor) {
  TK_REQUIRE(tensor.definition() != nullptr, Schedule,
             "{}: {} is not computed by the fusion; cache_after is for inputs", command, toString(tensor));
  requireNotFactored(command, tensor);
  requireNotInlined(command, tensor, sharedLoopCount(tensor));
  TK_REQUIRE(tensor.loop() == tensor.logical(), Schedule, "{}: {} is scheduled already; make caches before", command,
             toString(tensor));
}

// The tensor's expression now computes a new tensor, of which the tensor becomes a copy.
TensorView* redefineAsCopy(TensorView* tensor, CacheOp op) {
  TensorView* made = tensorLike(*tensor, tensor->logical());
  const Expr* definition = replaceVal(tensor->definition(), tensor, made);
  dropReductions(tensor->mutableDomain());
  insertAfter(*definition, makeCopy(tensor, made, op));
  return made;
}

void redirect(const std::vector<Expr*>& uses, TensorView* from, TensorView* to) {
  for (Expr* use : uses) replaceVal(use, from, to);
}

std::vector<Expr*> usesOf(const TensorView& tensor) { return {tensor.uses().begin(), tensor.uses().end()}; }

}  // namespace

TensorView* cache_before(TensorView* tensor, CacheOp op) {
  requireGiven("cache_before", {{"tensor", tensor}});
  requireComputed("cache_before", *tensor);
  return redefineAsCopy(tensor, op);
}

TensorView* cache_after(TensorView* tensor, CacheOp op) {
  requireGiven("cache_after", {{"tensor", tensor}});
  const Fusion& fusion = tensor->fusion();
  TK_REQUIRE(!tensor->uses().empty(), Schedule, "cache_after: nothing reads {}; cache_before is for outputs",
             toString(*tensor));
  TK_REQUIRE(!fusion.isOutput(tensor) || fusion.isInput(tensor), Schedule,
             "cache_after: {} is an output of the fusion; cache_fork is for outputs that are read inside",
             toString(*tensor));
  requireNotFactored("cache_after", *tensor);
  requireNotInlined("cache_after", *tensor, tensor->inlinePosition());
  const std::vector<Expr*> uses = usesOf(*tensor);
  TensorView* made = tensorLike(*tensor, shapeOf(*tensor));
  tensor->fusion().insertBefore(uses.front(), makeCopy(made, tensor, op));
  redirect(uses, tensor, made);
  return made;
}

TensorView* cache_fork(TensorView* tensor) {
  requireGiven("cache_fork", {{"tensor", tensor}});
  requireComputed("cache_fork", *tensor);
  TK_REQUIRE(tensor->fusion().isOutput(tensor), Schedule,
             "cache_fork: {} is no output; cache_after is for such a tensor", toString(*tensor));
  TK_REQUIRE(!tensor->uses().empty(), Schedule, "cache_fork: nothing reads {}; cache_before is for such an output",
             toString(*tensor));
  const std::vector<Expr*> uses = usesOf(*tensor);
  TensorView* made = redefineAsCopy(tensor, LoadStoreOp{}.cache_op);
  redirect(uses, tensor, made);
  return made;
}

}  // namespace tokamak
