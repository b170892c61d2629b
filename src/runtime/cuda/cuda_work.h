// Work for a CUDA device.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/work.h"
#include "runtime/cuda/cuda_module.h"
#include "runtime/cuda/driver_context.h"

namespace tokamak {

class CudaHostWork;
class CudaKernelWork;
class CudaWorkspaceWork;

/// A work that is one kernel, for packing its arguments; empty for other works.
struct CudaKernelLaunch {
  const CudaKernelWork* kernel = nullptr;
  const CudaWorkspaceWork* workspace = nullptr;  ///< has the last address, unless that is an operand
};

/// Work that is issued to the driver in the stream's order, with the context current.
class CudaWork : public Work {
 public:
  /// Makes a stream's resources for launches, besides operands. Called before work is issued there, without locks.
  virtual void makeReadyOn(DriverContext& /*context*/, driver::Stream /*stream*/) const {}
  /// `addresses`: one per operand, in the order in which the work was prepared, then the parameters' values.
  virtual void enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const = 0;
  /// Waits for the compiler.
  virtual CudaKernelLaunch kernelLaunch() const { return {}; }
  /// Of a work that the stream's thread runs (cuda_host_work.h); null for others.
  virtual const CudaHostWork* hostWork() const { return nullptr; }
};

/// The geometry of a launch. Without blocks nothing is launched.
struct CudaLaunch {
  std::array<int64_t, 3> grid = {1, 1, 1};     ///< blocks
  std::array<int64_t, 3> block = {1, 1, 1};    ///< threads
  std::array<int64_t, 3> cluster = {1, 1, 1};  ///< blocks
  int64_t shared_bytes = 0;                    ///< dynamic shared memory of a block
  bool is_cooperative = false;                 ///< all blocks run at once and may wait for each other
  bool may_overlap_previous = false;           ///< programmatic dependent launch: the kernel waits itself
};

/// A kernel that takes `address_count` slots of 8 bytes from the launch (tensors' addresses, then parameters' bits),
/// then scalars known since it was prepared, each in a slot of 8 bytes of which the kernel reads as many as its own
/// type has.
class CudaKernelWork final : public CudaWork {
 public:
  /// `slots`: the number of the address that each of the kernel's slots takes; empty: one after the other.
  /// Errors: Unsupported for a launch that no device takes; Device when this one does not.
  CudaKernelWork(CudaFunction function, const CudaLaunch& launch, int64_t address_count, std::vector<uint64_t> scalars,
                 std::string name, std::vector<size_t> slots = {});

  std::string_view name() const override { return name_; }
  void enqueue(DriverContext& context, driver::Stream stream, std::span<void* const> addresses) const override;
  CudaKernelLaunch kernelLaunch() const override { return {.kernel = this}; }

  /// Pointers to the arguments: in `addresses`, in `last` (an address after them), and in this work. Valid as long as
  /// these are.
  std::vector<void*> argumentsOf(std::span<void*> addresses, void** last) const;
  /// Launches with such arguments. Errors: Device.
  void launch(DriverContext& context, driver::Stream stream, void** arguments) const;
  bool hasBlocks() const { return config_.grid[0] != 0 && config_.grid[1] != 0 && config_.grid[2] != 0; }
  const driver::LaunchConfig& config() const { return config_; }
  driver::Function function() const { return function_.handle; }

 private:
  CudaFunction function_;
  driver::LaunchConfig config_;  // but for the stream
  std::array<driver::LaunchAttribute, 3> attributes_;
  size_t address_count_;
  std::vector<size_t> slots_;
  std::vector<uint64_t> scalars_;
  std::string name_;
};

}  // namespace tokamak
