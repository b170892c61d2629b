// lower-streams: an axis marked Stream becomes a host loop whose iterations are distributed over streams.
#pragma once

#include <vector>

#include "host/ir/host_ir_container.h"
#include "host/lower/stream_transfers.h"

namespace tokamak {

/// How a stream loop is tied to the caller's stream.
enum class StreamSync : uint8_t {
  Hoisted,  ///< all workers wait for the caller's stream before the working loop starts
  /// Every iteration waits for the caller's stream: nothing overlaps. For comparison.
  InLoop,
};

/// Before: top-level math statements in order; some outputs have one loop axis marked Stream. After: each such
/// statement is in a loop over that axis, on slices; consecutive statements whose axes map share a loop.
/// It runs after resharding, whose communications it streams, too, and before the buffer passes.
/// With `transfers` loops along an axis of which devices have parts exchange these from rank to rank.
/// Errors: HostProgram, with the tensor and the axis, for illegal marks (docs/streams.md lists them).
void lowerStreams(HostIrContainer& program, StreamSync sync, StreamTransfers transfers = StreamTransfers::None);

/// The marked results of a program of single ops that are computed whole, before the loop that reads them: results of
/// ops that cannot be sliced, and of ops that only move elements of such results. Errors: as lowerStreams().
std::vector<TensorView*> computedWhole(HostIrContainer& program);

}  // namespace tokamak
