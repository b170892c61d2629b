// Staged reductions: those that NCCL does otherwise than CommunicationRequest promises, in a type in which it does not.
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

/// The type in which NCCL reduces such elements. NCCL rounds sums and products of half types at each step: they are
/// reduced as f32. Its maxima and minima of floating types lose NaN (fmax): they are reduced as integers in the order
/// of the numbers, with NaN at that end which wins. All else is reduced as it is.
DataType stagedType(ReductionKind reduction, DataType dtype);

/// The kernels between a type and the one in which it is reduced.
/// Thread safety: any threads may use it side by side.
class ReductionKernels {
 public:
  /// `image`: the kernels, compiled; empty: they are compiled when the first is asked for.
  ReductionKernels(std::shared_ptr<DriverContext> context, std::string architecture, std::string image);

  /// Launched with the addresses of the elements and of the staged ones. Errors: Unsupported, naming type and
  /// reduction, where nothing compiles CUDA; Compile.
  std::shared_ptr<const CudaWork> stage(ReductionKind reduction, DataType dtype, int64_t count);
  /// The way back.
  std::shared_ptr<const CudaWork> unstage(ReductionKind reduction, DataType dtype, int64_t count);

 private:
  std::shared_ptr<const CudaWork> make(const std::string& name, int64_t count, ReductionKind reduction, DataType dtype);

  const std::shared_ptr<DriverContext> context_;
  const std::string architecture_;
  std::mutex mutex_;
  std::string image_;
  std::shared_ptr<const CudaModule> module_;
};

/// The kernels as CUDA C++.
const std::string& reductionKernelSource();

}  // namespace tokamak
