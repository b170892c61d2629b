#include "runtime/cuda/stream_memory.h"

#include <algorithm>

namespace tokamak {

StreamMemory::~StreamMemory() {
  context_->quietly([&](const DriverLibrary& driver) {
    for (const auto& [stream, address] : blocks_) driver.memory_free(address);
  });
}

void* StreamMemory::on(driver::Stream stream, std::string_view user) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(blocks_, stream, &std::pair<driver::Stream, driver::Address>::first);
  if (found != blocks_.end()) return reinterpret_cast<void*>(found->second);  // NOLINT(performance-no-int-to-ptr)
  DriverContext& context = *context_;
  const CurrentContext current(context);
  driver::Address address = 0;
  const auto bytes = static_cast<size_t>(bytes_);
  context.check(context.withRoom([&] { return context.driver().memory_allocate(&address, bytes); }),
                "allocating {} bytes for the blocks of {}", bytes_, user);
  blocks_.emplace_back(stream, address);
  context.check(context.driver().fill_async(address, 0, bytes, stream), "clearing the workspace of {}", user);
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): the driver's addresses are integers
}

}  // namespace tokamak
