// GoneRanks: which ranks of a job are gone, and why.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dist/communication_error.h"

namespace tokamak {

/// Of a rank that left, also whose deaths it knew of: it may have left because of one that others see later.
/// Thread safety: none.
class GoneRanks {
 public:
  /// Of a job of so many ranks, 0 to size - 1, which are all those that it is asked about.
  explicit GoneRanks(int64_t size) : reasons_(static_cast<size_t>(size)), dead_before_(static_cast<size_t>(size)) {}

  int64_t size() const { return static_cast<int64_t>(reasons_.size()); }
  bool isGone(int64_t rank) const { return reasons_[static_cast<size_t>(rank)].has_value(); }
  /// It died, whatever it said before. `text`: of the reason; empty: that alone.
  void noteDeath(int64_t rank, std::string text = {});
  /// It left, unless it is gone already; `dead`: of which ranks it knew that they were.
  void noteLeft(int64_t rank, std::span<const int64_t> dead);
  std::vector<int64_t> dead() const;
  /// Why one of the ranks is gone. A death comes first: of one of them, or of one of `members` that who left knew of.
  std::optional<Breakage> why(std::span<const int64_t> ranks, std::span<const int64_t> members) const;

 private:
  std::vector<std::optional<Breakage>> reasons_;   // by rank
  std::vector<std::vector<int64_t>> dead_before_;  // by rank
};

}  // namespace tokamak
