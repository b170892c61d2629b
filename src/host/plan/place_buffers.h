// Places intermediates into one arena per memory kind: buffers whose uses are ordered may share bytes.
#pragma once

#include "host/check/step_list.h"

namespace tokamak {

/// The list with its intermediate buffers replaced by offsets in arena buffers (one per memory kind that is used);
/// Allocate and Release steps are gone, their order is kept by the offsets: two buffers share bytes only when all uses
/// of one are done before each use of the other. A stream whose use of an arena nothing orders after the caller's start
/// gets a wait for it. Lists with communications are returned as they are.
StepList placeBuffers(const StepList& list);

/// Bytes of the arenas of `list`, all memory kinds together.
int64_t arenaBytes(const StepList& list);

}  // namespace tokamak
