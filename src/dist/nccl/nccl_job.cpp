#include "dist/nccl/nccl_job.h"

#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/library_version.h"
#include "dist/communication_error.h"
#include "dist/nccl/nccl_communicator.h"
#include "dist/nccl/nccl_work.h"

namespace tokamak {

NcclJob::NcclJob(Bootstrap& bootstrap, const NcclLibrary& library, std::shared_ptr<Device> device,
                 const NcclOptions& options)
    : SocketJob(bootstrap, std::move(device), {.timeout = options.timeout, .operations = options.operations}),
      library_(library),
      kernels_(context_, device_->properties().architecture, options.reduction_kernels) {
  connect(bootstrap);
}

void NcclJob::requireOneVersion() {
  std::vector<int64_t> ranks(static_cast<size_t>(size()));
  std::iota(ranks.begin(), ranks.end(), int64_t{0});
  const std::string own = fmt::format("{} of Tokamak with NCCL {}", libraryVersion(), library_.version);
  const auto theirs = exchange("versions", ranks, std::as_bytes(std::span(own)));
  for (const int64_t other : ranks) {
    const std::vector<std::byte>& bytes = theirs[static_cast<size_t>(other)];
    const std::string_view said(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (said != own)
      raiseOf({CommunicationFault::Mismatch, other,
               fmt::format("rank {} has version {}, and rank {} has {}; all ranks have to have the same", rank(), own,
                           other, said)});
  }
}

std::shared_ptr<SocketTeam> NcclJob::makeTeam(std::vector<int64_t> ranks, int64_t epoch) {
  return std::make_shared<NcclTeamTable>(*sockets_, std::move(ranks), epoch, timeout_);
}

std::shared_ptr<const Work> NcclJob::workOf(const std::shared_ptr<TeamState>& team,
                                            std::span<const CommunicationRequest> group) {
  return std::make_shared<NcclWork>(shared_from_this(), std::static_pointer_cast<NcclTeamTable>(team), group);
}

}  // namespace tokamak
