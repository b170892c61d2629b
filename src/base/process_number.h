// Which process this is: threads do not come along where a process is forked.
#pragma once

#include <cstdint>

namespace tokamak {

/// Of the process that loaded the library 0, of its forked children 1, of theirs 2, ... Costs a load.
/// Thread safety: any threads may ask.
uint32_t processNumber();

}  // namespace tokamak
