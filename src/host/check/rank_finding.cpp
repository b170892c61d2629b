#include "host/check/rank_finding.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tokamak {

std::string_view rankFindingName(RankFinding::Kind kind) {
  switch (kind) {
    case RankFinding::Kind::Race: return "race";
    case RankFinding::Kind::Refused: return "refused";
    case RankFinding::Kind::Unordered: return "unordered";
    case RankFinding::Kind::Mismatch: return "mismatch";
    case RankFinding::Kind::Missing: return "missing";
    case RankFinding::Kind::Deadlock: return "deadlock";
    case RankFinding::Kind::Part: return "part";
  }
  return "";
}

std::string teamInWords(std::span<const int64_t> ranks) {
  constexpr size_t kShown = 8;
  if (ranks.size() <= kShown) return fmt::format("({})", joined(ranks, " "));
  return fmt::format("({} ... {})", joined(ranks.first(kShown), " "), ranks.back());
}

std::string requestInWords(const CommunicationRequest& request) {
  constexpr size_t kShown = 8;
  if (request.counts.size() <= kShown) return describe(request);
  CommunicationRequest shown = request;
  shown.counts.resize(1);
  std::string text = describe(shown);
  const std::string first = std::to_string(shown.counts[0]);
  return text.replace(text.find(first), first.size(), fmt::format("{} + ... + {}", first, request.counts.back()));
}

std::string statementOf(const RankClass& of, const PostedRequest& posted) {
  if (posted.statement < 0) return "";
  return (*of.statements)[static_cast<size_t>(posted.statement)];
}

}  // namespace tokamak
