// Tensors between host memory and a device's, for host code that fills inputs and reads results.
#pragma once

#include <memory>

#include "device/tensor.h"

namespace tokamak {

/// The tensor in memory that host code may read: itself where it is in such memory, else a copy in Host memory with the
/// same sizes and strides. Waits for the data. Errors: OutOfMemory; the failure of the work that made the data.
Tensor toHost(const Tensor& tensor, const std::shared_ptr<Stream>& stream);

/// A copy of `tensor`, whose data is there, in `kind` of memory of `stream`'s device, with the same sizes and strides;
/// itself where it is there already. Waits for the copy. Errors: OutOfMemory, Device.
Tensor toDevice(const Tensor& tensor, Device& device, const std::shared_ptr<Stream>& stream, MemoryKind kind);

}  // namespace tokamak
