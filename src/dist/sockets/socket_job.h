// SocketJob: one rank's end of a job between GPUs whose ranks talk over sockets: its teams, and what others say of
// them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dist/epoch_tables.h"
#include "dist/job_end.h"
#include "dist/operation_log.h"
#include "dist/sockets/bootstrap.h"
#include "dist/sockets/rank_sockets.h"
#include "dist/sockets/socket_team.h"
#include "runtime/cuda/cuda_device.h"

namespace tokamak {

/// An engine's job derives from it. The thread of the sockets calls both: the engine's constructor calls connect()
/// when all else is made, and its destructor disconnect() first.
class SocketJob : public JobEnd, public RankSockets::Listener {
 public:
  RankSockets& sockets() { return *sockets_; }
  const std::shared_ptr<DriverContext>& context() const { return context_; }

  int64_t rank() const override { return sockets_->rank(); }
  int64_t size() const override { return sockets_->size(); }
  const std::shared_ptr<Device>& device() const override { return device_; }
  const std::shared_ptr<OperationLog>& log() const override { return log_; }
  std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                               std::span<const std::byte> bytes) override {
    return sockets_->exchange(tag, ranks, bytes);
  }
  std::vector<int64_t> alive(std::span<const int64_t> ranks) const override { return sockets_->alive(ranks); }
  std::shared_ptr<TeamState> stateOf(std::span<const int64_t> ranks, int64_t epoch) override;
  void beginLeaving() override { sockets_->leave(); }
  /// The others learn how far this rank came; its teams are closed then.
  void endLeaving() override;

  void receive(int64_t rank, std::span<const std::byte> message) override;
  void noteDeath(int64_t rank) override;

 protected:
  struct Options {
    std::chrono::milliseconds timeout;  ///< of each wait for other ranks
    std::string operations;             ///< where a rank writes its last operations: OperationLog's file
  };
  /// A GPU.
  SocketJob(const Bootstrap& bootstrap, std::shared_ptr<Device> device, const Options& options);

  /// Errors: as RankSockets.
  void connect(Bootstrap& bootstrap);
  void disconnect();
  void tellAll(const MessageWriter& message);

  /// The engine's table.
  virtual std::shared_ptr<SocketTeam> makeTeam(std::vector<int64_t> ranks, int64_t epoch) = 0;
  /// Whether the message is one between the engine's jobs, and of no team; with the mutex held.
  virtual bool receiveOwn(uint8_t /*kind*/, int64_t /*rank*/, MessageReader& /*message*/) { return false; }

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<DriverContext> context_;
  const std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  RankSockets* sockets_ = nullptr;  // null: not connected yet

 private:
  using Tables = EpochTables<SocketTeam>;
  void waitUntilConnected(std::unique_lock<std::mutex>& lock);
  std::shared_ptr<SocketTeam> tableAt(const Tables::Key& key);
  Tables::Tables tablesOf(int64_t rank);
  void noteGone(const Breakage& breakage);
  void noteLeft(int64_t rank, MessageReader& message);

  const std::shared_ptr<OperationLog> log_;
  std::unique_ptr<RankSockets> connection_;  // its thread uses the pointer to it until it is gone
  std::condition_variable made_;
  Tables tables_;
  std::vector<uint8_t> has_left_;  // per rank: it said so
  std::vector<uint8_t> is_over_;   // per rank: it comes to nothing any more, as it or another one said
};

}  // namespace tokamak
