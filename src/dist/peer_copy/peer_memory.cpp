#include "dist/peer_copy/peer_memory.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <span>
#include <thread>
#include <utility>

#include "base/require.h"

namespace tokamak {

void PeerAddress::addTo(MessageWriter& message) const {
  message.add(address).add(allocation).add(offset).add(std::as_bytes(std::span(handle.bytes)));
}

PeerAddress PeerAddress::readFrom(MessageReader& message) {
  PeerAddress read = {.address = message.number(), .allocation = message.number(), .offset = message.number()};
  const std::vector<std::byte> handle = message.bytes();
  std::memcpy(read.handle.bytes, handle.data(), std::min(handle.size(), sizeof(read.handle.bytes)));
  return read;
}

PeerMemory::PeerMemory(std::shared_ptr<DriverContext> context, std::vector<uint8_t> is_here)
    : context_(std::move(context)), is_here_(std::move(is_here)) {
  is_alone_ = std::ranges::all_of(is_here_, [](uint8_t here) { return here != 0; });
}

PeerMemory::~PeerMemory() {
  context_->quietly([&](const DriverLibrary& driver) {
    for (const auto& [key, mapping] : open_mappings_) driver.handle_close(mapping.base);
  });
}

PeerAddress PeerMemory::share(const void* address) {
  PeerAddress shared = {.address = std::bit_cast<int64_t>(address)};
  if (address == nullptr || is_alone_) return shared;
  const CurrentContext current(*context_);
  const DriverLibrary& driver = context_->driver();
  driver::Address base = 0;
  size_t bytes = 0;
  const driver::Result found = driver.address_range(&base, &bytes, addressOf(address));
  TK_REQUIRE(found == driver::kSuccess, Unsupported,
             "{}: the memory at {} is none of the GPU's, and processes copy from memory of GPUs alone; communicate "
             "tensors that are `in device`: the driver reports {}",
             context_->name(), address, driver.describe(found));
  context_->check(driver.pointer_attribute(&shared.allocation, driver::kPointerBufferId, base),
                  "{}: asking for the number of the memory at {}", context_->name(), address);
  shared.offset = static_cast<int64_t>(addressOf(address) - base);
  const std::lock_guard lock(mutex_);
  if (const auto known = shared_.find(shared.allocation); known != shared_.end()) {
    shared.handle = known->second.handle;
    return shared;
  }
  const driver::Result status = driver.handle_get(&shared.handle, base);
  TK_REQUIRE(
      status == driver::kSuccess, Unsupported,
      "{}: the memory at {} cannot be shared with other processes, which memory of cuMemAlloc and of arenas can: "
      "the driver reports {}",
      context_->name(), address, driver.describe(status));
  findFreed();
  shared_[shared.allocation] = {.base = base, .handle = shared.handle};
  return shared;
}

// Those whose address is nobody's now, or another one's.
void PeerMemory::findFreed() {
  std::erase_if(shared_, [&](const auto& entry) {
    int64_t number = 0;
    const driver::Result status =
        context_->driver().pointer_attribute(&number, driver::kPointerBufferId, entry.second.base);
    if (status == driver::kSuccess && number == entry.first) return false;
    freed_.push_back(entry.first);
    return true;
  });
}

std::vector<int64_t> PeerMemory::takeFreed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(freed_, {});
}

void PeerMemory::close(int64_t rank, int64_t allocation) {
  const std::lock_guard lock(mutex_);
  const auto isThis = [&](const auto& entry) {
    return entry.first.first == rank && entry.second.allocation == allocation;
  };
  const auto found = std::ranges::find_if(open_mappings_, isThis);
  if (found == open_mappings_.end()) return;
  context_->quietly([&](const DriverLibrary& driver) { driver.handle_close(found->second.base); });
  open_mappings_.erase(found);
}

