#include "host/run/given_block.h"

#include <utility>

#include "base/require.h"

namespace tokamak {

bool isOnProcessor(const Device& device) { return device.properties().ordinal < 0; }

std::shared_ptr<Buffer> bufferOf(Device& device, MemoryBlock block, int64_t bytes, MemoryKind kind,
                                 std::string_view what) {
  constexpr uintptr_t kAlignment = 256;
  TK_REQUIRE(block.address != nullptr, Bind,
             "allocating {} of {} bytes: the caller's allocator gave null; to refuse, it raises", what, bytes);
  TK_REQUIRE(reinterpret_cast<uintptr_t>(block.address) % kAlignment == 0, Bind,
             "allocating {} of {} bytes: the caller's allocator gave {}; a multiple of {} is legal", what, bytes,
             block.address, kAlignment);
  return Buffer::borrow(device, block.address, bytes, kind, std::move(block.keeper), Buffer::Lender::Allocator);
}

}  // namespace tokamak
