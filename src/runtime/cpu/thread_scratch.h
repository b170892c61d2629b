// A thread's scratch memory for the work it runs: grows to the largest request and stays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tokamak {

/// At least `bytes`, aligned to 64. Valid until the thread asks again.
char* threadScratch(int64_t bytes);

}  // namespace tokamak
