// async-copies: copies from inputs to shared memory become asynchronous.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// Makes copies of 4 bytes or more from an input to shared memory asynchronous, and so stores of such elements to
/// circular buffers. Commits and waits for them before the next barrier, or the next statement that touches their
/// destination. (circular-buffers has done so for copies that are ahead.) Groups without asynchronous copies are
/// removed.
kir::Kernel asyncCopies(kir::Kernel kernel);

}  // namespace tokamak
