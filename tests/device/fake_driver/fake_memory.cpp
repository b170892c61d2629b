#include "fake_memory.h"

#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>

#include <sys/mman.h>

namespace fake {

namespace {

constexpr size_t kRegion = size_t{1} << 32;  // of addresses; pages come when they are touched
constexpr size_t kGranule = 512;

struct Allocation {
  size_t bytes = 0;
  unsigned type = 0;
};

std::mutex mutex;
std::map<uint64_t, Allocation> allocations;
int64_t device_bytes = 0;

uint64_t region() {
  static void* const start =
      mmap(nullptr, kRegion, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return reinterpret_cast<uint64_t>(start);
}

bool isInRegion(uint64_t address) { return address - region() < kRegion; }

// The first gap that is long enough.
uint64_t findGap(size_t bytes) {
  uint64_t at = region();
  for (auto next = allocations.lower_bound(at); next != allocations.end() && isInRegion(next->first); ++next) {
    if (next->first - at >= bytes) break;
    at = next->first + next->second.bytes;
  }
  return at + bytes <= region() + kRegion ? at : 0;
}

auto find(uint64_t address) {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) return allocations.end();
  --after;
  return address - after->first < after->second.bytes ? after : allocations.end();
}

}  // namespace

uint64_t allocateDevice(size_t bytes, int64_t limit) {
  const std::lock_guard lock(mutex);
  if (bytes > static_cast<size_t>(limit)) return 0;
  const size_t whole = (bytes + kGranule - 1) / kGranule * kGranule;
  if (device_bytes + static_cast<int64_t>(bytes) > limit) return 0;
  const uint64_t address = findGap(whole);
  if (address == 0) return 0;
  allocations[address] = {whole, kDeviceType};
  device_bytes += static_cast<int64_t>(whole);
  return address;
}

void* allocatePinned(size_t bytes) {
  constexpr size_t kPage = 4096;
  const size_t whole = (bytes + kPage - 1) / kPage * kPage;
  void* const address = std::aligned_alloc(kPage, whole);
  const std::lock_guard lock(mutex);
  if (address != nullptr) allocations[reinterpret_cast<uint64_t>(address)] = {whole, kHostType};
  return address;
}

bool release(uint64_t address, unsigned type) {
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(address);
  if (found == allocations.end() || found->second.type != type) return false;
  if (type == kHostType) std::free(std::bit_cast<void*>(address));
  if (type == kDeviceType) device_bytes -= static_cast<int64_t>(found->second.bytes);
  allocations.erase(found);
  return true;
}

unsigned typeOf(uint64_t address) {
  const std::lock_guard lock(mutex);
  const auto found = find(address);
  return found == allocations.end() ? 0 : found->second.type;
}

bool isLegal(uint64_t address, size_t bytes, bool may_be_pageable) {
  const std::lock_guard lock(mutex);
  const auto found = find(address);
  if (found == allocations.end()) return may_be_pageable && !isInRegion(address) && address != 0;
  return bytes <= found->second.bytes - (address - found->first);
}

int64_t liveAllocations() {
  const std::lock_guard lock(mutex);
  return static_cast<int64_t>(allocations.size());
}

}  // namespace fake
