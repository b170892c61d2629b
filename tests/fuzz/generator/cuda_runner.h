// Kernels of random programs on a GPU.
#pragma once

#include <memory>
#include <span>

#include "jit/cuda_jit.h"
#include "jit/prepared_kernel.h"
#include "kernel/interpreter/kernel_interpreter.h"
#include "runtime/cuda/cuda_device.h"

namespace tokamak::generator {

class CudaRunner {
 public:
  /// Errors: as of CudaDevice.
  CudaRunner();
  ~CudaRunner();

  /// Runs the kernel on copies of the buffers, of which those that are not inputs hold garbage at first, and copies
  /// these back.
  void run(const PreparedKernel& prepared, DataType index_type, std::span<const KernelBuffer> buffers);

 private:
  CudaDevice device_;
  CudaJit jit_;
  std::shared_ptr<Stream> stream_;
};

}  // namespace tokamak::generator
