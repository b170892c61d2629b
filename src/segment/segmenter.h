// The segmenter: divides a fusion into groups of ops. The caller's rules say which ops may be a group.
#pragma once

#include <functional>
#include <vector>

#include "ir/fusion.h"

namespace tokamak {

/// Ops that run together, with the tensors that they exchange with others.
struct SegmentedGroup {
  std::vector<Expr*> exprs;          ///< in program order
  std::vector<TensorView*> inputs;   ///< tensors that they read and do not compute, each once, in order of first use
  std::vector<TensorView*> outputs;  ///< tensors that others read, and outputs of the fusion, in program order
};

/// Which ops may be one group.
struct MergeRules {
  /// Whether the op always is a group of its own (but for fixed groups).
  std::function<bool(const Expr&)> stays_alone;
  /// Whether the ops can be one group. It is called for every resulting group of several ops, and seldom for others. A
  /// refused set of ops is assumed to be refused as a part of a larger one, too.
  std::function<bool(const SegmentedGroup&)> may_be_group;
  /// Optional: whether groups of only such ops are hardly ever refused. may_be_group is called for them only when they
  /// are complete.
  std::function<bool(const Expr&)> is_rarely_refused = {};
  /// Groups that are not to be asked about, each in topological order. All ops but the first read results of the group
  /// only, and others read the last one's result only. stays_alone has to be true of them.
  std::vector<std::vector<Expr*>> fixed_groups = {};
};

/// Greedy, in program order: an op joins the groups of the ops that it reads, as long as the rules accept it and no
/// cycle arises. Groups are in topological order, by their last ops. Calls of the rules take O(n log n) ops together.
std::vector<SegmentedGroup> segment(const Fusion& fusion, const MergeRules& rules);

}  // namespace tokamak
