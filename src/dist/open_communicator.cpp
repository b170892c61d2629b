#include "dist/open_communicator.h"

#include "dist/local/local_communicator.h"
#include "dist/mpi/mpi_communicator.h"
#include "dist/nccl/nccl_communicator.h"
#include "dist/peer_copy/peer_communicator.h"

namespace tokamak {

std::vector<std::unique_ptr<Communicator>> openLocalCommunicators(std::span<const std::shared_ptr<Device>> devices,
                                                                  std::chrono::milliseconds timeout) {
  return makeLocalCommunicators(devices, {.timeout = timeout});
}

std::unique_ptr<Communicator> openMpiCommunicator(const std::shared_ptr<Device>& device,
                                                  std::chrono::milliseconds timeout, std::optional<int64_t> ranks) {
  return mpiCommunicator(device, {.timeout = timeout, .ranks = ranks});
}

std::unique_ptr<Communicator> openNcclCommunicator(Bootstrap& bootstrap, const std::shared_ptr<Device>& device,
                                                   std::chrono::milliseconds timeout) {
  return ncclCommunicator(bootstrap, device, {.library = {}, .timeout = timeout, .reduction_kernels = {}});
}

std::unique_ptr<Communicator> openPeerCommunicator(Bootstrap& bootstrap, const std::shared_ptr<Device>& device,
                                                   std::chrono::milliseconds timeout) {
  return peerCommunicator(bootstrap, device, {.timeout = timeout, .reduction_kernels = {}});
}

}  // namespace tokamak
