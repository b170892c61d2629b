// NcclWork: one rank's part in communications between GPUs over NCCL.
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
#include "dist/nccl/nccl_calls.h"
#include "dist/nccl/nccl_job.h"
#include "dist/nccl/nccl_team_table.h"
#include "runtime/cuda/cuda_host_work.h"
#include "runtime/cuda/stream_memory.h"

namespace tokamak {

/// Operands: as TeamCommunicator::prepare() says. The stream's thread gives NCCL the calls of a group, and watches:
/// it polls until they are in the stream and until the GPU is through with them, sees errors of NCCL and of others,
/// and ends the wait by an abort of the communicator. After an error it stays until no rank that lives reads memory of
/// another one any more, but no longer than a second.
class NcclWork final : public CudaHostWork {
 public:
  /// Legal requests. Errors: Unsupported for a reduction that has to be staged where nothing compiles CUDA; Device.
  NcclWork(std::shared_ptr<NcclJob> job, std::shared_ptr<NcclTeamTable> table,
           std::span<const CommunicationRequest> group);
  ~NcclWork() override;

  std::string_view name() const override { return name_; }
  int64_t hostBytes() const override;
  void makeReadyOn(DriverContext& context, driver::Stream stream) const override;
  void run(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const override;
  void skip(const std::exception_ptr& cause) const noexcept override;
  void notePosted() const noexcept override { job_->log()->post(runs_); }

 private:
  struct Kernel {
    std::shared_ptr<const CudaWork> work;
    NcclCall::Place from;
    NcclCall::Place to;
  };
  class Watch;

  void addCalls(const CommunicationRequest& request, size_t number);
  void addStaged(const CommunicationRequest& request, size_t number);
  void runAll(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const;
  void connect(Watch& watch) const;
  void tell(Watch& watch, DriverContext& context, driver::Stream stream, std::span<void* const> buffers) const;
  void breakBecauseOf(const std::exception_ptr& error) const noexcept;
  void abandon(DriverContext& context, driver::Stream stream) const noexcept;

  const std::shared_ptr<NcclJob> job_;
  const std::shared_ptr<NcclTeamTable> table_;
  std::string name_;
  std::vector<CommunicationOperands> operands_;  // per request
  std::vector<NcclCall> calls_;
  std::vector<Kernel> before_;
  std::vector<Kernel> after_;
  int64_t staged_bytes_ = 0;
  std::unique_ptr<StreamMemory> staged_;  // the buffer behind those of the requests
  NcclChannel* channel_ = nullptr;        // whose communicator it uses
  bool needs_connection_ = false;
  mutable driver::Event ready_ = nullptr;  // what stands before the work
  mutable driver::Event over_ = nullptr;
  mutable NcclRun run_;
  mutable OperationRuns runs_;  // as the log has them
  mutable std::vector<void*> buffers_;
  mutable std::atomic<bool> is_running_ = false;
};

}  // namespace tokamak
