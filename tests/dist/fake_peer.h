// Peer copies on the fake driver for tests: jobs over it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../device/fake_cuda.h"
#include "dist/communicator.h"
#include "dist/peer_copy/peer_communicator.h"

namespace tokamak {

/// The kernels of peer_reduction.h, as the fake driver has them.
std::string fakePeerKernels();

struct FakePeerJob {
  int64_t ranks = 1;
  int64_t gpus = 8;  ///< rank r has number r modulo this
  std::chrono::milliseconds timeout = std::chrono::seconds(20);
};
/// The communicators of a job whose ranks are threads. Its settings of the driver are the caller's (FakeSettings).
std::vector<std::unique_ptr<Communicator>> fakePeerCommunicators(const FakePeerJob& job);

}  // namespace tokamak
