// CudaProperties: the properties of a GPU that schedules and launches depend on.
#pragma once

#include <cstdint>

namespace tokamak {

class DriverContext;

struct CudaProperties {
  int64_t capability_major = 0;  ///< 9 and 0 for sm_90
  int64_t capability_minor = 0;
  int64_t multiprocessors = 0;
  int64_t warp_size = 32;
  int64_t max_threads_per_block = 0;
  int64_t max_threads_per_multiprocessor = 0;
  int64_t max_blocks_per_multiprocessor = 0;
  int64_t registers_per_multiprocessor = 0;  ///< of 32 bits
  int64_t shared_bytes_per_block = 0;        ///< without asking for more
  int64_t shared_bytes_per_block_optin = 0;  ///< after CudaModule::requireSharedBytes
  int64_t shared_bytes_per_multiprocessor = 0;
  int64_t shared_bytes_reserved_per_block = 0;  ///< taken by the system
  int64_t l2_bytes = 0;
  bool can_launch_cooperatively = false;
  bool has_clusters = false;
  bool can_overlap_launches = false;  ///< programmatic dependent launches
};

/// Errors: Device.
CudaProperties cudaProperties(DriverContext& context);

}  // namespace tokamak
