// Cache comparison: which kept kernel is most like one that is asked for, and in which parts their keys differ.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "toolchain/cache_entry.h"
#include "toolchain/kernel_cache.h"

namespace tokamak {

/// One part of two keys that is not the same.
struct KeyDifference {
  std::string part;
  int64_t line = 0;       ///< the first line that differs, from 1
  std::string kept_line;  ///< empty where there is none
  std::string asked_line;
};

/// The first differing line of each part in which the keys differ, in the order of `asked`.
std::vector<KeyDifference> differencesOf(const CacheKey& kept, const CacheKey& asked);

/// The whole entry of the same kind with the fewest differing parts; of those, the one whose source has most lines in
/// common with the asked one at its start and end. Null when there is none of this kind.
const CacheListing* nearestEntry(std::span<const CacheListing> entries, const CacheKey& asked);

}  // namespace tokamak
