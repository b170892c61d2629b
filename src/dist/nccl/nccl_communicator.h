// The NCCL communicator: the ranks of a job have a GPU each, wherever they are.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "dist/communicator.h"
#include "dist/sockets/bootstrap.h"

namespace tokamak {

struct NcclOptions {
  std::string library;                         ///< NCCL's file; empty: found as NcclLibrary::load() says
  std::chrono::milliseconds timeout{600'000};  ///< of each wait for other ranks; positive
  std::string reduction_kernels;               ///< compiled (staged_reduction.h); empty: they are compiled when needed
  std::string operations = {};                 ///< where a rank writes its last operations: OperationLog's file
};

/// This rank of a job, on a GPU that no other rank has. The bootstrap is used in this call alone: all ranks make it.
///
/// Beside what Communicator promises:
/// - Sums and products of f32 and f64 are taken in NCCL's order, not in the team's.
/// - A transfer in a group meets one in a group, and one that is alone meets one that is alone.
/// - Mismatches are noticed where ranks wait because of them. NCCL may come to an end with wrong values where only
///   counts or roots differ.
/// - A rank that dies is noticed by its connection, within 2 s.
/// Errors: Usage for a time-out that is not positive; Unsupported for a device that is no GPU, without NCCL, or where
/// it is older than 2.18; of the bootstrap; CommunicationError: TimedOut for a rank that nobody reaches, Mismatch for
/// ranks with other versions of Tokamak or NCCL.
std::unique_ptr<Communicator> ncclCommunicator(Bootstrap& bootstrap, const std::shared_ptr<Device>& device,
                                               const NcclOptions& options = {});

}  // namespace tokamak
