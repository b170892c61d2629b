#include "dist/communicator.h"

#include <algorithm>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

TeamCommunicator::~TeamCommunicator() = default;
Communicator::~Communicator() = default;

Stream& TeamCommunicator::streamOf(const CommunicationRequest& request) {
  if (request.kind == CommunicationKind::Send) return stream(P2pType::Send, request.send_to);
  if (request.kind == CommunicationKind::Recv) return stream(P2pType::Recv, request.receive_from);
  return stream();
}

void requireRanks(const RankList& list, std::string_view operation) {
  for (size_t i = 0; i < list.ranks.size(); ++i) {
    const int64_t rank = list.ranks[i];
    TK_REQUIRE(rank >= 0 && rank < list.job_size, Usage, "{}: rank {} is not of the job, which has {} ranks, from 0 on",
               operation, rank, list.job_size);
    TK_REQUIRE(std::ranges::find(list.ranks.first(i), rank) == list.ranks.begin() + static_cast<std::ptrdiff_t>(i),
               Usage, "{}: rank {} is named twice in ({})", operation, rank, joined(list.ranks, " "));
  }
  TK_REQUIRE(!list.needs_own || positionOf(list.ranks, list.own) >= 0, Usage,
             "{}: rank {} is not one of ({}); each of them makes the call itself", operation, list.own,
             joined(list.ranks, " "));
}

}  // namespace tokamak
