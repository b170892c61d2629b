// What a kernel tells of itself after its statements have changed: names of new tensors and of values, the list of its
// symbols.
#pragma once

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Tensors without a number get those after the largest one, so that each has a name.
void labelTensors(const Fusion& fusion);

/// The symbols that the statements and the launch dimensions mention, but for those that loops, dimensions and values
/// define; by creation.
std::vector<Scalar*> symbolsOf(const Kernel& kernel);

/// Labels new tensors and gives values distinct names (kernel/distinct_names.h); symbols that nothing mentions any more
/// leave the list. None joins it: what only a pass mentions has no value.
void completeKernel(Kernel& kernel);

}  // namespace tokamak::kir
