// Input updates: whether an output is stored to the input that it updates at once, or copied at the end.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "segment/segmenter.h"

namespace tokamak {

/// A copy into an input at the end of the program.
struct LateUpdate {
  TensorView* output = nullptr;
  TensorView* input = nullptr;
  bool is_saved = false;  ///< its source is in an input that an earlier copy overwrites, so it is saved first
};

/// Updates such that nothing reads an input after it has been overwritten: no group, no copy, and no Set that binds it.
struct InputUpdates {
  std::set<const Val*> at_once;  ///< written into the input by the group that computes them
  std::vector<LateUpdate> late;  ///< in the order in which they have to run
};

/// How groups of several ops run.
enum class GroupRuns : uint8_t { OpByOp, AsKernels };

/// The updates for outputs of `fusion` if `groups` run in this order.
InputUpdates planInputUpdates(const Fusion& fusion, std::span<const SegmentedGroup> groups, GroupRuns runs);

}  // namespace tokamak
