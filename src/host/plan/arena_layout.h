// ArenaLayout: offsets of buffers in one arena, in which buffers whose uses are ordered share bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/plan/step_clocks.h"

namespace tokamak {

/// A buffer and its lifetime: `start[s]` steps of stream s are done before each of its uses, and its last use on stream
/// s is that stream's step `last[s]` (0: none).
struct ArenaItem {
  DoneCounts start;
  DoneCounts last;
  int64_t bytes = 0;
};

struct ArenaLayout {
  std::vector<int64_t> offsets;  ///< per item, aligned to 256 bytes
  int64_t bytes = 0;
};

/// Two items share bytes only if all uses of one are done before each use of the other. Intermediates of a stream loop
/// take as much as one iteration on each stream, however many iterations there are.
ArenaLayout layOut(std::span<const ArenaItem> items);

}  // namespace tokamak
