// NcclJob: one rank's end of a job over NCCL: its library and device, its teams, and what other ranks say of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dist/nccl/nccl_library.h"
#include "dist/nccl/nccl_team_table.h"
#include "dist/nccl/staged_reduction.h"
#include "dist/operation_log.h"
#include "dist/sockets/rank_sockets.h"
#include "runtime/cuda/cuda_device.h"

namespace tokamak {

struct NcclOptions;

/// Thread safety: any threads may use it side by side.
class NcclJob final : public RankSockets::Listener {
 public:
  /// Errors: as ncclCommunicator().
  NcclJob(Bootstrap& bootstrap, const NcclLibrary& library, std::shared_ptr<Device> device, const NcclOptions& options);

  RankSockets& sockets() { return *sockets_; }
  const NcclLibrary& library() const { return library_; }
  const std::shared_ptr<Device>& device() const { return device_; }
  const std::shared_ptr<DriverContext>& context() const { return context_; }
  ReductionKernels& kernels() { return kernels_; }
  const std::shared_ptr<OperationLog>& log() const { return log_; }

  /// Of the team in this epoch. Errors: CommunicationError where one of the ranks will not come any more.
  std::shared_ptr<NcclTeamTable> table(std::span<const int64_t> ranks, int64_t epoch);
  /// The others learn how far this rank came; its teams' communicators are gone then.
  void leave();

  void receive(int64_t rank, std::span<const std::byte> message) override;
  void noteDeath(int64_t rank) override;

 private:
  using Key = std::pair<std::vector<int64_t>, int64_t>;
  /// Null: of an epoch that this rank has left behind, and no work of it.
  std::shared_ptr<NcclTeamTable> tableAt(const Key& key);
  std::vector<std::shared_ptr<NcclTeamTable>> takeOld(const Key& key);
  std::vector<std::shared_ptr<NcclTeamTable>> tablesOf(int64_t rank);
  void noteGone(const Breakage& breakage);
  void noteLeft(int64_t rank, MessageReader& message);

  const NcclLibrary& library_;
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<DriverContext> context_;
  const std::chrono::milliseconds timeout_;
  const std::shared_ptr<OperationLog> log_;
  ReductionKernels kernels_;
  std::mutex mutex_;
  std::condition_variable made_;
  std::map<Key, std::shared_ptr<NcclTeamTable>> tables_;
  std::map<std::vector<int64_t>, int64_t> reached_;  // the epoch that this rank is in
  std::vector<uint8_t> has_left_;                    // per rank: it said so
  std::vector<uint8_t> is_over_;          // per rank: it comes to nothing any more, as it or another one said
  std::unique_ptr<RankSockets> sockets_;  // its thread calls this: gone first, ready last
};

}  // namespace tokamak
