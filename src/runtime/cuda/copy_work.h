// CopyWork: an op that moves a tensor between the memories of the host and of a device.
#pragma once

#include <memory>

#include "runtime/cuda/cuda_work.h"

namespace tokamak {

/// The copy that an op is which reads or writes memory of the host, where kernels do not reach: as few copies of bytes
/// as the strides of both sides allow. Errors: Unsupported when it is more than a copy, or would be very many.
std::shared_ptr<const CudaWork> prepareCopy(const WorkRequest& request);

}  // namespace tokamak
