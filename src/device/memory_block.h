// MemoryBlock: memory that a caller's allocator gives.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/export.h"

namespace tokamak {

struct MemoryBlock {
  void* address = nullptr;       ///< a multiple of 256 bytes; not null, also for no bytes
  std::shared_ptr<void> keeper;  ///< let go with the last user
};

/// Errors: Bind for an address that is none, or no such multiple; `what` says for what the memory is.
TOKAMAK_EXPORT void requireAligned(const MemoryBlock& block, int64_t bytes, std::string_view what);

}  // namespace tokamak
