// How outputs that update inputs get there: written at once, or copied when everything has been computed.
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
  bool is_saved =
      false;  ///< what is copied lies in an input that a copy before this one overwrites: saved before all of them
};

/// Nothing reads what an input was after it has been overwritten: no group, no copy, and no Set that lies in the input
/// because it binds it.
struct InputUpdates {
  std::set<const Val*> at_once;  ///< written into the input by the group that computes them
  std::vector<LateUpdate> late;  ///< in the order in which they have to run
};

/// How the groups run in which several ops are.
enum class GroupRuns : uint8_t { OpByOp, AsKernels };

/// For the outputs of `fusion` that update an input, when `groups` run in this order.
InputUpdates planInputUpdates(const Fusion& fusion, std::span<const SegmentedGroup> groups, GroupRuns runs);

}  // namespace tokamak
