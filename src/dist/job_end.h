// JobEnd: one rank's end of a job, as an engine has it: a Communicator and its teams are made over it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "device/work.h"
#include "dist/communication_request.h"
#include "dist/job_communicator.h"
#include "dist/operation_log.h"
#include "dist/team_state.h"
#include "ir/ops/host/communication.h"

namespace tokamak {

/// What a Communicator asks of its engine, with arguments that are checked.
/// Thread safety: any threads may use it side by side.
class JobEnd {
 public:
  JobEnd() = default;
  JobEnd(const JobEnd&) = delete;
  JobEnd& operator=(const JobEnd&) = delete;
  virtual ~JobEnd() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  virtual const std::shared_ptr<Device>& device() const = 0;
  virtual CommunicatorBackend backend() const = 0;
  virtual const std::shared_ptr<OperationLog>& log() const = 0;

  /// As Communicator says.
  virtual std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                                       std::span<const std::byte> bytes) = 0;
  virtual std::vector<int64_t> alive(std::span<const int64_t> ranks) const = 0;
  /// Of the team in this epoch; the rank asks for no epoch before it again.
  /// Errors: CommunicationError where one of the ranks will not come any more.
  virtual std::shared_ptr<TeamState> stateOf(std::span<const int64_t> ranks, int64_t epoch) = 0;
  /// Of a team of this job; legal requests. Errors: of the engine's works.
  virtual std::shared_ptr<const Work> workOf(const std::shared_ptr<TeamState>& team,
                                             std::span<const CommunicationRequest> group) = 0;

  /// The others learn that this rank exchanges no more, and then, when the streams of its teams are drained, that its
  /// works are over.
  virtual void beginLeaving() = 0;
  virtual void endLeaving() = 0;
};

/// The communicator of this end; when it is destroyed, the rank leaves. Its teams hold the end as long as they live.
std::unique_ptr<Communicator> communicatorOver(std::shared_ptr<JobEnd> end);

}  // namespace tokamak
