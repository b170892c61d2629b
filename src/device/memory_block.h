// MemoryBlock: memory that a caller's allocator gives.
#pragma once

#include <memory>

namespace tokamak {

struct MemoryBlock {
  void* address = nullptr;       ///< a multiple of 256 bytes; not null, also for no bytes
  std::shared_ptr<void> keeper;  ///< let go with the last user
};

}  // namespace tokamak
