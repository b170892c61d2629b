// The fake NCCL for tests: jobs over it, and what it still holds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../device/fake_cuda.h"
#include "dist/communicator.h"
#include "dist/nccl/nccl_communicator.h"

namespace tokamak {

/// What FakeSettings have for a job of up to eight ranks.
inline constexpr const char* kFakeGpus = "devices=8 memory=4000000000";

/// The kernels of staged_reduction.h, as the fake driver has them.
std::string fakeReductionKernels();
/// The communicators of a job whose ranks have a fake GPU each.
std::vector<std::unique_ptr<Communicator>> fakeNcclCommunicators(int64_t ranks, const NcclOptions& options);
/// Communicators of NCCL that were not aborted.
inline int64_t liveNcclCommunicators() { return askFakeDriver("fakeNcclLiveCommunicators"); }

}  // namespace tokamak
