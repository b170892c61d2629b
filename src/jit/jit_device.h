// The devices with kernels that this process compiles.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_device.h"

namespace tokamak {

/// What openCpuDevice() opens.
/// Thread safety: as CpuDevice.
class JitCpuDevice final : public CpuDevice {
 public:
  explicit JitCpuDevice(const CpuDeviceOptions& options = {});
};

/// What openCudaDevice() opens.
/// Thread safety: as CudaDevice.
class JitCudaDevice final : public CudaDevice {
 public:
  explicit JitCudaDevice(int64_t ordinal, const CudaDeviceOptions& options = {});
};

/// What segments become on the processor: "compiled by /usr/bin/cc (its version)", "interpreted", or "none, segments
/// run op by op: why". May ask the compiler what it is.
std::string describeKernels(KernelRunner runner);

}  // namespace tokamak
