// tokamak cache: what the kernel cache on disk holds, whether it is whole, why a kernel is not in it.
#pragma once

#include <string>

namespace tokamak::tools {

struct CacheCommandOptions {
  std::string action;             ///< ls, why, gc or verify
  std::string file;               ///< why: a kernel's source; *.cu is CUDA, anything else C
  std::string architecture = {};  ///< why: of CUDA; empty: sm_90a
  std::string limit = {};         ///< gc: how much may stay: a number of bytes, or with K, M or G; empty: 1G
};

/// The exit code: 0, or 1 when `verify` found damage. Errors: Usage; Io when the cache's folder is refused.
int cacheCommand(const CacheCommandOptions& options);

}  // namespace tokamak::tools
