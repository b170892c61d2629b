// CopyLoop: the plain copy that kernels for the processor are measured beside.
#pragma once

#include <cstdint>
#include <memory>

#include "device/tensor.h"
#include "runtime/cpu/block_pool.h"
#include "toolchain/kernel_compiler.h"

namespace tokamak::tools {

/// Reads and writes half of `bytes` each: a loop over words in C, compiled as kernels are, in parts that as many
/// threads as kernels have share out. Its memory is the device's, as that of kernels: large pages are worth a third of
/// the time where pages are nested.
class CopyLoop {
 public:
  /// Errors: Unsupported where there is no C compiler.
  CopyLoop(Device& device, const std::shared_ptr<Stream>& stream, int64_t bytes);
  void run();

 private:
  using Entry = void (*)(void* to, const void* from, int64_t begin, int64_t end);

  int64_t words_;
  Tensor from_;
  Tensor to_;
  BlockPool pool_;
  std::shared_ptr<const SharedObject> code_;
  Entry entry_ = nullptr;
};

}  // namespace tokamak::tools
