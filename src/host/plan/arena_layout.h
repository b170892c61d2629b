// ArenaLayout: where buffers lie in one piece of memory, so that those whose uses are ordered share bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/plan/step_clocks.h"

namespace tokamak {

/// A buffer to be placed, and when it is in use: `start[s]` steps of stream s are done before each of its uses, and its
/// last use on stream s is that stream's step `last[s]` (0: none).
struct ArenaItem {
  DoneCounts start;
  DoneCounts last;
  int64_t bytes = 0;
};

struct ArenaLayout {
  std::vector<int64_t> offsets;  ///< per item, aligned to 256 bytes
  int64_t bytes = 0;
};

/// Two items share bytes only where all uses of one are done before each use of the other. What the iterations of a
/// stream loop use on their own stream takes no more than one iteration on each stream does: the memory of a loop does
/// not grow with its iterations.
ArenaLayout layOut(std::span<const ArenaItem> items);

}  // namespace tokamak
