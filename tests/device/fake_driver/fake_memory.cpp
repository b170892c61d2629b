#include "fake_memory.h"

#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace fake {

namespace {

constexpr size_t kRegion = size_t{1} << 32;  // of addresses; pages come when they are touched
constexpr size_t kGranule = 512;

struct Allocation {
  size_t bytes = 0;
  unsigned type = 0;
  int device = 0;
  uint64_t number = 0;
  int64_t users = 0;  // of memory of another process: how often it was opened
};

// Memory of another process that is seen here.
struct Region {
  uint64_t start = 0;
};

uint64_t last_number = 0;
std::map<int64_t, Region> regions;  // by process
std::mutex mutex;
std::map<uint64_t, Allocation> allocations;
int64_t device_bytes = 0;

uint64_t mapRegion(int file) {
  void* const start = mmap(nullptr, kRegion, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  return start == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(start);
}

// A file without a name, which other processes find by its descriptor.
int regionFile() {
  static const int file = [] {
    const int made = memfd_create("fake device memory", MFD_CLOEXEC);
    return ftruncate(made, static_cast<off_t>(kRegion)) == 0 ? made : -1;
  }();
  return file;
}

uint64_t region() {
  static const uint64_t start = mapRegion(regionFile());
  return start;
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

uint64_t allocateDevice(size_t bytes, int64_t limit, int device) {
  const std::lock_guard lock(mutex);
  if (bytes > static_cast<size_t>(limit)) return 0;
  const size_t whole = (bytes + kGranule - 1) / kGranule * kGranule;
  if (device_bytes + static_cast<int64_t>(bytes) > limit) return 0;
  const uint64_t address = findGap(whole);
  if (address == 0) return 0;
  allocations[address] = {.bytes = whole, .type = kDeviceType, .device = device, .number = ++last_number};
  device_bytes += static_cast<int64_t>(whole);
  return address;
}

void* allocatePinned(size_t bytes) {
  constexpr size_t kPage = 4096;
  const size_t whole = (bytes + kPage - 1) / kPage * kPage;
  void* const address = std::aligned_alloc(kPage, whole);
  const std::lock_guard lock(mutex);
  if (address != nullptr)
    allocations[reinterpret_cast<uint64_t>(address)] = {.bytes = whole, .type = kHostType, .number = ++last_number};
  return address;
}

bool release(uint64_t address, unsigned type) {
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(address);
  if (found == allocations.end() || found->second.type != type || found->second.users > 0) return false;
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

std::optional<AllocationFacts> factsOf(uint64_t address) {
  const std::lock_guard lock(mutex);
  const auto found = find(address);
  if (found == allocations.end()) return {};
  const Allocation& one = found->second;
  return AllocationFacts{.base = found->first,
                         .bytes = one.bytes,
                         .type = one.type,
                         .device = one.device,
                         .number = one.number,
                         .is_imported = one.users > 0};
}

bool exportMemory(uint64_t base, Handle& handle) {
  const std::optional<AllocationFacts> facts = factsOf(base);
  if (!facts || facts->type != kDeviceType || facts->is_imported || facts->base != base) return false;
  handle = {.process = getpid(),
            .file = regionFile(),
            .offset = base - region(),
            .bytes = facts->bytes,
            .device = facts->device};
  return true;
}

uint64_t importMemory(const Handle& handle) {
  if (handle.process == getpid()) return 0;
  const std::lock_guard lock(mutex);
  Region& theirs = regions[handle.process];
  if (theirs.start == 0) {
    const std::string name = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
    const int file = open(name.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return 0;
    theirs.start = mapRegion(file);
    close(file);
    if (theirs.start == 0) return 0;
  }
  Allocation& seen = allocations[theirs.start + handle.offset];
  const int64_t users = seen.users + 1;
  seen = {.bytes = handle.bytes,
          .type = kDeviceType,
          .device = static_cast<int>(handle.device),
          .number = ++last_number,
          .users = users};
  return theirs.start + handle.offset;
}

bool closeImported(uint64_t base) {
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(base);
  if (found == allocations.end() || found->second.users == 0) return false;
  if (--found->second.users == 0) allocations.erase(found);
  return true;
}

}  // namespace fake
