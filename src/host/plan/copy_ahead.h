// Copies from the host's memory on streams of their own, so that they run ahead of the work of their workers.
#pragma once

#include "host/check/step_list.h"

namespace tokamak {

/// The list with a stream more for each worker (stream but the caller's) that copies from the host's memory into the
/// device's twice or more; these copies run on it. In a stream loop the copy of an iteration waited for all of the
/// iteration before it on its worker, its copy out included, though the engine that copies in had nothing to do.
///
/// A copy waits for what uses the same bytes, and what uses its bytes later for it. So that as many intermediates live
/// at a time as before, it waits for the last use of the buffer whose place its own takes: the one that the same
/// statement allocated before on that worker. Allocate and Release steps stay on the workers and order nothing: they
/// are no uses to placeBuffers(), which comes next.
///
/// Lists with communications are returned as they are.
StepList copyAhead(const StepList& list);

}  // namespace tokamak
