// NcclJob: one rank's end of a job over NCCL: its library and its kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dist/nccl/nccl_library.h"
#include "dist/nccl/nccl_team_table.h"
#include "dist/nccl/staged_reduction.h"
#include "dist/sockets/socket_job.h"

namespace tokamak {

struct NcclOptions;

/// Thread safety: any threads may use it side by side.
class NcclJob final : public SocketJob, public std::enable_shared_from_this<NcclJob> {
 public:
  /// Errors: as ncclCommunicator(), but those of requireOneVersion().
  NcclJob(Bootstrap& bootstrap, const NcclLibrary& library, std::shared_ptr<Device> device, const NcclOptions& options);
  NcclJob(const NcclJob&) = delete;
  NcclJob& operator=(const NcclJob&) = delete;
  ~NcclJob() override { disconnect(); }

  /// All ranks call it. Errors: CommunicationError (Mismatch) for ranks with other versions of Tokamak or NCCL.
  void requireOneVersion();

  const NcclLibrary& library() const { return library_; }
  ReductionKernels& kernels() { return kernels_; }
  CommunicatorBackend backend() const override { return CommunicatorBackend::NCCL; }
  /// As stateOf().
  std::shared_ptr<NcclTeamTable> table(std::span<const int64_t> ranks, int64_t epoch) {
    return std::static_pointer_cast<NcclTeamTable>(stateOf(ranks, epoch));
  }
  std::shared_ptr<const Work> workOf(const std::shared_ptr<TeamState>& team,
                                     std::span<const CommunicationRequest> group) override;

 private:
  std::shared_ptr<SocketTeam> makeTeam(std::vector<int64_t> ranks, int64_t epoch) override;

  const NcclLibrary& library_;
  ReductionKernels kernels_;
};

}  // namespace tokamak
