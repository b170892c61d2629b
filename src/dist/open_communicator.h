// Communicators for users: a job's ranks, by how they were started (docs/devices.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/export.h"
#include "dist/job_communicator.h"
#include "dist/sockets/bootstrap.h"

namespace tokamak {

/// How long each wait for other ranks may take, before it is a CommunicationError; positive.
constexpr std::chrono::milliseconds kCommunicationTimeout{600'000};

/// The ranks of a job that are threads of this process: one on each of these processors, in their order, which may be
/// one processor. Each rank's program is called by a thread of its own.
/// Errors: Usage without devices, or for a time-out that is not positive; Unsupported for a GPU.
TOKAMAK_EXPORT std::vector<std::unique_ptr<Communicator>> openLocalCommunicators(
    std::span<const std::shared_ptr<Device>> devices, std::chrono::milliseconds timeout = kCommunicationTimeout);

/// This process of those that mpirun started, as many first ones of them as `ranks` says, or all, on a processor.
/// Returns when all have come. MPI is started where nobody has done it.
/// Errors: Usage for a time-out that is not positive, for more ranks than processes, and in a process that is none of
/// them; Unsupported without MPI, with all that was searched, and for a GPU; CommunicationErrors for ranks that do not
/// come, or that have another version of the library.
TOKAMAK_EXPORT std::unique_ptr<Communicator> openMpiCommunicator(
    const std::shared_ptr<Device>& device, std::chrono::milliseconds timeout = kCommunicationTimeout,
    std::optional<int64_t> ranks = std::nullopt);

/// This rank of a job whose ranks have a GPU each, wherever they are. Returns when all have come; the bootstrap is used
/// until then alone. Errors: Usage for a time-out that is not positive; Unsupported without NCCL, and for a processor;
/// of the bootstrap; CommunicationErrors for ranks that do not come, or that have another version of either library.
TOKAMAK_EXPORT std::unique_ptr<Communicator> openNcclCommunicator(
    Bootstrap& bootstrap, const std::shared_ptr<Device>& device,
    std::chrono::milliseconds timeout = kCommunicationTimeout);

/// This rank of a job whose ranks have GPUs of one host, which several may share: they copy from one another's memory,
/// without NCCL. Ranks are threads or processes. Returns when all have come; the bootstrap is used until then alone.
/// Errors: Usage for a time-out that is not positive; Unsupported for a processor, and, on all ranks in the same words,
/// for ranks on other hosts and GPUs that do not reach each other; of the bootstrap; CommunicationErrors for ranks that
/// do not come, or that have another version of the library.
TOKAMAK_EXPORT std::unique_ptr<Communicator> openPeerCommunicator(
    Bootstrap& bootstrap, const std::shared_ptr<Device>& device,
    std::chrono::milliseconds timeout = kCommunicationTimeout);

}  // namespace tokamak