void* PeerMemory::reach(int64_t rank, const PeerAddress& memory) {
  if (memory.address == 0) return nullptr;
  if (is_here_[static_cast<size_t>(rank)] != 0) return std::bit_cast<void*>(memory.address);
  const std::lock_guard lock(mutex_);
  Mapping& mapping = open_mappings_[{rank, memory.address - memory.offset}];
  if (mapping.base == 0 || mapping.allocation != memory.allocation) {
    const CurrentContext current(*context_);
    const DriverLibrary& driver = context_->driver();
    if (mapping.base != 0) driver.handle_close(std::exchange(mapping.base, 0));
    const driver::Result status = driver.handle_open(&mapping.base, memory.handle, driver::kEnablePeerAccessLazily);
    if (status != driver::kSuccess) open_mappings_.erase({rank, memory.address - memory.offset});
    TK_REQUIRE(status == driver::kSuccess, Unsupported,
               "{}: memory of rank {} cannot be reached: the driver reports {}", context_->name(), rank,
               driver.describe(status));
    mapping.allocation = memory.allocation;
  }
  return std::bit_cast<void*>(mapping.base + static_cast<driver::Address>(memory.offset));
}

int64_t PeerMemory::openCount() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(open_mappings_.size());
}

PeerFlags::PeerFlags(std::shared_ptr<DriverContext> context) : context_(std::move(context)) {
  const CurrentContext current(*context_);
  const DriverLibrary& driver = context_->driver();
  int least = 0;
  int greatest = 0;
  context_->check(driver.stream_priorities(&least, &greatest), "{}: asking for priorities", context_->name());
  context_->check(driver.stream_create_with(&stream_, driver::kStreamNonBlocking, greatest),
                  "{}: making a stream for flags", context_->name());
  context_->check(driver.event_create(&is_read_, driver::kEventDisableTiming), "{}: making an event for flags",
                  context_->name());
  void* seen = nullptr;
  context_->check(driver.host_allocate(&seen, sizeof(uint64_t), driver::kHostPortable),
                  "{}: pinned memory to read flags", context_->name());
  seen_ = static_cast<uint64_t*>(seen);
}

PeerFlags::~PeerFlags() {
  context_->quietly([&](const DriverLibrary& driver) {
    driver.stream_destroy(stream_);
    driver.event_destroy(is_read_);
    driver.host_free(seen_);
    for (const driver::Address slab : slabs_) driver.memory_free(slab);
  });
}

uint64_t* PeerFlags::take(int64_t words) {
  TK_CHECK(words <= kSlabWords, "{} flags were asked for at once", words);
  const std::lock_guard lock(mutex_);
  if (used_ + words > kSlabWords) {
    const CurrentContext current(*context_);
    const DriverLibrary& driver = context_->driver();
    constexpr size_t kBytes = kSlabWords * sizeof(uint64_t);
    driver::Address slab = 0;
    context_->check(context_->withRoom([&] { return driver.memory_allocate(&slab, kBytes); }), "{}: {} bytes for flags",
                    context_->name(), kBytes);
    slabs_.push_back(slab);
    context_->check(driver.fill_async(slab, 0, kBytes, stream_), "{}: clearing flags", context_->name());
    context_->check(driver.stream_synchronize(stream_), "{}: clearing flags", context_->name());
    used_ = 0;
  }
  auto* const taken = std::bit_cast<uint64_t*>(slabs_.back()) + used_;
  used_ += words;
  return taken;
}

void PeerFlags::release(const std::vector<Value>& values) noexcept {
  context_->quietly([&](const DriverLibrary& driver) {
    for (const Value& one : values) driver.stream_write_value(stream_, one.address, one.value, driver::kWriteDefault);
  });
}

std::optional<uint64_t> PeerFlags::read(driver::Address address) noexcept {
  using Clock = std::chrono::steady_clock;
  const std::lock_guard lock(mutex_);
  std::optional<uint64_t> value;
  context_->quietly([&](const DriverLibrary& driver) {
    if (driver.event_query(is_read_) != driver::kSuccess) return;  // one that did not end in time
    if (driver.copy_async(addressOf(seen_), address, sizeof(*seen_), stream_) != driver::kSuccess) return;
    if (driver.event_record(is_read_, stream_) != driver::kSuccess) return;
    const auto until = Clock::now() + std::chrono::milliseconds(100);
    while (driver.event_query(is_read_) == driver::kNotReady && Clock::now() < until)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (driver.event_query(is_read_) == driver::kSuccess) value = *seen_;
  });
  return value;
}

}  // namespace tokamak
