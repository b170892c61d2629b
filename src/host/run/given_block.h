// Given blocks: what a caller's allocator gave, as memory of a call.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "device/memory_block.h"
#include "device/tensor.h"

namespace tokamak {

/// Whether callers get their memory back when it is used no more: they have no streams to order its next use by.
bool isOnProcessor(const Device& device);

/// Errors: Bind for an address that is none, or no multiple of 256; `what` says for what the memory is.
std::shared_ptr<Buffer> bufferOf(Device& device, MemoryBlock block, int64_t bytes, MemoryKind kind,
                                 std::string_view what);

}  // namespace tokamak
