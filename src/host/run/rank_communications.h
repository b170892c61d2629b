// RankCommunications: the teams of a rank that a host program communicates in, and the works that were prepared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/work.h"
#include "dist/communicator.h"
#include "host/ir/host_ir_container.h"
#include "host/run/communication_requests.h"

namespace tokamak {

/// Whether the program has statements that communicate, or is a rank's part of a program that has.
bool hasCommunications(const HostIrContainer& program);

/// One epoch of a program's teams: when one of them breaks, all are replaced by new ones, with new works. It lives as
/// long as its works may run.
/// Thread safety: any threads may use it side by side, as far as that is legal for the teams' streams.
class RankCommunications {
 public:
  /// Forms all teams of the local program: every rank of them does so. P2PCommunications are of all ranks of the job.
  /// Errors: those of Communicator::team().
  RankCommunications(const HostIrContainer& program, Communicator& communicator);

  /// What is launched for requests that are posted as one, and where.
  struct Prepared {
    std::shared_ptr<const Work> work;
    Stream* stream = nullptr;
  };
  enum class Posted : uint8_t { Alone, InGroup };
  /// Makes works once per list of requests. Errors: HostProgram for a group of several teams; those of
  /// TeamCommunicator::prepare().
  Prepared prepare(std::span<const RankRequest> requests, Posted posted);

  /// The team of all ranks that have a part of the program; null where that is not known, or nobody communicates.
  TeamCommunicator* programTeam() const { return program_team_.get(); }

  int64_t rank() const { return communicator_.rank(); }
  /// Whether no team is known to be broken.
  bool isWhole() const;
  /// Raises the CommunicationError of a team that is broken.
  void requireWhole() const;
  /// The others are told that this rank takes part no more.
  void leave(const std::exception_ptr& error) const;
  size_t works() const;

 private:
  TeamCommunicator& teamOf(const RankRequest& request);
  const std::shared_ptr<TeamCommunicator>& form(const std::vector<int64_t>& ranks);

  Communicator& communicator_;
  uint64_t program_ = 0;  // CommunicationRequest::program
  std::vector<int64_t> all_ranks_;
  mutable std::mutex mutex_;
  std::map<std::vector<int64_t>, std::shared_ptr<TeamCommunicator>> teams_;
  std::shared_ptr<TeamCommunicator> program_team_;  // one of them
  // By team, whose list of ranks may be long, and requests.
  std::map<std::pair<const TeamCommunicator*, std::vector<int64_t>>, std::shared_ptr<const Work>> works_;
};

}  // namespace tokamak
