// The segmenter: cuts a fusion into groups of ops; which ops may be one group is said by rules that the caller gives.
#pragma once

#include <functional>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// Ops that run together, and what they exchange with the others.
struct SegmentedGroup {
  std::vector<Expr*> exprs;          ///< in program order
  std::vector<TensorView*> inputs;   ///< what they read and do not compute, each once, in order of first use
  std::vector<TensorView*> outputs;  ///< what others read or the fusion gives, in program order
};

/// Which ops may be one group.
struct MergeRules {
  /// Whether the op is a group of its own, whatever else is said.
  std::function<bool(const Expr&)> stays_alone;
  /// Whether the ops can be one group. Asked for every group of several ops that comes out, and about as few others as
  /// possible. A set of ops that is refused is taken to be refused also as a part of a larger one.
  std::function<bool(const SegmentedGroup&)> may_be_group;
  /// Optional: whether groups of ops of this kind alone are practically never refused. They are asked about only when
  /// they are complete.
  std::function<bool(const Expr&)> joins_freely = {};
  /// Ops that are one group whatever else is said: of each list, all but the first read nothing but what others of the
  /// list give, and nobody outside reads that of any but the last; each stands behind those it reads. stays_alone is
  /// true of them.
  std::vector<std::vector<Expr*>> wholes = {};
};

/// Goes through the ops in program order; each joins the groups of the ops that it reads, as long as the rules accept
/// it and no cycle between groups arises. The groups come in topological order, by their last ops. The questions
/// together are about O(n log n) ops.
std::vector<SegmentedGroup> segment(const Fusion& fusion, const MergeRules& rules);

}  // namespace tokamak
