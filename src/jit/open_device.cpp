#include "jit/open_device.h"

#include "base/error.h"
#include "jit/jit_device.h"
#include "runtime/cuda/driver_library.h"

namespace tokamak {

std::unique_ptr<Device> openCpuDevice(const CpuDeviceOptions& options) {
  return std::make_unique<JitCpuDevice>(options);
}

std::unique_ptr<Device> openCudaDevice(int64_t ordinal, const CudaDeviceOptions& options) {
  return std::make_unique<JitCudaDevice>(ordinal, options);
}

std::string reasonForNoCuda() {
  try {
    DriverLibrary::start();
    return {};
  } catch (const Error& error) {
    return error.message();
  }
}

int64_t countCudaDevices() {
  int count = 0;
  if (reasonForNoCuda().empty()) DriverLibrary::start().device_count(&count);
  return count;
}

}  // namespace tokamak
