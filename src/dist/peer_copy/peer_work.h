// PeerWork: one rank's part in communications by copies from memory of the others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dist/communication_operands.h"
#include "dist/communication_request.h"
#include "dist/peer_copy/peer_job.h"
#include "dist/peer_copy/peer_reads.h"
#include "dist/peer_copy/peer_team_table.h"
#include "dist/sockets/socket_work.h"
#include "runtime/cuda/stream_memory.h"

namespace tokamak {

/// Operands: as TeamCommunicator::prepare() says. The stream's thread tells the others where this rank's memory is, and
/// gives the GPU, in turn: its own flags, waits for those of others, copies. A wait is given to the GPU only when the
/// others have said that theirs was told to write what it waits for. So a GPU that waits never waits for a host, and
/// streams may share queues of the hardware (docs/devices_design.md, "Peer copies").
class PeerWork final : public SocketWork<PeerJob, PeerTeamTable, PeerRun> {
 public:
  /// Legal requests. Errors: Unsupported for a reduction where nothing compiles CUDA; Device, OutOfMemory.
  PeerWork(std::shared_ptr<PeerJob> job, std::shared_ptr<PeerTeamTable> table,
           std::span<const CommunicationRequest> group);

  int64_t hostBytes() const override;
  void makeReadyOn(DriverContext& context, driver::Stream stream) const override;

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
  void runAll(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const override;
  void stop() const noexcept override;

  std::vector<Plan> plans_;  // per request
  int64_t scratch_bytes_ = 0;
  std::unique_ptr<StreamMemory> scratch_;  // terms of others
  mutable std::vector<Awaited> awaited_;   // flags that the GPU was told to wait for
};

}  // namespace tokamak
