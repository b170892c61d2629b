#include "dist/operation_texts.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tokamak {

std::string operationName(const OperationPlace& place, CommunicationKind kind) {
  std::string text = fmt::format("{} {}", enumName(kind), place.number);
  if (!place.transfer.empty())
    text = fmt::format("transfer {} from rank {} to rank {}", place.number, place.transfer[0], place.transfer[1]);
  text += fmt::format(" of team ({})", joined(place.team, " "));
  if (place.epoch > 0) text += fmt::format(" in epoch {}", place.epoch);
  return text;
}

std::string mismatchText(const OperationPlace& place, const RankOperation& a, const RankOperation& b) {
  std::string difference = differenceOf(a.request, a.rank, b.request, b.rank, place.team);
  const bool is_same_group =
      isPointToPoint(a.request.kind) || (a.group_size == b.group_size && a.group_position == b.group_position);
  if (difference.empty() && !is_same_group)
    difference = fmt::format("it is number {} of a group of {} there, and number {} of {} here", a.group_position,
                             a.group_size, b.group_position, b.group_size);
  if (difference.empty()) return {};
  return fmt::format(
      "communication {} of team ({}) is {} on rank {} and {} on rank {}: {}; all ranks of a team have to post the "
      "same, in the same order",
      place.number, joined(place.team, " "), describe(a.request), a.rank, describe(b.request), b.rank, difference);
}

std::string lateText(int64_t rank, const std::string& operation, int64_t milliseconds, const LastOperation& last) {
  std::string text = fmt::format("rank {} did not come to {} within {} ms", rank, operation, milliseconds);
  if (last.number < 0) return text + "; it came to none of this team yet";
  return text + fmt::format("; the last one that it came to is {} {}", enumName(last.kind), last.number);
}

std::string lateEndText(int64_t rank, const std::string& operation, int64_t milliseconds) {
  return fmt::format("rank {} did not come to the end of {} within {} ms", rank, operation, milliseconds);
}

std::string leftText(int64_t rank, std::span<const int64_t> dead) {
  std::string text = fmt::format("rank {} left the job", rank);
  if (!dead.empty())
    text += fmt::format("; before that, {} {} died", dead.size() == 1 ? "rank" : "ranks", joined(dead, ", "));
  return text;
}

}  // namespace tokamak
