#include "dist/gone_ranks.h"

#include <utility>

#include <fmt/format.h>

#include "dist/communication_request.h"
#include "dist/operation_texts.h"

namespace tokamak {

static Breakage deathOf(int64_t rank) { return {CommunicationFault::Died, rank, fmt::format("rank {} died", rank)}; }

void GoneRanks::noteDeath(int64_t rank, std::string text) {
  Breakage& reason = reasons_[static_cast<size_t>(rank)].emplace(deathOf(rank));
  if (!text.empty()) reason.text = std::move(text);
}

void GoneRanks::noteLeft(int64_t rank, std::span<const int64_t> dead) {
  dead_before_[static_cast<size_t>(rank)].assign(dead.begin(), dead.end());
  std::optional<Breakage>& reason = reasons_[static_cast<size_t>(rank)];
  if (!reason) reason = {CommunicationFault::Left, rank, leftText(rank, dead)};
}

std::vector<int64_t> GoneRanks::dead() const {
  std::vector<int64_t> dead;
  for (int64_t rank = 0; rank < size(); ++rank) {
    const std::optional<Breakage>& reason = reasons_[static_cast<size_t>(rank)];
    if (reason && reason->fault == CommunicationFault::Died) dead.push_back(rank);
  }
  return dead;
}

std::optional<Breakage> GoneRanks::why(std::span<const int64_t> ranks, std::span<const int64_t> members) const {
  std::optional<Breakage> first;
  for (const int64_t rank : ranks) {
    const std::optional<Breakage>& reason = reasons_[static_cast<size_t>(rank)];
    if (!reason) continue;
    if (reason->fault == CommunicationFault::Died) return reason;
    for (const int64_t dead : dead_before_[static_cast<size_t>(rank)])
      if (positionOf(members, dead) >= 0) return deathOf(dead);
    if (!first) first = reason;
  }
  return first;
}

}  // namespace tokamak
