// From a scheduled fusion to a kernel: docs/kernels.md.
#pragma once

#include <memory>
#include <string>

#include "ir/fusion.h"
#include "kernel/kernel.h"
#include "lower/pipeline.h"

namespace tokamak {

/// Where outputs lie that update inputs.
enum class UpdateMemory : uint8_t {
  Own,  ///< apart from the inputs
  /// In the inputs that they update; an element of these is read for outputs at its place only, in the loop that
  /// computes them all.
  Inputs,
};

/// What a fusion's kernel is called: "tokamak_softmax_fwd_T1" after the fusion's name and its first output that has a
/// number.
std::string kernelNameOf(const Fusion& fusion);

/// Lowers a fusion that becomes one kernel. Its inputs and outputs are buffers in global memory; contiguity flags say
/// which strides are known. Takes part in the fusion: scalars are made in it, memory types set. Errors: Schedule when
/// the schedule is not legal. `alignment`: of the buffers, in bytes, a power of two.
kir::Kernel lowerKernel(std::shared_ptr<Fusion> fusion, std::string name, int64_t alignment = 1,
                        const KernelPassOptions& options = {}, UpdateMemory updates = UpdateMemory::Own);

}  // namespace tokamak
