// TeamCommunicator: ranks of a job that communicate with one another, as one of them has them.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "device/work.h"
#include "dist/communication_request.h"
#include "dist/job_communicator.h"
#include "dist/operation_log.h"

namespace tokamak {

/// The ranks of a team, as one of them sees them, bound to its device. Its works communicate between memory of the
/// devices, on streams that belong to the team.
///
/// To post a communication is: an event on the stream that has its operands, a wait for it on streamOf(request), the
/// launch of prepare(request) there, an event behind it. To wait for it is: a stream waits for that event. The works
/// of one stream run in the order in which they were launched, on every rank in the same order; nobody numbers them.
/// Sends to one rank (and receives from one) that are not on one stream, as they are in groups and alone, are ordered
/// by whoever launches them.
///
/// A work never is skipped: behind a failure it tells the others that this rank leaves with an error. The team is
/// broken then on all ranks: every work and every prepare() raises the same CommunicationError, until a new team is
/// formed, which has the next epoch. Every wait ends: by the others, by an error of theirs, or by the time-out.
/// Memory that others may still read stays in use until they are out, also when a work fails.
/// Thread safety: any threads may use it side by side; works of one stream are launched by one thread at a time, in the
/// order that the other ranks have.
class TeamCommunicator {
 public:
  TeamCommunicator() = default;
  TeamCommunicator(const TeamCommunicator&) = delete;
  TeamCommunicator& operator=(const TeamCommunicator&) = delete;
  virtual ~TeamCommunicator();

  /// The ranks of the team, in its order; numbers of the job.
  virtual std::span<const int64_t> ranks() const = 0;
  /// This rank.
  virtual int64_t rank() const = 0;
  /// How often a team of these ranks, in this order, broke before.
  virtual int64_t epoch() const = 0;

  /// Makes communications ready to be launched together on stream(), any number of times. Its operands are, for each
  /// request, the address of the input and that of the output; null where the rank has none, or has no elements there.
  /// Those of a group run at the same time: sends and receives of one group do not wait for one another.
  /// The work may outlive the team's object. Errors: Usage for what this rank cannot ask for (requireLegal());
  /// CommunicationError of a team that is broken. Launched, it raises Bind for addresses that are missing or overlap.
  virtual std::shared_ptr<const Work> prepare(std::span<const CommunicationRequest> group) = 0;
  std::shared_ptr<const Work> prepare(const CommunicationRequest& request) { return prepare(std::span(&request, 1)); }

  /// Where collectives and groups run.
  virtual Stream& stream() = 0;
  /// Where sends to this rank, or receives from it, run that are in no group: a stream of its own each, so that a ring
  /// of sends does not wait for itself. Errors: Usage for a rank that is no other of the team.
  virtual Stream& stream(P2pType type, int64_t peer) = 0;
  /// Where one communication runs that is in no group. Errors: as stream().
  Stream& streamOf(const CommunicationRequest& request);

  /// This rank takes part no more, because of this error: the team is broken. Does nothing where it is already.
  virtual void leave(const std::exception_ptr& error) = 0;
  /// Raises the CommunicationError of a team that is broken.
  virtual void requireWhole() const = 0;
};

/// As exchange(), alive() and team() ask. `needs_own`: this rank has to be one of them. Errors: Usage.
struct RankList {
  std::span<const int64_t> ranks;
  int64_t own = 0;
  int64_t job_size = 0;
  bool needs_own = true;
};
void requireRanks(const RankList& list, std::string_view operation);

}  // namespace tokamak
