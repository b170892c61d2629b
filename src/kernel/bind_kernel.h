// The symbols of a kernel from the buffers that it is given.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/kernel_launch.h"
#include "kernel/kernel.h"

namespace tokamak::kir {

/// Gives the extents and strides that buffer number `tensor` tells their values. Sizes and strides (in elements) are
/// those of its visible shape; an expanded axis has its shown size. Errors: Bind when they do not fit the kernel:
/// another size, or an axis that was compiled as dense and is not.
void bindBuffer(const Kernel& kernel, size_t tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                ScalarBindings& bindings);

/// The kernel's symbols that are neither an extent nor a stride of its buffers, in order: whoever launches it says what
/// they are.
std::vector<Scalar*> givenSymbols(const Kernel& kernel);

/// The number of blocks and of threads per block that a launch has.
struct LaunchSize {
  int64_t blocks = 1;
  int64_t threads = 1;
};
LaunchSize launchSize(const Kernel& kernel, const ScalarBindings& bindings);

/// A counter per group of blocks that a kernel combines, then, from the next multiple of 16 bytes on, the values of the
/// blocks (codegen/grid_reduce_source.h).
KernelWorkspace workspaceOf(const Kernel& kernel, const ScalarBindings& bindings);

}  // namespace tokamak::kir
