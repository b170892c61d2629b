// Operation texts: what errors of teams call an operation, and say of one that did not come to its end.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dist/communication_request.h"

namespace tokamak {

/// An operation of a team: a collective, or a transfer from one rank to another.
struct OperationPlace {
  std::span<const int64_t> team;
  int64_t epoch = 0;
  std::span<const int64_t> transfer = {};  ///< sender and receiver; empty: a collective
  int64_t number = 0;
};

/// "Allreduce 7 of team (0 1 2 3)", "transfer 0 from rank 1 to rank 0 of team (0 1) in epoch 2".
std::string operationName(const OperationPlace& place, CommunicationKind kind);

/// What a rank did last in a team.
struct LastOperation {
  CommunicationKind kind = CommunicationKind::Gather;
  int64_t number = -1;  ///< nothing yet
};

/// What two ranks meant by one operation; where each stands in its group.
struct RankOperation {
  const CommunicationRequest& request;
  int64_t rank = 0;
  int64_t group_size = 1;
  int64_t group_position = 0;
};
/// Why these two, of ranks of the team in ascending position, are not one operation; empty: they are.
std::string mismatchText(const OperationPlace& place, const RankOperation& a, const RankOperation& b);

/// That a rank did not come to an operation, or to its end, in time.
std::string lateText(int64_t rank, const std::string& operation, int64_t milliseconds, const LastOperation& last);
std::string lateEndText(int64_t rank, const std::string& operation, int64_t milliseconds);

/// That a rank left the job, and which ranks it knew to be dead.
std::string leftText(int64_t rank, std::span<const int64_t> dead);

}  // namespace tokamak
