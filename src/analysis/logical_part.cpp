#include "analysis/logical_part.h"

#include "base/require.h"
#include "ir/rfactor_chain.h"

namespace tokamak {

namespace {

void requireMergeable(const TensorView& tensor, const IterDomain& marked, const DomainExpr& merge) {
  const std::string_view mark = parallelTypeName(marked.parallelType());
  TK_REQUIRE(merge.in[0]->definition() == nullptr && merge.in[1]->definition() == nullptr, HostProgram,
             "{} on {}: it merges axes that are split or merged themselves; two axes of the tensor may be merged", mark,
             describeAxis(tensor, marked));
  TK_REQUIRE(!merge.in[0]->isReduction() && !merge.in[1]->isReduction(), HostProgram,
             "{} on {}: it merges a reduction axis, which cannot be {}", mark, describeAxis(tensor, marked),
             marked.isStream() ? "streamed" : "sharded");
  TK_REQUIRE(merge.in[0]->expandedExtent() == nullptr && merge.in[1]->expandedExtent() == nullptr, HostProgram,
             "{} on {}: it merges an expanded axis, which repeats one element; mark the other axis", mark,
             describeAxis(tensor, marked));
}

}  // namespace

LogicalPart logicalPartOf(const TensorView& tensor, IterDomain& marked) {
  const std::string_view mark = parallelTypeName(marked.parallelType());
  LogicalPart part;
  part.loop_axis = &marked;
  IterDomain* axis = &marked;
  while (axis->definition() != nullptr) {
    const DomainExpr& step = *axis->definition();
    TK_REQUIRE(step.kind != DomainExprKind::Swizzle, HostProgram,
               "{} on {}: parts of a swizzled axis are not a view of the buffer; mark an axis that is not swizzled",
               mark, describeAxis(tensor, marked));
    if (step.kind == DomainExprKind::Merge) {
      TK_REQUIRE(part.chunk == nullptr, HostProgram,
                 "{} on {}: parts of a merged axis are not a view of the buffer; {}", mark,
                 describeAxis(tensor, marked),
                 marked.isStream() ? "mark the merged axis itself" : "split and mark one of the axes before the merge");
      requireMergeable(tensor, marked, step);
      part.form = LogicalPart::Form::Merged;
      part.logical = step.in[0];
      part.inner = step.in[1];
      return part;
    }
    TK_REQUIRE(axis == step.out[0], HostProgram,
               "{} on {}: it is the inner part of a split, whose indices are not consecutive in the tensor; mark the "
               "outer part",
               mark, describeAxis(tensor, marked));
    // An expanded axis is stored once: a stream loop has one iteration over it. Devices have parts of what it shows.
    Scalar* inner = marked.isStream() ? step.out[1]->extent() : step.out[1]->visibleExtent();
    part.chunk = part.chunk == nullptr ? inner : tensor.fusion().mul(part.chunk, inner);
    part.form = LogicalPart::Form::Chunk;
    // 4 parts of 5 indices are chunks of 2: the last one starts at 6.
    part.may_pass_end = part.may_pass_end || !step.is_inner_factor;
    axis = step.in[0];
  }
  part.logical = axis;
  return part;
}

void requireUncut(const TensorView& tensor, const IterDomain& marked) {
  TK_REQUIRE(!isRfactorPart(tensor) && !rfactorChainOf(tensor), HostProgram,
             "{} on {}: it belongs to a reduction that rfactor has cut, whose parts one kernel computes; leave rfactor "
             "out, and mark the reduction",
             parallelTypeName(marked.parallelType()), describeAxis(tensor, marked));
}

}  // namespace tokamak
