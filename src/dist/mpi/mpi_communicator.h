// MPI communicators: the ranks of a job are processes that mpirun started.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "dist/communicator.h"

namespace tokamak {

class MpiWorld;

struct MpiOptions {
  std::chrono::milliseconds timeout{600'000};  ///< of each wait for other ranks; positive
  std::optional<int64_t> ranks = {};           ///< the first ones of the processes; none: all
  std::string operations = {};                 ///< where a rank writes its last operations: OperationLog's file
};

/// The communicator of this process's rank, which is its rank in MPI_COMM_WORLD. All of its ranks call it, as often; it
/// returns once all have. MPI is started where nobody has done it, and ended then when the process exits.
/// Works run on the CPU device's streams, wait on the threads of those, and end when MPI lets go of their memory. A
/// rank of this machine that dies is noticed within 0.1 s; mpirun, too, ends the job then.
/// Errors: Usage for a time-out that is not positive, or more ranks than there are processes, or a process that is none
/// of them; Unsupported where libtokamak_mpi.so or MPI is missing, with all that was searched, for an MPI without
/// threads, and for a device whose memory is not the host's; CommunicationError for ranks that do not come, or have
/// another version of the library.
std::unique_ptr<Communicator> mpiCommunicator(const std::shared_ptr<Device>& device, const MpiOptions& options = {});
/// The same over this process's end of some world.
std::unique_ptr<Communicator> mpiCommunicator(std::shared_ptr<MpiWorld> world, const std::shared_ptr<Device>& device,
                                              const MpiOptions& options);

/// Where this process stands among those that mpirun started; starts MPI. Errors: as mpiCommunicator().
struct MpiProcess {
  int64_t rank = 0;
  int64_t size = 1;
  std::string library;  ///< "Open MPI v4.1.4, ..."
};
MpiProcess mpiProcess();

}  // namespace tokamak
