// Places intermediates in one arena per memory kind: buffers whose uses are ordered may share bytes.
#pragma once

#include "host/check/step_list.h"

namespace tokamak {

/// The list with intermediates replaced by offsets in arena buffers (one per memory kind), without Allocate and Release
/// steps. Two buffers share bytes only if all uses of one are done before each use of the other.
/// Streams whose use of an arena is not ordered after the caller's start get a wait for it. Lists with communications
/// are returned as they are.
StepList placeBuffers(const StepList& list);

/// Bytes of the arenas of `list`, all memory kinds together.
int64_t arenaBytes(const StepList& list);

}  // namespace tokamak
