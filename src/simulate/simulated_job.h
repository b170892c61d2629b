// SimulatedJob: the job of a timeline, made of the steps of ranks and of their meetings, with what each takes of which
// rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulate/communication_cost.h"
#include "simulate/job_timeline.h"
#include "simulate/machine.h"
#include "simulate/meetings.h"
#include "simulate/rank_steps.h"

namespace tokamak {

/// What activities of a rank share.
enum class RankResource : uint8_t {
  Multiprocessors,  ///< arithmetic of kernels takes of these; transports hold some
  Memory,           ///< its bandwidth
  LinkOut,          ///< to and from ranks of the host
  LinkIn,
  NetworkOut,  ///< to and from those of other hosts
  NetworkIn,
  HostIn,  ///< from the host's memory
  HostOut,
  CopyEngines,
};
inline constexpr size_t kRankResources = 9;

/// The ranks, their classes, and what they do.
struct RankJobParts {
  std::span<const RankSteps> ranks;
  std::span<const size_t> classes;  ///< per rank (rankClasses()); each rank's own: all are simulated
  std::span<const RankMeeting> meetings;
  std::span<const CommunicationCost> costs;
  const Machine& machine;
  const MachineTransport& transport;
};

/// A job with one rank of each class.
struct SimulatedJob {
  Job job;
  std::vector<size_t> representatives;  ///< per class: its first rank
  std::vector<size_t> first_task;       ///< per class: of the job's tasks, which are in the rank's order; and the end
  std::vector<bool> is_communication;   ///< per activity
};

/// Resource `kind` of class c is number c * kRankResources + kind; the job's tracks are c * (most streams) + stream.
/// A kernel takes its arithmetic, or its bytes by the memory's bandwidth, whichever is longer, after a latency.
/// Where it has bytes in the host's memory, these take that link; what computes nothing is a copy, by an engine.
/// Errors: Usage for products of a type that the machine has no rate for.
SimulatedJob rankJob(const RankJobParts& parts);

}  // namespace tokamak
