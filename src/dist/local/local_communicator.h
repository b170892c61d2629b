// Local communicators: the ranks of a job are threads of one process.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dist/communicator.h"
#include "dist/local/local_faults.h"

namespace tokamak {

struct LocalOptions {
  std::chrono::milliseconds timeout{600'000};  ///< of each wait for other ranks; positive
  LocalFaults faults = {};
  std::string operations = {};  ///< where a rank writes its last operations after an error: OperationLog's file
};

/// The communicators of a job with a rank on each of these devices, in their order. Ranks may have a device of their
/// own, or share one: each team's works run on streams of its own, whose threads may wait for other ranks; nothing else
/// does. Devices whose memory is the host's (openCpuDevice()) are taken.
/// When a communicator is destroyed, its rank has left: that waits for the works of its teams.
/// Errors: Usage without devices, or for a time-out that is not positive; Unsupported for a device of another kind.
std::vector<std::unique_ptr<Communicator>> makeLocalCommunicators(std::span<const std::shared_ptr<Device>> devices,
                                                                  const LocalOptions& options = {});

}  // namespace tokamak
