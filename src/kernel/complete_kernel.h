// Completes a kernel whose statements have changed: names of new tensors and values, the list of its symbols.
#pragma once

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Gives tensors without a number the next ones, so that each has a name.
void labelTensors(const Fusion& fusion);

/// The free symbols of the statements and launch dimensions, in order of creation.
std::vector<Scalar*> symbolsOf(const Kernel& kernel);

/// Labels new tensors, gives variables distinct names (kernel/distinct_names.h), and removes unused symbols from the
/// list. No symbol is added: a launch would have no value for it.
void completeKernel(Kernel& kernel);

}  // namespace tokamak::kir
