#include "host/lower/stream_axis.h"

#include "base/require.h"
#include "ir/rfactor_chain.h"

namespace tokamak {

namespace {

StreamAxis resolve(const TensorView& tensor, IterDomain& marked) {
  StreamAxis result;
  result.loop_axis = &marked;
  IterDomain* axis = &marked;
  while (axis->definition() != nullptr) {
    const DomainExpr& step = *axis->definition();
    TK_REQUIRE(step.kind != DomainExprKind::Swizzle, HostProgram,
               "Stream on {}: parts of a swizzled axis are not a view of the buffer; mark an axis that is not swizzled",
               describeAxis(tensor, marked));
    if (step.kind == DomainExprKind::Merge) {
      TK_REQUIRE(result.chunk == nullptr, HostProgram,
                 "Stream on {}: parts of a merged axis are not a view of the buffer; mark the merged axis itself",
                 describeAxis(tensor, marked));
      TK_REQUIRE(
          step.in[0]->definition() == nullptr && step.in[1]->definition() == nullptr, HostProgram,
          "Stream on {}: it merges axes that are split or merged themselves; two axes of the tensor may be merged",
          describeAxis(tensor, marked));
      TK_REQUIRE(!step.in[0]->isReduction() && !step.in[1]->isReduction(), HostProgram,
                 "Stream on {}: it merges a reduction axis, which cannot be streamed", describeAxis(tensor, marked));
      TK_REQUIRE(step.in[0]->expandedExtent() == nullptr && step.in[1]->expandedExtent() == nullptr, HostProgram,
                 "Stream on {}: it merges an expanded axis, which repeats one element; mark the other axis",
                 describeAxis(tensor, marked));
      result.form = StreamAxis::Form::Merged;
      result.logical = step.in[0];
      result.inner = step.in[1];
      return result;
    }
    TK_REQUIRE(axis == step.out[0], HostProgram,
               "Stream on {}: it is the inner part of a split, whose indices are not consecutive in the tensor; mark "
               "the outer part",
               describeAxis(tensor, marked));
    Fusion& fusion = tensor.fusion();
    Scalar* inner = step.out[1]->extent();
    result.chunk = result.chunk == nullptr ? inner : fusion.mul(result.chunk, inner);
    result.form = StreamAxis::Form::Chunk;
    // 4 parts of 5 indices are chunks of 2: the last one starts at 6.
    result.may_pass_end = result.may_pass_end || !step.is_inner_factor;
    axis = step.in[0];
  }
  result.logical = axis;
  return result;
}

}  // namespace

std::optional<StreamAxis> findStreamAxis(const TensorView& tensor) {
  IterDomain* marked = nullptr;
  for (IterDomain* axis : tensor.loop()) {
    if (!axis->isStream()) continue;
    TK_REQUIRE(marked == nullptr, HostProgram, "Stream on {} and on {}: a tensor can be streamed along one axis only",
               describeAxis(tensor, *marked), describeAxis(tensor, *axis));
    marked = axis;
  }
  if (marked == nullptr) return std::nullopt;
  TK_REQUIRE(!isRfactorPart(tensor) && !rfactorChainOf(tensor), HostProgram,
             "Stream on {}: it belongs to a reduction that rfactor has cut, whose parts one kernel computes; leave "
             "rfactor out, and mark the reduction",
             describeAxis(tensor, *marked));
  const StreamAxis result = resolve(tensor, *marked);
  TK_REQUIRE(!marked->isReduction() && !result.logical->isReduction(), HostProgram,
             "Stream on {}: it is a reduction axis; its iterations would all write the same elements",
             describeAxis(tensor, *marked));
  return result;
}

}  // namespace tokamak
