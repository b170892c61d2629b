// A judge of programs of several ranks that knows nothing of the checker: it runs them in every order.
#pragma once

#include <optional>
#include <string>

#include "rank_proof/rank_programs.h"

namespace tokamak {

struct RankVerdict {
  std::string fault;   ///< the first one that an order has; empty: none has any
  int64_t states = 0;  ///< that were looked at
};

/// Runs the program in all orders that streams, waits and communications allow, one state after the other. Faults are:
/// operations of one rank that may run at the same time and touch the same buffer, one writing it; communications that
/// meet and differ; transfers that meet in another order than the one in which they were written; an end at which not
/// all is done. Nothing where there are more states than `most_states`.
std::optional<RankVerdict> judgeByAllOrders(const RankTexts& program, int64_t most_states);

}  // namespace tokamak
