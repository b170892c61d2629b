#include "runtime/cuda/cuda_properties.h"

#include "runtime/cuda/driver_context.h"

namespace tokamak {

CudaProperties cudaProperties(DriverContext& context) {
  const auto ask = [&](int number) { return int64_t{context.attribute(number)}; };
  const int64_t capability_major = ask(driver::kCapabilityMajor);
  return {.capability_major = capability_major,
          .capability_minor = ask(driver::kCapabilityMinor),
          .multiprocessors = ask(driver::kMultiprocessors),
          .warp_size = ask(driver::kWarpSize),
          .max_threads_per_block = ask(driver::kMaxThreadsPerBlock),
          .max_threads_per_multiprocessor = ask(driver::kMaxThreadsPerMultiprocessor),
          .max_blocks_per_multiprocessor = ask(driver::kMaxBlocksPerMultiprocessor),
          .registers_per_multiprocessor = ask(driver::kMaxRegistersPerMultiprocessor),
          .shared_bytes_per_block = ask(driver::kMaxSharedPerBlock),
          .shared_bytes_per_block_optin = ask(driver::kMaxSharedPerBlockOptin),
          .shared_bytes_per_multiprocessor = ask(driver::kMaxSharedPerMultiprocessor),
          .shared_bytes_reserved_per_block = ask(driver::kReservedSharedPerBlock),
          .l2_bytes = ask(driver::kL2Bytes),
          .can_launch_cooperatively = ask(driver::kCooperativeLaunch) != 0,
          .has_clusters = ask(driver::kClusterLaunch) != 0,
          .can_overlap_launches = capability_major >= 9};
}

}  // namespace tokamak
