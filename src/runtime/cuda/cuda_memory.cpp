#include "runtime/cuda/cuda_memory.h"

#include <bit>
#include <cstdlib>

namespace tokamak {

namespace {

constexpr size_t kAlignment = 256;

}  // namespace

void* CudaMemory::allocate(int64_t bytes, MemoryKind kind) {
  const auto size = static_cast<size_t>(bytes);
  if (kind == MemoryKind::Host)
    return std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
  const CurrentContext current(context_);
  const DriverLibrary& driver = context_.driver();
  if (kind == MemoryKind::Pinned) {
    void* address = nullptr;
    // Portable: also for the contexts of other devices, which copy to and from it.
    const driver::Result status = driver.host_allocate(&address, size, driver::kHostPortable | driver::kHostDeviceMap);
    if (status == driver::kOutOfMemory) return nullptr;
    context_.check(status, "{}: {} bytes of pinned memory", context_.name(), bytes);
    return address;
  }
  driver::Address address = 0;
  const driver::Result status = driver.memory_allocate(&address, size);
  if (status == driver::kOutOfMemory) return nullptr;
  context_.check(status, "{}: {} bytes of device memory", context_.name(), bytes);
  return std::bit_cast<void*>(address);
}

void CudaMemory::release(void* address, int64_t /*bytes*/, MemoryKind kind) {
  if (kind == MemoryKind::Host) return std::free(address);
  context_.quietly([&](const DriverLibrary& driver) {
    if (kind == MemoryKind::Pinned)
      driver.host_free(address);
    else
      driver.memory_free(addressOf(address));
  });
}

}  // namespace tokamak
