// The peer-copy communicator: the ranks of a job have GPUs of one host, and copy from one another's memory.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "dist/communicator.h"
#include "dist/sockets/bootstrap.h"

namespace tokamak {

struct PeerOptions {
  std::chrono::milliseconds timeout{600'000};  ///< of each wait for other ranks; positive
  std::string reduction_kernels;               ///< compiled (peer_reduction.h); empty: they are compiled when needed
  std::string operations = {};                 ///< where a rank writes its last operations: OperationLog's file
};

/// This rank of a job, on a GPU that ranks may share; they are threads of one process or processes of one host. The
/// bootstrap is used in this call alone: all ranks make it. Copies are done by copy engines, and GPUs wait by their
/// front ends: no multiprocessor is used but for the kernel of a reduction.
///
/// Beside what Communicator promises:
/// - A reduction needs NVRTC, or kernels that are compiled, and memory for at most 16 MiB of each other member.
/// - In several processes, memory is that of cuMemAlloc, as that of arenas; others have no handle.
/// - A rank that dies is noticed by its connection, within 2 s.
/// Errors: Usage for a time-out that is not positive; Unsupported for a device that is no GPU, for ranks on other hosts
/// and for GPUs that do not reach each other, on all ranks in the same words; of the bootstrap; CommunicationError:
/// TimedOut for a rank that nobody reaches, Mismatch for ranks with other versions of Tokamak.
std::unique_ptr<Communicator> peerCommunicator(Bootstrap& bootstrap, const std::shared_ptr<Device>& device,
                                               const PeerOptions& options = {});

}  // namespace tokamak
