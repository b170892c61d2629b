#include "device/memory_block.h"

#include "base/require.h"

namespace tokamak {

void requireAligned(const MemoryBlock& block, int64_t bytes, std::string_view what) {
  constexpr uintptr_t kAlignment = 256;
  TK_REQUIRE(block.address != nullptr && reinterpret_cast<uintptr_t>(block.address) % kAlignment == 0, Bind,
             "allocating {} of {} bytes: the caller's allocator gave {}; a multiple of {} is legal", what, bytes,
             block.address, kAlignment);
}

}  // namespace tokamak
