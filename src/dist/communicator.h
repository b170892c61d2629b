// Communicator: what one rank of a job has of the others: their bytes, their life, and teams that communicate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "device/work.h"
#include "dist/communication_request.h"
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

/// One rank of a job, bound to the device that it computes on. When it is destroyed, the rank has left: others that
/// wait for it get an error. Its teams may outlive it.
/// Thread safety: any threads may use it side by side.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator();

  /// From 0 to size() - 1.
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  virtual const std::shared_ptr<Device>& device() const = 0;

  /// Gives `bytes` to each of `ranks`, of which this one is, and returns what each of them gave, in the order of
  /// `ranks`. Each of them has to call it with the same tag and the same ranks, the n-th call of one meets the n-th
  /// calls of the others; of different tags or ranks the order is free. Blocks the calling thread; not for work of the
  /// device. Errors: Usage for ranks that are repeated, are not of the job, or lack this one; CommunicationError when
  /// one of them is gone, or does not come in time.
  virtual std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                                       std::span<const std::byte> bytes) = 0;
  /// Those of `ranks` that are not known to be gone. Never blocks. Errors: Usage for one that is not of the job.
  virtual std::vector<int64_t> alive(std::span<const int64_t> ranks) const = 0;
  /// The team of these ranks in this order, of which this one is. While the one that this rank had last is whole, it is
  /// that; else a new one, of the next epoch, the first being 0: each rank sees each breakage once, so that ranks which
  /// do the same after it are in the same epoch. Every member has to call it; may wait for the others to do so.
  /// Errors: Usage as exchange(); CommunicationError when a member is gone, or (where it waits) does not come in time.
  virtual std::shared_ptr<TeamCommunicator> team(std::span<const int64_t> ranks) = 0;
  /// The last operations of all teams of this rank. Null: nobody runs them.
  virtual std::shared_ptr<const OperationLog> operations() const { return nullptr; }
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
