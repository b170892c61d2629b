// CudaWorkspaceWork: a kernel with a workspace in device memory.
#pragma once

#include <memory>

#include "runtime/cuda/cuda_work.h"
#include "runtime/cuda/stream_memory.h"

namespace tokamak {

/// Launches a kernel with the address of a workspace after its operands. Streams run concurrently, so each gets its own
/// workspace at its first launch, filled with zeros; the kernel leaves it ready for the next launch.
class CudaWorkspaceWork final : public CudaWork {
 public:
  CudaWorkspaceWork(std::shared_ptr<DriverContext> context, std::unique_ptr<CudaKernelWork> kernel, int64_t bytes)
      : kernel_(std::move(kernel)), workspaces_(std::move(context), bytes) {}

  std::string_view name() const override { return kernel_->name(); }
  void makeReadyOn(DriverContext& /*context*/, driver::Stream stream) const override { workspaceOf(stream); }
  CudaKernelLaunch kernelLaunch() const override { return {.kernel = kernel_.get(), .workspace = this}; }
  /// The kernel's workspace on this stream. Errors: OutOfMemory, Device.
  void* workspaceOf(driver::Stream stream) const { return workspaces_.on(stream, name()); }
  void enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const override;

 private:
  std::unique_ptr<CudaKernelWork> kernel_;
  mutable StreamMemory workspaces_;
};

}  // namespace tokamak
