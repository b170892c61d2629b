#include "dist/nccl/nccl_communicator.h"

#include <utility>

#include "base/require.h"
#include "dist/job_end.h"
#include "dist/nccl/nccl_job.h"

namespace tokamak {

std::unique_ptr<Communicator> ncclCommunicator(Bootstrap& bootstrap, const std::shared_ptr<Device>& device,
                                               const NcclOptions& options) {
  TK_REQUIRE(options.timeout.count() > 0, Usage,
             "NCCL communicator: a time-out of {} ms was asked for; it has to be positive", options.timeout.count());
  TK_REQUIRE(device->properties().ordinal >= 0, Unsupported, "NCCL communicator: {} is no GPU; it is between GPUs",
             device->properties().name);
  const NcclLibrary& library = NcclLibrary::load(options.library);
  auto job = std::make_shared<NcclJob>(bootstrap, library, device, options);
  job->requireOneVersion();
  return communicatorOver(std::move(job));
}

}  // namespace tokamak
