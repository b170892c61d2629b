#include "host/check/rank_checker.h"

#include <fmt/format.h>

#include "host/check/rank_deadlock.h"
#include "host/check/rank_matching.h"

namespace tokamak {

namespace {

void addUnordered(const RankClass& of, std::vector<RankFinding>& findings) {
  for (const UnorderedTransfers& pair : of.works->unordered) {
    const auto statementAt = [&](int32_t work) {
      return statementOf(of, of.works->works[static_cast<size_t>(work)].requests[0]);
    };
    const int64_t rank = of.recorded;
    findings.push_back({.kind = RankFinding::Kind::Unordered,
                        .first_rank = rank,
                        .second_rank = rank,
                        .first_statement = statementAt(pair.first),
                        .second_statement = statementAt(pair.second),
                        .message = fmt::format(
                            "rank {} has transfers with one rank in `{}` and in `{}`, on different streams, and "
                            "nothing orders them, so that one may be taken for the other; post both in groups or both "
                            "alone, or wait for the first one before the second",
                            rank, statementAt(pair.first), statementAt(pair.second))});
  }
}

}  // namespace

std::vector<RankFinding> checkRanks(const RankJob& job, int64_t limit) {
  std::vector<RankFinding> findings;
  for (const RankClass& of : job.classes) addUnordered(of, findings);
  RankMatching matching = matchRanks(job, limit);
  findings.insert(findings.end(), matching.findings.begin(), matching.findings.end());
  if (!findings.empty()) return findings;
  if (!findDeadlock(job, matching.meetings)) return {};
  const RankJob each = expanded(job);
  matching = matchRanks(each, limit);
  if (const auto deadlock = findDeadlock(each, matching.meetings)) return {*deadlock};
  return {};
}

}  // namespace tokamak
