// Communication requests: what a statement of a local program asks of the rank's team.
#pragma once

#include <vector>

#include "dist/communication_request.h"
#include "host/run/statement_runner.h"

namespace tokamak {

/// The memory that a communication has on this rank; null where it has none.
struct CommunicationMemory {
  const RunTensor* in = nullptr;
  const RunTensor* out = nullptr;
};

/// A communication as this rank takes part in it. It reads elements of `memory.in` if it reads any, and writes
/// `memory.out`.
struct RankRequest {
  CommunicationRequest request;
  std::vector<int64_t> team;  ///< empty: all ranks of the job
  CommunicationMemory memory;
};

/// The request of a Communication, P2PCommunication or CollectivePermute, of rank `rank`. Sizes are those of the
/// tensors: parts lie one behind the other in the axis that is the outermost one in memory of those longer than 1.
/// Errors: HostProgram, naming the statement and the tensor, for elements that do not lie together in the order that
/// the program says (memoryOrder()), and for sizes of input and output that do not belong together; peers without a
/// value.
RankRequest requestOf(const Expr& statement, const CommunicationMemory& memory, const ScalarBindings& scalars,
                      int64_t rank);

}  // namespace tokamak
