// NcclWork: one rank's part in communications between GPUs over NCCL.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dist/communication_operands.h"
#include "dist/communication_request.h"
#include "dist/nccl/nccl_calls.h"
#include "dist/nccl/nccl_job.h"
#include "dist/nccl/nccl_team_table.h"
#include "dist/sockets/socket_work.h"
#include "runtime/cuda/stream_memory.h"

namespace tokamak {

/// Operands: as TeamCommunicator::prepare() says. The stream's thread gives NCCL the calls of a group, and watches:
/// it polls until they are in the stream and until the GPU is through with them, sees errors of NCCL and of others,
/// and ends the wait by an abort of the communicator.
class NcclWork final : public SocketWork<NcclJob, NcclTeamTable, NcclRun> {
 public:
  /// Legal requests. Errors: Unsupported for a reduction that has to be staged where nothing compiles CUDA; Device.
  NcclWork(std::shared_ptr<NcclJob> job, std::shared_ptr<NcclTeamTable> table,
           std::span<const CommunicationRequest> group);

  int64_t hostBytes() const override;
  void makeReadyOn(DriverContext& context, driver::Stream stream) const override;

 private:
  struct Kernel {
    std::shared_ptr<const CudaWork> work;
    NcclCall::Place from;
    NcclCall::Place to;
  };
  class Watch;

  void addCalls(const CommunicationRequest& request, size_t number);
  void addStaged(const CommunicationRequest& request, size_t number);
  void runAll(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const override;
  void stop() const noexcept override;
  void connect(Watch& watch) const;
  void tell(Watch& watch, DriverContext& context, driver::Stream stream, std::span<void* const> buffers) const;

  std::vector<CommunicationOperands> operands_;  // per request
  std::vector<NcclCall> calls_;
  std::vector<Kernel> before_;
  std::vector<Kernel> after_;
  int64_t staged_bytes_ = 0;
  std::unique_ptr<StreamMemory> staged_;  // the buffer behind those of the requests
  NcclChannel* channel_ = nullptr;        // whose communicator it uses
  bool needs_connection_ = false;
  mutable std::vector<void*> buffers_;
};

}  // namespace tokamak
