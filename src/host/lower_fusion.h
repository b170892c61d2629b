// From a fusion to a host program: docs/host_programs.md tells the steps.
#pragma once

#include <functional>
#include <memory>

#include "host/host_ir_container.h"
#include "host/lower_streams.h"
#include "segment/segmenter.h"

namespace tokamak {

enum class Grouping : uint8_t {
  Single,  ///< each op alone
  Units,   ///< ops that need not stand alone are merged maximally into host units
  Fused,   ///< ops are merged as long as they can be one kernel
};

/// False as soon as one of the two groups holds an op that stands alone.
bool mayMergeInHostProgram(const SegmentedGroup& producer, const SegmentedGroup& consumer);

/// Clones the fusion's live ops, in topological order, into a program: ops that stand alone as statements, other groups (of
/// more than one op) as PostOnStream. All its tensors are Global; outputs that update an input become aliases of it.
std::unique_ptr<HostIrContainer> makeHostProgram(const Fusion& fusion, Grouping grouping);

struct HostLoweringOptions {
  Grouping grouping = Grouping::Single;
  StreamSync stream_sync = StreamSync::Hoisted;
  /// Called with the program as lower-streams left it, before the buffer passes.
  std::function<void(const HostIrContainer&)> after_streams = {};
};

/// lower-streams and the passes after it, on a program that makeHostProgram made or a text holds.
void finishHostProgram(HostIrContainer& program, const HostLoweringOptions& options);

/// The whole way: makeHostProgram, lower-streams, rotate-stream-buffers, place-allocations, insert-deallocations.
std::unique_ptr<HostIrContainer> lowerToHostProgram(const Fusion& fusion, const HostLoweringOptions& options);

}  // namespace tokamak
