// The symbols of a kernel from the buffers that it is given.
#pragma once

#include <cstdint>
#include <span>

#include "kernel/kernel.h"

namespace tokamak::kir {

/// Gives the extents and strides that buffer number `tensor` tells their values. Sizes and strides (in elements) are those of its visible shape;
/// an expanded axis has its shown size. Errors: Bind when they do not fit the kernel: another size, or an axis that was compiled as dense and is not.
void bindBuffer(const Kernel& kernel, size_t tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                ScalarBindings& bindings);

}  // namespace tokamak::kir
