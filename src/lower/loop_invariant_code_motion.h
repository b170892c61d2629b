// loop-invariant-code-motion: loop-invariant values are computed before the loop.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have one thread: hoists invariant values out of as many loops as possible.
/// A load is hoisted only from loops proved to run. A guarded load of an input may leave any loop if "the loop runs" is
/// added to its guard; this alone is done for kernels with threads, too.
/// Compilers hoist values without branches. Square roots, maxima and divisions have branches, and may keep a loop from
/// being vectorised.
/// Values of several loops that depend on inputs only are computed once. It runs after the passes that move values.
kir::Kernel loopInvariantCodeMotion(kir::Kernel kernel);

}  // namespace tokamak
