// The devices of this machine, behind the interface that all share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/export.h"
#include "device/device.h"
#include "runtime/cpu/cpu_device_options.h"
#include "runtime/cuda/cuda_device_options.h"

namespace tokamak {

/// The processor. Errors: Usage for options that cannot be; Compile for a compiler that does not work.
TOKAMAK_EXPORT std::shared_ptr<Device> openCpuDevice(const CpuDeviceOptions& options = {});

/// A GPU. Errors: Unsupported without a driver or when the GPU lacks what is needed, Usage for a number that no device
/// has, Device.
TOKAMAK_EXPORT std::shared_ptr<Device> openCudaDevice(int64_t ordinal, const CudaDeviceOptions& options = {});

/// A stream (cudaStream_t, CUstream; null: the default one) that the caller made in the GPU's primary context, and
/// keeps until what this gives is gone: work goes there in order with the caller's. Letting go of it does not wait for
/// the GPU. docs/cuda_device.md says more. Thread safety: any threads may call it side by side.
/// Errors: Unsupported for a device that is no GPU.
TOKAMAK_EXPORT std::shared_ptr<Stream> adoptCudaStream(Device& device, void* stream);

/// How many devices the driver sees; 0 without a driver. Errors: none.
TOKAMAK_EXPORT int64_t countCudaDevices();

/// The first reason found: no driver library, one that is too old or does not start, no device. Empty when there is a
/// device.
TOKAMAK_EXPORT std::string reasonForNoCuda();

}  // namespace tokamak
