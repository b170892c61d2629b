// How the tools choose: a CUDA device, or the reason why there is none. One binary runs with and without a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "device/device.h"
#include "runtime/cuda/cuda_device.h"

namespace tokamak {

/// Errors: as of CudaDevice.
std::unique_ptr<Device> openCudaDevice(int64_t ordinal, const CudaDeviceOptions& options = {});

/// How many devices the driver sees; 0 without a driver. Errors: none.
int64_t countCudaDevices();

/// The first reason found: no driver library, one that is too old or does not start, no device. Empty when there is a device.
std::string reasonForNoCuda();

}  // namespace tokamak
