// The kernel verifier: what a kernel must be like between two passes, as a list of named invariants.
#pragma once

#include <vector>

#include "ir/verifier.h"
#include "kernel/kernel.h"

namespace tokamak::kir {

/// In the order in which they are checked: later ones rely on earlier ones.
std::vector<Invariant> kernelInvariants();

/// Every violation of the first invariant that does not hold; empty for a legal kernel.
std::vector<Violation> violationsOf(const Kernel& kernel);

/// Errors: `code`, with the first violation's message, naming the invariant: Internal for what passes made, Definition
/// for what a caller wrote.
void verifyKernel(const Kernel& kernel, ErrorCode code = ErrorCode::Internal);

}  // namespace tokamak::kir
