#include "runtime/no_cuda/cuda_probe.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tokamak {

std::string reasonForNoCuda() {
  // Never closed: the driver does not like to be unloaded.
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) {
    const char* const reason = dlerror();
    return reason == nullptr ? "libcuda.so.1 cannot be loaded" : reason;
  }
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count_devices = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  if (init == nullptr || count_devices == nullptr)
    return "libcuda.so.1 is no CUDA driver: it has no cuInit or no cuDeviceGetCount";
  if (const int status = init(0); status != 0) return fmt::format("cuInit failed with error {}", status);
  int count = 0;
  if (const int status = count_devices(&count); status != 0)
    return fmt::format("cuDeviceGetCount failed with error {}", status);
  if (count == 0) return "the driver sees no device";
  return fmt::format("the driver sees {}, but this build has no CUDA runtime",
                     count == 1 ? "a device" : fmt::format("{} devices", count));
}

}  // namespace tokamak
