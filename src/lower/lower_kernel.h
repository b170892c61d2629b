// Lowers a scheduled fusion to a kernel: docs/kernels.md.
#pragma once

#include <memory>
#include <string>

#include "ir/fusion.h"
#include "kernel/kernel.h"
#include "lower/pipeline.h"

namespace tokamak {

/// The memory of outputs that update inputs.
enum class UpdateMemory : uint8_t {
  Own,  ///< apart from the inputs
  /// The inputs that they update. Outputs read an element of these at its own index only, in one loop that computes
  /// them all.
  Inputs,
};

/// What a fusion's kernel is called: "tokamak_softmax_fwd_T1" after the fusion's name and its first output that has a
/// number.
std::string kernelNameOf(const Fusion& fusion);

/// Lowers a fusion to one kernel. Inputs and outputs are buffers in global memory; contiguity flags say which strides
/// are known. It changes the fusion: makes scalars in it, and sets memory types.
/// `alignment`: of the buffers, in bytes, a power of two. Errors: Schedule if the schedule is not legal.
kir::Kernel lowerKernel(std::shared_ptr<Fusion> fusion, std::string name, int64_t alignment = 1,
                        const KernelPassOptions& options = {}, UpdateMemory updates = UpdateMemory::Own);

}  // namespace tokamak
