// How often the process has asked the heap for memory.
#pragma once

#include <cstdint>

namespace tokamak {

/// All threads together; always 0 under ThreadSanitizer.
int64_t heapRequests();

}  // namespace tokamak
