// The fake driver's memory: a region of addresses that only "the device" may touch, and pinned host memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake {

inline constexpr unsigned kHostType = 1;
inline constexpr unsigned kDeviceType = 2;

/// 0 when there is none left.
uint64_t allocateDevice(size_t bytes, int64_t limit);
void* allocatePinned(size_t bytes);
/// False when nothing starts there.
bool release(uint64_t address, unsigned type);
/// The type of the allocation that `address` lies in; 0: in none.
unsigned typeOf(uint64_t address);
/// Whether the bytes lie in one allocation, or (`may_be_pageable`) in memory that is none of the driver's.
bool isLegal(uint64_t address, size_t bytes, bool may_be_pageable);
int64_t liveAllocations();

}  // namespace fake
