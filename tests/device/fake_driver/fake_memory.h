// The fake driver's memory: a region of addresses that only "the device" may touch, and pinned host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace fake {

inline constexpr unsigned kHostType = 1;
inline constexpr unsigned kDeviceType = 2;

/// Memory of this device. 0 when there is none left.
uint64_t allocateDevice(size_t bytes, int64_t limit, int device);
void* allocatePinned(size_t bytes);
/// False when nothing starts there.
bool release(uint64_t address, unsigned type);
/// The type of the allocation that `address` lies in; 0: in none.
unsigned typeOf(uint64_t address);
/// Whether the bytes lie in one allocation, or (`may_be_pageable`) in memory that is none of the driver's.
bool isLegal(uint64_t address, size_t bytes, bool may_be_pageable);
int64_t liveAllocations();

/// The allocation that the address lies in; of device memory, also its owner and its number, which no other one ever
/// has. Nothing where there is none.
struct AllocationFacts {
  uint64_t base = 0;
  size_t bytes = 0;
  unsigned type = 0;
  int device = 0;
  uint64_t number = 0;
  bool is_imported = false;
};
std::optional<AllocationFacts> factsOf(uint64_t address);

/// What names an allocation to other processes: its process has the region as a file.
struct Handle {
  int64_t process = 0;
  int64_t file = 0;     ///< descriptor there
  uint64_t offset = 0;  ///< in the region
  uint64_t bytes = 0;
  int64_t device = 0;
};
/// Of device memory of this process. False for others.
bool exportMemory(uint64_t base, Handle& handle);
/// Where memory of another process is seen here; 0 when that process is gone, or is this one: the real driver opens
/// none of its own. Opened twice, it is at one address.
uint64_t importMemory(const Handle& handle);
bool closeImported(uint64_t base);

}  // namespace fake
