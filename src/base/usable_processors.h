// How many processors this process may use.
#pragma once

#include <cstdint>

namespace tokamak {

/// Those that the scheduler may put it on; at least 1.
int64_t usableProcessors();

}  // namespace tokamak
