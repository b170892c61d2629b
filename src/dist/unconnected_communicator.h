// UnconnectedCommunicator: a rank of a job that nobody runs. Its works are never launched: they say what they would do.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dist/communicator.h"
#include "ir/ops/host/communication.h"

namespace tokamak {

/// What is recorded with it can be checked and not run. It has no device, and its teams never break.
/// Thread safety: as Communicator.
class UnconnectedCommunicator final : public Communicator {
 public:
  /// Errors: Usage for a rank that is not of the job.
  UnconnectedCommunicator(int64_t rank, int64_t size);

  /// What a work would do.
  struct Group {
    std::span<const int64_t> team;  ///< as long as the communicator
    std::vector<CommunicationRequest> requests;
  };
  /// Of a work that a team of this communicator made; null for others. It lives as long as the communicator.
  const Group* groupOf(const Work& work) const;

  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  const std::shared_ptr<Device>& device() const override { return device_; }
  CommunicatorBackend backend() const override { return CommunicatorBackend::Local; }

  /// Errors: Unsupported.
  std::vector<std::vector<std::byte>> exchange(std::string_view tag, std::span<const int64_t> ranks,
                                               std::span<const std::byte> bytes) override;
  std::vector<int64_t> alive(std::span<const int64_t> ranks) const override;
  std::shared_ptr<TeamCommunicator> team(std::span<const int64_t> ranks) override;

 private:
  class Team;
  class Described;
  struct OwnStream;

  std::shared_ptr<const Work> describe(Group group);

  const int64_t rank_;
  const int64_t size_;
  const std::shared_ptr<Device> device_;  // none
  mutable std::mutex mutex_;
  std::map<std::vector<int64_t>, std::shared_ptr<TeamCommunicator>> teams_;
  std::map<const Work*, std::shared_ptr<const Described>> works_;
};

}  // namespace tokamak
