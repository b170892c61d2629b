// lower-streams: an axis marked Stream becomes a host loop whose iterations are dealt out to streams.
#pragma once

#include <vector>

#include "host/ir/host_ir_container.h"

namespace tokamak {

/// How a stream loop is tied to the caller's stream.
enum class StreamSync : uint8_t {
  Hoisted,  ///< all workers wait for the caller's stream before the working loop starts
  /// Every iteration catches the caller's stream and waits for it: overlaps nothing, exists to be compared with.
  InLoop,
};

/// Before: top-level math statements in order; some of their outputs have one loop axis marked Stream. After: every
/// such statement is in the body of a loop over that axis, on slices; neighbours whose data goes along share a loop.
/// Stands after resharding, whose communications it streams too, and before buffer passes, which see its Allocates.
/// Errors: HostProgram, naming the tensor and the axis, for marks that cannot be honoured (docs/streams.md lists them).
void lowerStreams(HostIrContainer& program, StreamSync sync);

/// Of a program of single ops: marked results that are computed whole where ops become kernels, before the loop that
/// reads them if there is one: those of ops that cannot be dealt out, and of ops that only move elements of such.
/// Errors: as lowerStreams().
std::vector<TensorView*> computedWhole(HostIrContainer& program);

}  // namespace tokamak
