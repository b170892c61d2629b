// CommunicationCost: what a communication takes by the model, and what of each party's links (docs/simulate.md).
#pragma once

#include <vector>

#include "simulate/machine.h"
#include "simulate/meetings.h"

namespace tokamak {

/// Bytes that a party of a meeting sends and receives.
struct MovedBytes {
  double sent = 0;
  double received = 0;
};

struct CommunicationCost {
  double latency = 0;                  ///< seconds that do not depend on the bytes
  double seconds = 0;                  ///< of the bytes, alone
  std::vector<MovedBytes> moved = {};  ///< per party
  bool is_over_network = false;        ///< parties are of several hosts, so that all of it counts as the network's
  bool stays_in_memory = false;        ///< there is one party: a copy
};

/// Of a meeting whose parties are all there. d members, n bytes in all; a link or network of latency l and bandwidth B,
/// of which the transport reaches b; a step takes the transport's step latency and l. Each communication takes the
/// transport's latency, its steps, and the most bytes that a member sends or receives, divided by b.
/// Ring: Allgather and ReduceScatter d - 1 steps and (d - 1) / d n bytes; Allreduce the lesser of both one after the
/// other, and of a tree's 2 ceil(log2 d) steps and 2 n bytes; Broadcast and Reduce d - 1 steps and n bytes, in a
/// pipeline. Direct, and all kinds that have no ring: each part from its owner, whose link is the limit.
/// Sources: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", 2005; the
/// bus bandwidth of NCCL's tests (PERFORMANCE.md there).
/// Errors: Unsupported for a reduction by a transport that is direct; Usage where a team is of several hosts, and the
/// machine has no network.
CommunicationCost costOf(const RankMeeting& meeting, const Machine& machine, const MachineTransport& transport);

}  // namespace tokamak
