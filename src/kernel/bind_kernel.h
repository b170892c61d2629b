// Binds a kernel's symbols to the sizes and strides of its buffers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/kernel_launch.h"
#include "kernel/kernel.h"

namespace tokamak::kir {

/// Binds the extents and strides of buffer number `tensor`. Sizes and strides (in elements) are those of its visible
/// shape, with expanded sizes. Errors: Bind for another size, or a stride of an axis that was compiled as dense.
void bindBuffer(const Kernel& kernel, size_t tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                ScalarBindings& bindings);

/// The kernel's symbols that are no extents or strides of its buffers, in order. The launch has to give their values.
std::vector<Scalar*> givenSymbols(const Kernel& kernel);

/// The blocks, and threads per block, of a launch.
struct LaunchSize {
  int64_t blocks = 1;
  int64_t threads = 1;
};
LaunchSize launchSize(const Kernel& kernel, const ScalarBindings& bindings);
/// Errors: Unsupported where a GPU takes no launch of this size (kernel/gpu_launch_limits.h).
void requireLaunchableOnGpu(const Kernel& kernel, const ScalarBindings& bindings);

/// The workspace of a grid reduction: a counter per group of blocks, and from the next multiple of 16 bytes on the
/// blocks' values (codegen/grid_reduce_source.h).
KernelWorkspace workspaceOf(const Kernel& kernel, const ScalarBindings& bindings);

}  // namespace tokamak::kir
