// Work that needs device memory of its own between its blocks.
#pragma once

#include <memory>

#include "runtime/cuda/cuda_work.h"
#include "runtime/cuda/stream_memory.h"

namespace tokamak {

/// Launches a kernel with the address of a workspace behind its operands. Streams run side by side, so each gets a
/// workspace of its own when it first comes here; it is zero then, and the kernel leaves it as the next launch needs
/// it.
class CudaWorkspaceWork final : public CudaWork {
 public:
  CudaWorkspaceWork(std::shared_ptr<DriverContext> context, std::unique_ptr<CudaKernelWork> kernel, int64_t bytes)
      : kernel_(std::move(kernel)), workspaces_(std::move(context), bytes) {}

  std::string_view name() const override { return kernel_->name(); }
  void makeReadyOn(DriverContext& /*context*/, driver::Stream stream) const override { workspaceOf(stream); }
  CudaKernelLaunch kernelLaunch() const override { return {.kernel = kernel_.get(), .workspace = this}; }
  /// What the kernel takes as its last address on this stream. Errors: OutOfMemory, Device.
  void* workspaceOf(driver::Stream stream) const { return workspaces_.on(stream, name()); }
  void enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const override;

 private:
  std::unique_ptr<CudaKernelWork> kernel_;
  mutable StreamMemory workspaces_;
};

}  // namespace tokamak
