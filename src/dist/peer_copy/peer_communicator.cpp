#include "dist/peer_copy/peer_communicator.h"

#include "base/require.h"
#include "dist/job_end.h"
#include "dist/peer_copy/peer_job.h"

namespace tokamak {

std::unique_ptr<Communicator> peerCommunicator(Bootstrap& bootstrap, const std::shared_ptr<Device>& device,
                                               const PeerOptions& options) {
  TK_REQUIRE(options.timeout.count() > 0, Usage,
             "peer-copy communicator: a time-out of {} ms was asked for; it has to be positive",
             options.timeout.count());
  TK_REQUIRE(device->properties().ordinal >= 0, Unsupported, "peer-copy communicator: {} is no GPU; it is between GPUs",
             device->properties().name);
  return communicatorOver(std::make_shared<PeerJob>(bootstrap, device, options));
}

}  // namespace tokamak
