// NcclLibrary: NVIDIA's NCCL, loaded on first use; own declarations of the functions that are used.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "dist/nccl/nccl_types.h"
#include "runtime/cuda/driver_types.h"

namespace tokamak {

struct NcclLibrary {
  nccl::Result (*get_version)(int* version) = nullptr;
  nccl::Result (*get_unique_id)(nccl::UniqueId* id) = nullptr;
  nccl::Result (*init_rank)(nccl::Communicator* made, int ranks, nccl::UniqueId id, int rank,
                            nccl::Config* config) = nullptr;
  nccl::Result (*abort_communicator)(nccl::Communicator communicator) = nullptr;
  nccl::Result (*async_error)(nccl::Communicator communicator, nccl::Result* error) = nullptr;
  const char* (*error_string)(nccl::Result result) = nullptr;
  const char* (*last_error)(nccl::Communicator communicator) = nullptr;
  nccl::Result (*group_start)() = nullptr;
  nccl::Result (*group_end)() = nullptr;
  nccl::Result (*all_reduce)(const void* from, void* to, size_t count, int dtype, int reduction, nccl::Communicator,
                             driver::Stream) = nullptr;
  nccl::Result (*reduce)(const void* from, void* to, size_t count, int dtype, int reduction, int root,
                         nccl::Communicator, driver::Stream) = nullptr;
  nccl::Result (*reduce_scatter)(const void* from, void* to, size_t count_per_rank, int dtype, int reduction,
                                 nccl::Communicator, driver::Stream) = nullptr;
  nccl::Result (*all_gather)(const void* from, void* to, size_t count_per_rank, int dtype, nccl::Communicator,
                             driver::Stream) = nullptr;
  nccl::Result (*broadcast)(const void* from, void* to, size_t count, int dtype, int root, nccl::Communicator,
                            driver::Stream) = nullptr;
  nccl::Result (*send)(const void* from, size_t count, int dtype, int peer, nccl::Communicator,
                       driver::Stream) = nullptr;
  nccl::Result (*receive)(void* to, size_t count, int dtype, int peer, nccl::Communicator, driver::Stream) = nullptr;

  int version = 0;   ///< 23007 is 2.30.7
  std::string path;  ///< the file that was loaded

  /// The library in the file `named`; if that is empty, the one that $TOKAMAK_NCCL names, else the one that this
  /// process has loaded already, the loader's, a toolkit's, or a Python package's. Loaded once and kept for ever.
  /// Errors: Unsupported when there is none, with everything that was tried, and for one that is older than 2.18.
  static const NcclLibrary& load(const std::string& named = {});

  /// "internal error (3)".
  std::string describe(nccl::Result result) const;
};

/// The files and names that load() tries, in order. Pure names are left to the loader.
std::vector<std::string> ncclCandidates();

}  // namespace tokamak
