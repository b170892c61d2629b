// The local transport as cases of the suite: a device for each rank, one for all, and with delays.
#include "dist/local/local_communicator.h"
#include "jit/open_device.h"
#include "ranks_fixture.h"

namespace tokamak {

namespace {

using Communicators = std::vector<std::unique_ptr<Communicator>>;

Communicators withOwnDevices(int64_t ranks, const LocalOptions& options) {
  std::vector<std::shared_ptr<Device>> devices;
  for (int64_t rank = 0; rank < ranks; ++rank) devices.push_back(openCpuDevice({.threads = 1}));
  return makeLocalCommunicators(devices, options);
}

}  // namespace

std::vector<TransportCase> localTransportCases() {
  using std::chrono::milliseconds;
  return {{.name = "local",
           .make = [](int64_t ranks, milliseconds timeout) { return withOwnDevices(ranks, {.timeout = timeout}); }},
          {.name = "local_one_device",
           .make =
               [](int64_t ranks, milliseconds timeout) {
                 const std::vector<std::shared_ptr<Device>> devices(static_cast<size_t>(ranks),
                                                                    openCpuDevice({.threads = 2}));
                 return makeLocalCommunicators(devices, {.timeout = timeout});
               }},
          {.name = "local_delayed", .make = [](int64_t ranks, milliseconds timeout) {
             const LocalFaults faults = {.seed = 11, .longest_delay = std::chrono::microseconds(300), .reorders = true};
             return withOwnDevices(ranks, {.timeout = timeout, .faults = faults});
           }}};
}

}  // namespace tokamak
