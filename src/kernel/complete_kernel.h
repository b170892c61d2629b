// Completes a kernel whose statements have changed: names of new tensors and values, the list of its symbols.
#pragma once

#include <set>
#include <vector>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Gives tensors without a number the next ones, so that each has a name.
void labelTensors(const Fusion& fusion);

/// Adds the symbols in a scalar.
void collectSymbols(Scalar& scalar, std::set<Scalar*, ById>& into);
/// The free symbols of the statements and launch dimensions, in order of creation.
std::vector<Scalar*> symbolsOf(const Kernel& kernel);

/// Labels new tensors, gives variables distinct names (kernel/distinct_names.h), and removes unused symbols from the
/// list. No symbol is added: a launch would have no value for it.
void completeKernel(Kernel& kernel);

}  // namespace tokamak::kir
