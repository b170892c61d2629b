// Peer reductions: a kernel that reduces the terms of all members, once copies have brought them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "ir/ops/math/reduction_op.h"
#include "runtime/cuda/cuda_module.h"
#include "runtime/cuda/cuda_work.h"
#include "symbolic/data_type.h"

namespace tokamak {

/// As CommunicationRequest says: in the order of the team, half types in f32, rounded once.
/// Thread safety: any threads may use it side by side.
class PeerReductions {
 public:
  /// `image`: the kernels, compiled; empty: they are compiled when the first is asked for.
  PeerReductions(std::shared_ptr<DriverContext> context, std::string architecture, std::string image);

  /// Launched with the addresses of the others' terms, of the own one and of the result (which may be the own one), and
  /// with the count of elements in the place of a fourth address. The others' terms lie one behind the other in the
  /// order of the team, `stride` elements from begin to begin. A legal pair of a reducing request.
  /// Errors: Unsupported, naming type and reduction, where nothing compiles CUDA; Compile.
  std::shared_ptr<const CudaWork> make(ReductionKind reduction, DataType dtype, int64_t members, int64_t own_member,
                                       int64_t stride);

 private:
  const std::shared_ptr<DriverContext> context_;
  const std::string architecture_;
  std::mutex mutex_;
  std::string image_;
  std::shared_ptr<const CudaModule> module_;
};

/// The kernels as CUDA C++.
const std::string& peerReductionSource();

}  // namespace tokamak
