// The kernel verifier's invariants of clusters.
#pragma once

#include <functional>
#include <string>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Each reports a sentence per violation of its invariant, which verify_kernel.cpp describes.
void checkClusterTogether(const Kernel& kernel, const std::function<void(std::string)>& report);
void checkClusterBarriers(const Kernel& kernel, const std::function<void(std::string)>& report);
void checkClusterStores(const Kernel& kernel, const std::function<void(std::string)>& report);

}  // namespace tokamak::kir
