// PeerWork: one rank's part in communications by copies from memory of the others.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dist/communication_operands.h"
#include "dist/communication_request.h"
#include "dist/peer_copy/peer_job.h"
#include "dist/peer_copy/peer_reads.h"
#include "dist/peer_copy/peer_team_table.h"
#include "runtime/cuda/cuda_host_work.h"
#include "runtime/cuda/stream_memory.h"

namespace tokamak {

/// Operands: as TeamCommunicator::prepare() says. The stream's thread tells the others where this rank's memory is, and
/// gives the GPU, in turn: its own flags, waits for those of others, copies. A wait is given to the GPU only when the
/// others have said that theirs was told to write what it waits for. So a GPU that waits never waits for a host, and
/// streams may share queues of the hardware (docs/devices_design.md, "Peer copies").
class PeerWork final : public CudaHostWork {
 public:
  /// Legal requests. Errors: Unsupported for a reduction where nothing compiles CUDA; Device, OutOfMemory.
  PeerWork(std::shared_ptr<PeerJob> job, std::shared_ptr<PeerTeamTable> table,
           std::span<const CommunicationRequest> group);
  ~PeerWork() override;

  std::string_view name() const override { return name_; }
  int64_t hostBytes() const override;
  void makeReadyOn(DriverContext& context, driver::Stream stream) const override;
  void run(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const override;
  void skip(const std::exception_ptr& cause) const noexcept override;
  void notePosted() const noexcept override { job_->log()->post(runs_); }

 private:
  struct Plan {
    CommunicationOperands operands;
    PeerReads reads;
    int64_t chunk = 0;  // elements of a term that are reduced at a time
    std::shared_ptr<const CudaWork> reduction;
  };
  struct Awaited {
    driver::Address flag = 0;
    uint64_t value = 0;
    PeerTeamTable::Missing what;
  };
  class Watch;
  class Issue;

  void addPlan(const CommunicationRequest& request, PeerRun::Item& item);
  void runAll(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const;
  void breakBecauseOf(const std::exception_ptr& error) const noexcept;
  void abandon(DriverContext& context, driver::Stream stream) const noexcept;

  const std::shared_ptr<PeerJob> job_;
  const std::shared_ptr<PeerTeamTable> table_;
  std::string name_;
  std::vector<Plan> plans_;  // per request
  int64_t scratch_bytes_ = 0;
  std::unique_ptr<StreamMemory> scratch_;  // terms of others
  mutable driver::Event ready_ = nullptr;  // what stands before the work
  mutable driver::Event over_ = nullptr;
  mutable PeerRun run_;
  mutable OperationRuns runs_;            // in the log
  mutable std::vector<Awaited> awaited_;  // flags that the GPU was told to wait for
  mutable std::atomic<bool> is_running_ = false;
};

}  // namespace tokamak
