// CopyWork: an op that moves a tensor between the memories of the host and of a device.
#pragma once

#include <memory>

#include "device/work.h"
#include "runtime/cuda/cuda_work.h"

namespace tokamak {

/// Copies for an op that reads or writes host memory, which kernels cannot access: as few as the strides of both sides
/// allow. Errors: Unsupported if the op is no copy, or needs very many.
std::shared_ptr<const CudaWork> prepareCopy(const WorkRequest& request);

}  // namespace tokamak
