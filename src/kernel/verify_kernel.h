// The kernel verifier: the named invariants of kernels between passes.
#pragma once

#include <vector>

#include "ir/verifier.h"
#include "kernel/kernel.h"

namespace tokamak::kir {

/// In the order of checks: later ones rely on earlier ones.
std::vector<Invariant> kernelInvariants();

/// All violations of the first invariant that does not hold; empty for a legal kernel.
std::vector<Violation> violationsOf(const Kernel& kernel);

/// Errors: `code`, with the first violation's message and the invariant's name. Internal for kernels that passes made,
/// Definition for those that a caller wrote.
void verifyKernel(const Kernel& kernel, ErrorCode code = ErrorCode::Internal);

}  // namespace tokamak::kir
