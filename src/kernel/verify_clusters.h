// What the kernel verifier asks of clusters of blocks.
#pragma once

#include <functional>
#include <string>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Each gives `report` a sentence per violation of the invariant that verify_kernel.cpp describes.
void checkClusterTogether(const Kernel& kernel, const std::function<void(std::string)>& report);
void checkClusterBarriers(const Kernel& kernel, const std::function<void(std::string)>& report);
void checkClusterStores(const Kernel& kernel, const std::function<void(std::string)>& report);

}  // namespace tokamak::kir
