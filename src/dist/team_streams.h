// TeamStreams: the streams of a team's communications on one rank's device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "device/device.h"
#include "ir/ops/host/p2p_communication.h"

namespace tokamak {

/// As TeamCommunicator says of streams. Thread safety: any threads may use it side by side.
class TeamStreams {
 public:
  TeamStreams(std::span<const int64_t> ranks, int64_t rank, std::shared_ptr<Device> device);

  Stream& ofCollectives() { return *collectives_; }
  /// Errors: Usage for a rank that is no other of the team.
  Stream& ofTransfers(P2pType type, int64_t peer);
  /// Returns when all that the streams have to do is done; failures stay theirs.
  void drain();

 private:
  const std::vector<int64_t> ranks_;
  const int64_t rank_;
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<Stream> collectives_;
  std::mutex mutex_;
  std::map<std::pair<P2pType, int64_t>, std::shared_ptr<Stream>> transfers_;
};

}  // namespace tokamak
