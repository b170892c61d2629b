#include "jit/open_device.h"

#include <thread>

#include "base/require.h"
#include "jit/jit_device.h"
#include "runtime/cuda/driver_library.h"

namespace tokamak {

namespace {

// A device waits for its work when it goes. Its last owner may be that work itself: another thread waits then.
void close(Device* device) {
  if (device->isWorkThread())
    std::thread([device] { delete device; }).detach();
  else
    delete device;
}

}  // namespace

std::shared_ptr<Device> openCpuDevice(const CpuDeviceOptions& options) { return {new JitCpuDevice(options), close}; }

std::shared_ptr<Device> openCudaDevice(int64_t ordinal, const CudaDeviceOptions& options) {
  return {new JitCudaDevice(ordinal, options), close};
}

std::shared_ptr<Stream> adoptCudaStream(Device& device, void* stream) {
  auto* const cuda = dynamic_cast<CudaDevice*>(&device);
  TK_REQUIRE(cuda != nullptr, Unsupported, "{} has no CUDA streams to adopt", device.properties().name);
  return cuda->adoptStream(stream);
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
